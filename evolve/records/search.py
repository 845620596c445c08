"""``search.json``: where a search stands, with everything that decides how it goes on."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field

from evolve.records.base import FILE_FORMAT, Record

SEARCH_SCHEMA: Final = "evolve/search@1"
Strategy = Literal["evolve", "best-of-n", "hill-climb", "paired-hill-climb"]


class SearchSettings(Record):
    """How candidates are looked for; the baselines take what concerns them."""

    strategy: Strategy = Field(
        default="evolve", description="How to search; all but evolve are baselines to compare with."
    )
    rounds: int = Field(default=1, ge=1, le=1000, description="Rounds of proposing and screening a generation.")
    population: int = Field(default=4, ge=1, le=64, description="Proposals a round.")
    recombine: int = Field(default=2, ge=0, le=64, description="Recombinations of edits a round, by what they earned.")
    minibatch: int = Field(default=2, ge=1, le=1000, description="Train tasks of the first comparison of a round.")
    rungs: int = Field(
        default=2, ge=1, le=8, description="Comparisons a round; each halves the field on twice the tasks."
    )
    evaluations: int | None = Field(default=None, ge=1, description="Train cells that a search may use.")
    proposals: int | None = Field(default=None, ge=1, description="Proposals that a search may ask for.")
    token_price: float = Field(
        default=0.00001, ge=0, le=1, description="What a resident token must earn, in units of the score."
    )


class Tried(Record):
    """A candidate of a search; ids say nothing, edits are what it changes."""

    id: str = Field(description="Digest of its overlay.")
    operator: str = Field(description="What made it.")
    parents: tuple[str, ...] = Field(default=(), description="What it was made from: ids, or incumbent.")
    edits: tuple[str, ...] = Field(description="The ids of its edits.")
    tokens: int = Field(description="Resident tokens more than the incumbent.")
    round: int = Field(
        description="The round that asked for it; 0: a candidate of the archive, or of a baseline, which has no rounds."
    )


class EditFacts(Record):
    """An edit: about how many resident tokens it adds, and what no other edit may change beside it."""

    id: str = Field(description="What tells the edit from others: a digest of what it changes.")
    tokens: int = Field(description="Resident tokens that it adds, about.")
    slots: tuple[str, ...] = Field(default=(), description="What no other edit may change beside it.")


class Seen(Record):
    """What one text scored in one batch: a score a task, in the order of the tasks."""

    candidate: str | None = Field(description="The id of the candidate; null is the incumbent.")
    batch: str = Field(description="What was measured side by side: a batch of this search, or an earlier generation.")
    tasks: tuple[str, ...] = Field(description="The tasks, in order.")
    scores: tuple[float | None, ...] = Field(
        description="The score on each task; null where a cell could not be measured."
    )


class OperatorState(Record):
    """What an operator's proposals were worth: a Beta distribution, and how often it was asked in vain."""

    operator: str = Field(description="The operator.")
    earned: float = Field(
        default=0.0, ge=0, description="Chances that its proposals are better than what they were made from, summed."
    )
    missed: float = Field(default=0.0, ge=0, description="Chances that they are not, summed; a refused one counts 1.")
    asked: int = Field(default=0, description="How often it was asked, by earlier generations too.")
    refused: int = Field(default=0, description="How often it was asked in vain.")


class Step(Record):
    """What a search wants next.

    ``propose``: a candidate by an operator from parents; ``compose``: one from edits; ``measure``: the candidates and
    the incumbent side by side; ``finish``: nothing more, the candidates are ranked.
    """

    kind: Literal["propose", "compose", "measure", "finish"] = Field(description="What is wanted.")
    round: int = Field(default=0, description="The round that it belongs to; of a baseline, and at the end, 0.")
    number: int = Field(
        default=0,
        description="Its number: of a proposal or batch in the search, from 1; of a composition in its round, from 0.",
    )
    operator: str = Field(default="", description="The operator to ask; empty where none is.")
    parents: tuple[str, ...] = Field(default=(), description="What to propose from: ids of candidates, or incumbent.")
    edits: tuple[str, ...] = Field(default=(), description="The ids of the edits to put together.")
    candidates: tuple[str, ...] = Field(
        default=(), description="The ids of those to measure or, at the end, of those chosen, the best first."
    )
    tasks: tuple[str, ...] = Field(default=(), description="The train tasks to measure on.")
    batch: str = Field(default="", description="The name of the batch to measure; empty where none is.")
    beside: bool = Field(default=True, description="Whether the incumbent is measured beside the candidates.")
    reason: str = Field(default="", description="Why the search is over; empty before.")


class Checkpoint(Record):
    """The whole state of a search: restored, it goes on as if nothing had happened."""

    schema_id: Literal["evolve/search@1"] = Field(default=SEARCH_SCHEMA, alias="schema", description=FILE_FORMAT)
    settings: SearchSettings = Field(description="The settings of the search.")
    tasks: tuple[str, ...] = Field(description="The train tasks.")
    random_state: tuple[int, ...] = Field(description="The state of Python's Mersenne Twister.")
    next_normal: float | None = Field(
        default=None, description="The normal draw that the generator keeps for the next time; null: none."
    )
    deck: tuple[str, ...] = Field(default=(), description="Train tasks that are still to be dealt, last first.")
    round: int = Field(default=0, description="The round under way, from 1; of a baseline, 0.")
    rung: int = Field(default=0, description="Comparisons made in this round.")
    batches: int = Field(default=0, description="Batches asked for.")
    evaluations: int = Field(default=0, description="Train cells measured, those of the incumbent included.")
    proposals: int = Field(default=0, description="Proposals asked for.")
    idle_rounds: int = Field(
        default=0,
        description="Rounds in a row without a measurement; of a baseline, refused proposals in a row.",
    )
    queue: tuple[Step, ...] = Field(default=(), description="Steps of this round that are still to come.")
    pending: Step = Field(description="What is wanted now.")
    made: tuple[str, ...] = Field(default=(), description="Proposals of this round.")
    field: tuple[str, ...] = Field(default=(), description="Candidates that are still compared in this round.")
    champion: str | None = Field(
        default=None, description="The id of the candidate that seems best so far; null: none yet."
    )
    candidates: tuple[Tried, ...] = Field(
        default=(), description="Every candidate, in the order in which they came up."
    )
    edits: tuple[EditFacts, ...] = Field(default=(), description="The edits, in the order in which they came up.")
    seen: tuple[Seen, ...] = Field(default=(), description="Every score, those of the archive included.")
    operators: tuple[OperatorState, ...] = Field(default=(), description="What each operator has been worth.")
    spent: tuple[str, ...] = Field(default=(), description="Operators with parents that have nothing new to propose.")

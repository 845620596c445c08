"""``search.json``: where a search stands, with everything that decides how it goes on."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field

from evolve.records.base import Record

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

    id: str
    operator: str
    parents: tuple[str, ...] = ()
    edits: tuple[str, ...]
    tokens: int = Field(description="Resident tokens more than the incumbent.")
    round: int


class EditFacts(Record):
    """An edit: about how many resident tokens it adds, and what no other edit may change beside it."""

    id: str
    tokens: int
    slots: tuple[str, ...] = ()


class Seen(Record):
    """What one text scored in one batch: a score a task, in the order of the tasks."""

    candidate: str | None = Field(description="null is the incumbent.")
    batch: str
    tasks: tuple[str, ...]
    scores: tuple[float | None, ...] = Field(description="null where a cell could not be measured.")


class OperatorState(Record):
    """What an operator's proposals were worth: a Beta distribution, and how often it was asked in vain."""

    operator: str
    earned: float = Field(default=0.0, ge=0)
    missed: float = Field(default=0.0, ge=0)
    asked: int = 0
    refused: int = 0


class Step(Record):
    """What a search wants next.

    ``propose``: a candidate by an operator from parents; ``compose``: one from edits; ``measure``: the candidates and
    the incumbent side by side; ``finish``: nothing more, the candidates are ranked.
    """

    kind: Literal["propose", "compose", "measure", "finish"]
    round: int = 0
    number: int = 0
    operator: str = ""
    parents: tuple[str, ...] = ()
    edits: tuple[str, ...] = ()
    candidates: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    batch: str = ""
    beside: bool = Field(default=True, description="Whether the incumbent is measured beside the candidates.")
    reason: str = ""


class Checkpoint(Record):
    """The whole state of a search: restored, it goes on as if nothing had happened."""

    schema_id: Literal["evolve/search@1"] = Field(default=SEARCH_SCHEMA, alias="schema")
    settings: SearchSettings
    tasks: tuple[str, ...]
    random_state: tuple[int, ...] = Field(description="Of Python's Mersenne Twister.")
    next_normal: float | None = None
    deck: tuple[str, ...] = Field(default=(), description="Train tasks that are still to be dealt, last first.")
    round: int = 0
    rung: int = 0
    batches: int = 0
    evaluations: int = 0
    proposals: int = 0
    idle_rounds: int = 0
    queue: tuple[Step, ...] = ()
    pending: Step
    made: tuple[str, ...] = Field(default=(), description="Proposals of this round.")
    field: tuple[str, ...] = Field(default=(), description="Candidates that are still compared in this round.")
    champion: str | None = None
    candidates: tuple[Tried, ...] = ()
    edits: tuple[EditFacts, ...] = Field(default=(), description="In the order in which they came up.")
    seen: tuple[Seen, ...] = ()
    operators: tuple[OperatorState, ...] = ()
    spent: tuple[str, ...] = Field(default=(), description="Operators with parents that have nothing new to propose.")

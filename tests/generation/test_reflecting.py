"""What a generation tells whoever reflects, and what it hears of the cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from evolve.bench.measure import Bench
from evolve.cli.opening import here, open_bench
from evolve.errors import InputError
from evolve.generation.candidates import Proposer
from evolve.generation.choose import Chosen, choose_skill
from evolve.generation.proposer_budget import ProposerBudget
from evolve.generation.reflecting import Background, bundle_of, more_to_tell
from evolve.propose.ask import Ask, Parent
from evolve.propose.bundle.build import Readers
from evolve.propose.bundle.told import Told
from evolve.records.kinds import Split
from evolve.records.row import Row
from tests.builders import make_row
from tests.generation.test_canary_strings import answer, of_the_proposer, plant
from tests.worlds import ScriptedModel


@dataclass(frozen=True)
class Opened:
    """An open bench whose incumbent was measured on train."""

    bench: Bench
    chosen: Chosen
    planted: list[str]

    def reflect(self, model: ScriptedModel, background: Background, costs: list[int | None]) -> None:
        skill = self.chosen.skill
        budget = ProposerBudget(booked=costs.append)
        proposer = Proposer(self.bench, skill, "test", lambda: model, 0.7, budget, background)
        proposer.propose(Ask("reflect", (Parent(skill.fingerprint, skill, self.chosen.evidence),)))


@pytest.fixture
def opened(workspace: Path, model: ScriptedModel) -> Iterator[Opened]:
    planted = [*plant(workspace, "sealed"), *plant(workspace, "selection")]
    with open_bench(here(), as_json=False) as (bench, _):
        yield Opened(bench, choose_skill(bench, "test", None), planted)


class Hints:
    def lines(self, limit: int) -> list[str]:
        return ["It asked the same thing twice.", "See bracket-sealed-01."][:limit]


def diagnosis(sweep: Path, row: Row, adapter: str) -> Hints | None:
    assert adapter == "chat"
    return Hints()


def leaking(planted: list[str]) -> tuple[Told, ...]:
    return (
        *(Told(f"Say {text}", "reflect", "refused", f"carries its prompt of a task ({text!r})") for text in planted),
        Told("Say thank you", "lesson", "refused", "it lost a task", "train 1/3"),
    )


def test_nothing_that_is_planted_in_hidden_tasks_reaches_a_bundle_whatever_was_told(opened: Opened) -> None:
    tasks = opened.bench.corpus.of("bracket", Split.SELECTION)
    selection = tuple(make_row(task.id, split=Split.SELECTION) for task in tasks)
    background = Background(leaking(opened.planted), selection, Readers(diagnosis))
    bundle = bundle_of(opened.bench, opened.chosen.skill, opened.chosen.evidence, background)
    everything = "\n".join(f"{path}\n{text}" for path, text in bundle.files.texts())
    assert "Say thank you" in everything and "3 of 3 runs of 3 tasks resolved." in everything
    assert "bracket-train-01" in everything
    for text in (*opened.planted, *(task.id for task in tasks), "bracket-sealed-01"):
        assert text not in everything
    assert "- It asked the same thing twice." in everything, "what is withheld is one part, not all of a section"


def test_a_chat_model_is_told_of_hints_and_refusals_and_of_nothing_hidden(opened: Opened, model: ScriptedModel) -> None:
    model.answer = answer
    costs: list[int | None] = []
    background = Background(leaking(opened.planted), readers=Readers(diagnosis))
    opened.reflect(model, background, costs)
    [request] = of_the_proposer(model)
    shown = request.messages[-1].content
    assert shown.endswith(
        "Seen in the runs:\n- It asked the same thing twice.\n"
        "\nTried before and refused, do something else:\n- Say thank you (lesson): it lost a task; train 1/3"
    )
    assert not any(text in shown for text in (*opened.planted, "bracket-sealed-01"))
    assert costs == [None], "a model without a price has an unknown cost, never none"


def test_where_there_is_nothing_more_to_tell_the_prompt_is_the_small_one(opened: Opened, model: ScriptedModel) -> None:
    model.answer = answer
    opened.reflect(model, Background(), [])
    shown = of_the_proposer(model)[0].messages[-1].content
    assert shown.startswith("Instruction text:\n") and shown.endswith("Checker: Reply with one short line.")
    nothing = more_to_tell(opened.bench, opened.chosen.skill, opened.chosen.evidence, 0, Background())
    assert (nothing.hints, nothing.refused) == ((), ())


def test_a_reply_that_is_no_proposal_was_paid_for(opened: Opened, model: ScriptedModel) -> None:
    model.answer = lambda system, user, seed: "no"
    costs: list[int | None] = []
    with pytest.raises(InputError, match="no instruction text"):
        opened.reflect(model, Background(), costs)
    assert len(costs) == 1


def test_a_program_is_refused_where_nothing_contains_it(opened: Opened, model: ScriptedModel) -> None:
    from evolve.generation.reflecting import proposing_agent

    bench = replace(opened.bench, options=replace(opened.bench.options, unsafe_host=True))
    with pytest.raises(InputError, match=r"proposer\.agent"):
        proposing_agent(bench)

"""``evolve scorecard``: its formats, what it may be asked of, and the way of its cards into ``evolve compare``."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from tests.conftest import CommandLine
from tests.promote.conftest import Measured, measured, measured_once
from tests.scorecard.builders import arm_row, write_sweep
from tests.scorecard.test_files import two_arms
from tests.worlds import ScriptedModel

__all__ = ["measured", "measured_once"]
SWEEPS = "results/sweeps"


@pytest.fixture
def sweep(workspace: Path) -> str:
    return two_arms(workspace / SWEEPS).name


def test_a_table_is_the_default_and_flags_what_is_in_no_average(sweep: str, evolve: CommandLine) -> None:
    ran = evolve("scorecard", sweep)
    assert ran.code == 0
    lines = [" ".join(line.split()) for line in ran.out.splitlines()]
    assert "ratio unit n incomplete null ratio of sums mean of ratios median of ratios" in lines
    assert "turns turns 2 0 0 6.5 6.5" in lines and "turns turns 1 1 0 3.0 3.0" in lines
    assert "INCOMPLETE, in no average: task-2 run 0 (cut-off)" in ran.out
    assert "task task-1" not in ran.out and "task task-1" in evolve("scorecard", sweep, "--by-task").out
    assert "INCOMPLETE: cut-off" not in ran.out and "INCOMPLETE: cut-off" in evolve("scorecard", sweep, "--cells").out


def test_a_cost_per_pass_counts_warm_ups_and_cells_that_were_cut_off(sweep: str, evolve: CommandLine) -> None:
    lines = [line.split() for line in evolve("scorecard", sweep).out.splitlines()]
    # arm one: (0.005 warm-up + 0.03 + 0.03) / 2 passes; arm two: (0.03 + 0.03 cut off) / 1 pass
    costs = [line for line in lines if line[:1] == ["cost_per_pass_usd"]]
    assert costs == [
        ["cost_per_pass_usd", "USD", "2", "0", "0", "0.0325"],
        ["cost_per_pass_usd", "USD", "1", "0", "0", "0.0600"],
    ]


@pytest.mark.parametrize("form", ["--csv", "--json", "--md"])
def test_a_file_holds_what_is_printed(sweep: str, evolve: CommandLine, form: str) -> None:
    shown = evolve("scorecard", sweep, form)
    ran = evolve("scorecard", sweep, form, "--output", "card")
    assert (shown.code, ran.code, ran.out, ran.err) == (0, 0, "", "written: card\n")
    assert Path("card").read_text(encoding="utf-8") == shown.out.replace("\r\n", "\n")
    assert (Path("card").read_bytes().count(b"\r\n") > 0) == (form == "--csv")


def test_json_names_estimand_unit_and_n_of_each_figure(sweep: str, evolve: CommandLine) -> None:
    value = evolve("scorecard", sweep, "--json").json()
    figures = [figure for one in value["summaries"] for figure in one["figures"]]
    assert len(figures) > 100 and all(one["estimand"] and one["unit"] and one["n"] is not None for one in figures)
    metrics = [metric for cell in value["cells"] for metric in cell["metrics"].values()]
    assert all(one["unit"] and one["estimand"] and (one["value"] is None) == ("why" in one) for one in metrics)
    assert [(one["arm"], one["task"], one["incomplete"]) for one in value["summaries"]] == [
        ("one", None, {}),
        ("one", "task-1", {}),
        ("one", "task-2", {}),
        ("two", None, {"cut-off": 1}),
        ("two", "task-1", {}),
        ("two", "task-2", {"cut-off": 1}),
    ]


def test_rounds_are_compared_by_their_cards_as_by_their_sweeps(workspace: Path, evolve: CommandLine) -> None:
    for name, factor in (("s-a", 4), ("s-b", 3)):
        rows = [
            arm_row("one", f"task-{task}", usage=arm_row("one").usage.model_copy(update={"turns": factor * task}))
            for task in (1, 2, 3)
        ]
        write_sweep(workspace / SWEEPS, name, rows, adapter="chat")
        assert evolve("scorecard", name, "--csv", "--output", f"{name}.csv").code == 0
    asked = ("--metric", "turns", "--metric", "w10", "--json")
    of_cards = evolve("compare", "s-a.csv", "s-b.csv", *asked)
    assert of_cards.code == 0, of_cards.err
    of_rounds, of_sweeps = (
        evolve("compare", "s-a.csv#one", "s-b.csv#one", *asked),
        evolve("compare", "s-a", "s-b", *asked),
    )
    found = [ran.json()["comparisons"][0]["metrics"] for ran in (of_cards, of_rounds, of_sweeps)]
    for value in found:
        for metric in value:
            metric.pop("computed")
    assert found[0] == found[1] == found[2]
    assert found[0][0]["change"] == pytest.approx(-25)


def test_two_arms_are_compared_as_rounds_of_one_card(sweep: str, evolve: CommandLine) -> None:
    assert evolve("scorecard", sweep, "--csv", "--output", "card.csv").code == 0
    ran = evolve("compare", "card.csv#one", "card.csv#two", "--metric", "turns")
    assert ran.code == 0 and "incomplete cards, of which no amount counts" in ran.out
    assert "choose one: card.csv#one" in evolve("compare", "card.csv", "card.csv").err
    (words,) = evolve("compare", "card.csv#one", "card.csv#one", "--metric", "reply_words", "--json").json()[
        "comparisons"
    ][0]["metrics"]
    assert (words["unit"], words["a"], words["change"]) == ("words", 122, 0)
    assert evolve("scorecard", sweep, "--arm", "two", "--csv", "--output", "two.csv").code == 0
    assert evolve("compare", "two.csv", "card.csv#two", "--metric", "completed").code == 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("s-one", "--csv", "--json"), "give one of --csv, --json and --md"),
        (("s-one", "--arm", "three"), "s-one: has no arm 'three'"),
        (("nothing",), "nothing: no generation, sweep or promotion"),
        ((), "there is no generation yet"),
    ],
)
def test_what_has_no_scorecard_is_a_usage_error(
    sweep: str, evolve: CommandLine, arguments: tuple[str, ...], told: str
) -> None:
    ran = evolve("scorecard", *arguments)
    assert ran.code == 2 and told in ran.out + ran.err


def test_a_promotion_keeps_no_transcripts_and_says_where_they_are(measured: Measured, evolve: CommandLine) -> None:
    name = measured.evidence().promotion.sweep
    ran = evolve("scorecard", str(measured.folder))
    assert ran.code == 2 and "a promotion keeps rows, and no transcripts" in ran.err
    assert f"try: evolve scorecard {name}\n" in ran.err
    assert evolve("scorecard", name).code == 0
    (measured.root / SWEEPS / name / "plan.json").unlink()
    assert f"ask where sweep {name} was measured" in evolve("scorecard", str(measured.folder)).err


def test_the_cells_of_a_chat_agent_are_scored_without_a_transcript(measured: Measured, evolve: CommandLine) -> None:
    name = measured.evidence().promotion.sweep
    cards = list(csv.DictReader(io.StringIO(evolve("scorecard", name, "--csv").out, newline="")))
    assert len(cards) == 48 and {card["card_complete"] for card in cards} == {"true"}
    assert all(card["output"] and card["reply_words"] and "no-transcript" in card["null_because"] for card in cards)


def test_a_generation_has_the_cards_of_each_of_its_sweeps(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    assert evolve("generation").code == 0
    state = json.loads((workspace / "results/generations/g0001/generation.json").read_text())
    value = evolve("scorecard", "--json").json()
    assert {cell["sweep"] for cell in value["cells"]} == set(state["sweeps"])
    assert not [cell for cell in value["cells"] if not cell["complete"]]
    assert {one["round"] for one in value["summaries"]} == {
        f"{one['sweep']}/{one['arm']}" for one in value["summaries"]
    }
    (workspace / SWEEPS / state["sweeps"][0] / "plan.json").unlink()
    assert f"g0001: sweeps are gone: {state['sweeps'][0]}" in evolve("scorecard").err

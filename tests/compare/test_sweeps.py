from __future__ import annotations

from pathlib import Path

import pytest

from evolve.compare.compare import compare
from evolve.compare.figures import METRICS, Price
from evolve.compare.sweeps import agent_name, choose_arms, find_sweep, read_sweep
from evolve.errors import EvidenceFault, InputError
from evolve.records.kinds import ErrorKind
from evolve.records.row import Usage
from tests.builders import digest_of, make_identity, make_row
from tests.compare.builders import side, write_sweep

USAGE = Usage(
    input_tokens=1000,
    cached_input_tokens=600,
    cache_write_5m_tokens=100,
    output_tokens=50,
    turns=3,
    tool_calls=2,
    cost_usd_micros=2500,
    session_ms=1500,
)


def test_a_row_gives_every_metric(tmp_path: Path) -> None:
    folder = write_sweep(tmp_path, "s", [make_row(usage=USAGE)])
    found = read_sweep(folder)["incumbent"]
    assert found.name == "s, arm incumbent"
    assert found.runs["task-1"][0] == {
        "completed": 1,
        "wall_ms": 1500,
        "prompt": 1000,
        "cached": 600,
        "uncached": 400,
        "w10": 460,
        "w25": 550,
        "output": 50,
        "turns": 3,
        "tool_calls": 2,
        "cost_usd": 0.0025,
    }
    assert found.columns == frozenset(METRICS)
    assert found.computed["uncached"] == "prompt - cached, so that what was written to a cache is in it"
    assert found.notes == ()


def test_a_price_computes_costs_anew(tmp_path: Path) -> None:
    folder = write_sweep(tmp_path, "s", [make_row(usage=USAGE)])
    cost = read_sweep(folder, Price(5, 0.5, 30))["incumbent"].runs["task-1"][0]["cost_usd"]
    assert cost == pytest.approx(0.0038)


def test_a_void_row_or_none_leaves_its_task_without_a_figure(tmp_path: Path) -> None:
    rows = [
        make_row("whole", usage=USAGE),
        make_row("whole", 1, usage=USAGE, resolved=False),
        make_row("void", usage=USAGE),
        make_row("void", 1, usage=USAGE, kind=ErrorKind.INFRA_ERROR),
        make_row("cut", usage=USAGE),
    ]
    folder = write_sweep(tmp_path, "s", rows, absent=[make_row("cut", 1)])
    found = read_sweep(folder)["incumbent"]
    assert list(found.runs) == ["cut", "void", "whole"]
    for name, figure in (("completed", 0.5), ("turns", 3)):
        assert found.by_task(METRICS[name], ["whole", "void", "cut"]) == [figure, None, None]
    assert found.notes == (
        "s, arm incumbent: runs that are void or not there, so that their tasks have no figure: cut (1), void (1)",
    )


def test_sealed_sweeps_are_compared_and_said_to_be(tmp_path: Path) -> None:
    folder = write_sweep(tmp_path, "s", [make_row()], purpose="sealed")
    assert read_sweep(folder)["incumbent"].notes == (
        "sealed tasks of s: a comparison is no look, and promotes nothing",
    )


def test_a_damaged_journal_is_a_fault(tmp_path: Path) -> None:
    folder = write_sweep(tmp_path, "s", [make_row()])
    (folder / "journal.jsonl").write_bytes(b"{}\n" + (folder / "journal.jsonl").read_bytes())
    (folder / "rows.jsonl").write_bytes(b"")
    with pytest.raises((EvidenceFault, InputError)):
        read_sweep(folder)


def test_agents_runtimes_and_tasks_are_told_apart(tmp_path: Path) -> None:
    other = {"adapter": "claude-code", "version": "2.1", "settings": {"model": "large-1"}}
    before = [make_row("a", usage=USAGE), make_row("b", usage=USAGE)]
    after = [
        make_row("a", usage=USAGE, identity=make_identity("a", runtime_sha256=digest_of("new"))),
        make_row("b", usage=USAGE, identity=make_identity("b", oracle_sha256=digest_of("mended"))),
    ]
    one = read_sweep(write_sweep(tmp_path, "one", before))["incumbent"]
    two = read_sweep(write_sweep(tmp_path, "two", after, agents=[other]))["incumbent"]
    comparison = compare(one, two)
    assert (comparison.tasks, comparison.changed) == (("a",), ("b",))
    assert comparison.caveats[0] == f"different agents: {one.agents[0]} and {two.agents[0]}"
    assert one.agents[0].startswith("fake small (") and two.agents[0].startswith("claude-code 2.1 large-1 (")
    assert "different sandboxes or runtimes" in comparison.caveats[1]


def test_the_like_of_an_agent_has_another_name() -> None:
    assert agent_name({"adapter": "chat", "model": "m"}).startswith("chat m (")
    assert agent_name({"adapter": "chat", "t": "0"}) != agent_name({"adapter": "chat", "t": "1"})


def test_sweeps_are_found_by_id_or_folder(tmp_path: Path) -> None:
    folder = write_sweep(tmp_path / "sweeps", "s", [make_row()])
    for what in ("s", "sweeps/s", "sweeps/s/", str(folder)):
        assert find_sweep(tmp_path / "sweeps", what) == folder
    for near in (tmp_path, tmp_path / "sweeps"):
        (near / "plan.json").write_text("{}")
    for what in ("", ".", "..", "/", "none", "x" * 3000, "a\0b"):
        assert find_sweep(tmp_path / "sweeps", what) is None


def test_arms_are_chosen() -> None:
    a, b, c = (side(name, turns=[1]) for name in "abc")
    assert choose_arms({"a": a}, {"b": b}) == [(a, b)]
    assert choose_arms({"a": a, "b": b}, {"c": c, "b": b, "a": a}) == [(a, a), (b, b)]
    assert choose_arms({"a": a, "b": b}, {"a": c, "b": b}, "a") == [(a, c)]
    assert choose_arms({"a": a, "b": b}, {"a": a, "b": b}, "a", "b") == [(a, b)]
    assert choose_arms({"a": a, "b": b}, {"c": c}, "a") == [(a, c)]
    assert choose_arms({"a": a, "b": b}, {"a": a, "c": c}, None, "a") == [(a, a)]
    assert choose_arms({"c": c}, {"a": a, "b": b}, None, "b") == [(c, b)]


@pytest.mark.parametrize("arms", [("x", None), (None, "x"), ("a", "x"), ("x", "a"), ("b", None)])
def test_arms_that_are_not_there_are_refused(arms: tuple[str | None, str | None]) -> None:
    a, b, c = (side(name, turns=[1]) for name in "abc")
    with pytest.raises(InputError, match="has no arm") as refused:
        choose_arms({"a": a, "b": b}, {"a": a, "c": c}, *arms)
    assert refused.value.hint is not None and "--arm-b" in refused.value.hint


def test_arms_without_a_common_one_are_refused() -> None:
    a, b, c, d = (side(name, turns=[1]) for name in "abcd")
    with pytest.raises(InputError, match="no arm in common: a, b; c, d"):
        choose_arms({"a": a, "b": b}, {"c": c, "d": d})

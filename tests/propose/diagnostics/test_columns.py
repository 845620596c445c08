"""Columns of a report, which nothing that decides may read."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from evolve.bench.plan import make_plan
from evolve.bench.reuse import ReuseIndex
from evolve.propose.diagnostics.columns import diagnostics_table, sweep_diagnostics
from evolve.propose.diagnostics.finding import FindingKind
from evolve.records.kinds import Role, Split
from evolve.records.plan import Plan
from evolve.report.markdown import sweep_report
from tests.builders import NOW, make_policy, make_request, make_row, make_skill, make_task
from tests.propose.diagnostics.transcripts import CLAUDE, CODEX, lines, stored_row

ROOT = Path(__file__).parents[3]


def planned(**adapters: str) -> Plan:
    """Plan a sweep whose arms have these adapters."""
    request = make_request(
        skills=[(arm, Role.COMPARATOR, make_skill()) for arm in adapters], tasks=[make_task(split=Split.SEALED)]
    )
    plan = make_plan(request, make_policy(), ReuseIndex(), NOW)
    arms = tuple(arm.model_copy(update={"agent": {"adapter": adapters[arm.name]}}) for arm in plan.arms)
    return plan.model_copy(update={"arms": arms})


def test_an_arm_has_the_mean_of_the_cells_that_tell(tmp_path: Path) -> None:
    plan = planned(one="claude-code", two="codex", three="chat")
    rows = [
        stored_row(tmp_path, lines(CLAUDE), arm="one"),
        stored_row(tmp_path, lines(CLAUDE[:3]), arm="one", run=1),
        make_row(run=2, arm="one"),
        stored_row(tmp_path, lines(CODEX), arm="two", split=Split.SEALED),
        make_row(arm="three"),
    ]
    columns = sweep_diagnostics(tmp_path, plan, rows)
    assert [(column.arm, column.cells, column.diagnosed) for column in columns] == [
        ("one", 3, 2),
        ("two", 1, 1),
        ("three", 1, 0),
    ]
    one, two, three = columns
    assert (one.means[FindingKind.TOOL_ERROR], one.means[FindingKind.CACHE_BREAK]) == (0.5, 0.0)
    assert (two.means[FindingKind.TOOL_ERROR], two.means[FindingKind.CACHE_BREAK]) == (2.0, None)
    assert set(three.means.values()) == {None}
    assert three.json_value() == {"arm": "three", "cells": 1, "diagnosed": 0, "mean_counts": None}
    assert two.json_value()["mean_counts"] == {kind.value: mean for kind, mean in two.means.items()}
    text = sweep_report(plan, tuple(rows), diagnostics_table(columns))
    assert "| found in a diagnosed cell, on average | one | two | three |" in text
    assert "| cells diagnosed | 2/3 | 1/1 | not diagnosed |" in text
    assert "| tool-error | 0.50 | 2.00 |  |" in text
    assert "cache-break" not in text, "it occurs nowhere"


def test_what_an_arm_cannot_show_is_said(tmp_path: Path) -> None:
    plan = planned(one="claude-code", two="codex")
    rows = [stored_row(tmp_path, lines(CLAUDE), arm="one"), stored_row(tmp_path, lines(CODEX), arm="two")]
    one, two = sweep_diagnostics(tmp_path, plan, rows)
    one = replace(one, means={**one.means, FindingKind.CACHE_BREAK: 1.0})
    assert diagnostics_table((one, two))["cache-break"] == ["1.00", "not told"]


def test_chat_agents_are_not_diagnosed_rather_than_found_well(tmp_path: Path) -> None:
    plan, row = planned(one="chat"), make_row(arm="one")
    columns = sweep_diagnostics(tmp_path, plan, [row])
    assert diagnostics_table(columns) == {}
    for text in (sweep_report(plan, (row,), diagnostics_table(columns)), sweep_report(plan, (row,))):
        assert text.endswith("## Diagnostics\n\nNot diagnosed: no cell has a transcript that can be read.\n")


def imports_of(module: str) -> Iterator[str]:
    """Yield what a module of this project imports, whether at once or later."""
    path = ROOT / Path(*module.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("evolve"):
            yield node.module
            for alias in node.names:
                inner = ROOT / Path(*node.module.split("."), alias.name)
                if inner.is_dir() or inner.with_suffix(".py").exists():
                    yield f"{node.module}.{alias.name}"


def reached_from(*modules: str) -> set[str]:
    waiting, seen = list(modules), set(modules)
    while waiting:
        new = {name for name in imports_of(waiting.pop()) if name.startswith("evolve")} - seen
        seen |= new
        waiting += new
    return seen


def modules_of(package: str) -> list[str]:
    return [f"evolve.{package}.{path.stem}" for path in (ROOT / "evolve" / package).glob("*.py") if path.stem[0] != "_"]


DECIDES = [
    *modules_of("gate"),
    *modules_of("stats"),
    "evolve.generation.screen",
    "evolve.promote.redecide",
    "evolve.promote.confirm",
]


@pytest.mark.parametrize("module", DECIDES)
def test_nothing_that_decides_can_see_a_diagnosis(module: str) -> None:
    hints = ("evolve.propose.diagnostics", "evolve.agents.transcripts")
    assert [name for name in reached_from(module) if name.startswith(hints)] == []


def test_the_search_for_imports_finds_one() -> None:
    assert "evolve.propose.diagnostics.columns" in reached_from("evolve.cli.report")

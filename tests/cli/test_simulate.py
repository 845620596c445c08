"""``evolve simulate``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import CommandLine


def test_it_needs_no_workspace_and_says_what_was_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, evolve: CommandLine
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = evolve("simulate", "--world", "null", "--rule", "proven", "--rule", "argmax", "--generations", "10")
    assert ran.code == 0
    assert "10 generations a world, 6 candidates each, 24 sealed tasks x 3 runs, look 1, seed 1" in ran.out
    assert "null: no candidate is better or worse than the incumbent" in ran.out
    assert [line.split()[1] for line in ran.out.splitlines()[1:3]] == ["proven", "argmax"]


def test_a_policy_of_ones_own_is_held_against_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, evolve: CommandLine
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.yaml").write_text("schema: evolve/policy@1\nmin_improvement_pct: 0\nsequential: true\n")
    options = ("--world", "gain", "--rule", "proven", "--generations", "5", "--tasks", "8")
    found = evolve("simulate", "--policy", "mine.yaml", *options, "--json").json()
    assert [one["rule"] for one in found["rules"]] == ["mine.yaml", "proven"]
    (tmp_path / "mine.yaml").write_text("schema: evolve/policy@1\nmetric: cost_usd\n")
    ran = evolve("simulate", "--policy", "mine.yaml", *options)
    assert ran.code == 2
    assert "mine.yaml: metric:" in ran.err


def test_a_plot_is_written_and_years_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, evolve: CommandLine
) -> None:
    monkeypatch.chdir(tmp_path)
    options = ("--world", "null", "--rule", "proven", "--generations", "5", "--tasks", "8", "--runs", "1")
    ran = evolve("simulate", *options, "--svg", "plot.svg", "--year")
    assert ran.code == 0
    assert (tmp_path / "plot.svg").read_text().startswith("<?xml")
    assert "1 years of 52 weekly looks" in ran.out
    assert ran.out.count("inverse-square") == ran.out.count("lord") == 2
    assert evolve("simulate", *options, "--svg", "plots/plot.svg").code == 0
    assert (tmp_path / "plots/plot.svg").exists()
    (tmp_path / "plots/file").write_text("")
    assert evolve("simulate", *options, "--svg", "plots/file/plot.svg").code != 0
    assert evolve("simulate", "--world", "atlantis").code == 2

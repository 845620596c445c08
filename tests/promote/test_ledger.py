from __future__ import annotations

from pathlib import Path

import pytest

from evolve.errors import EvidenceFault
from evolve.promote.ledger import Ledger, find_entry, next_look, read_ledger, undecided_sweeps
from evolve.records.policy import Policy

POLICY = Policy(schema_id="evolve/policy@1")


def ledger_in(folder: Path) -> Ledger:
    return Ledger(folder / "promotion", folder / "locks")


def look(ledger: Ledger, sweep: str, *, skill: str = "s", sealed: str = "a") -> float:
    entry = ledger.record_look(POLICY, skill=skill, overlay_sha256="1" * 64, sweep=sweep, sealed_sha256=sealed * 64)
    return entry.alpha


def test_each_look_at_the_same_sealed_tasks_is_granted_less(tmp_path: Path) -> None:
    ledger = ledger_in(tmp_path)
    levels = [look(ledger, f"sweep-{number}") for number in range(5)]
    assert [round(level, 5) for level in levels] == [0.0304, 0.0076, 0.00338, 0.0019, 0.00122]


def test_a_new_sealed_set_and_another_skill_start_a_new_account(tmp_path: Path) -> None:
    ledger = ledger_in(tmp_path)
    first = look(ledger, "one")
    look(ledger, "two")
    assert look(ledger, "three", sealed="b") == first
    assert look(ledger, "four", skill="other") == first


def test_the_same_sweep_looks_once(tmp_path: Path) -> None:
    ledger = ledger_in(tmp_path)
    assert look(ledger, "one") == look(ledger, "one")
    assert len(ledger.read()) == 1
    assert next_look(ledger.read(), "s", "a" * 64) == 2


def test_a_look_without_a_decision_is_undecided(tmp_path: Path) -> None:
    ledger = ledger_in(tmp_path)
    look(ledger, "one")
    assert undecided_sweeps(ledger.read()) == {"one"}
    entry = ledger.read()[0]
    ledger.append(**{**entry.model_dump(exclude={"seq", "at", "previous", "schema_id"}), "entry": "decision"})
    assert undecided_sweeps(ledger.read()) == set()
    assert find_entry(ledger.read(), "decision", "one") is not None
    assert find_entry(ledger.read(), "promotion", "one") is None


@pytest.mark.parametrize("line", [0, 1, 2])
def test_a_changed_entry_breaks_the_chain_unless_it_is_the_last(tmp_path: Path, line: int) -> None:
    ledger = ledger_in(tmp_path)
    for number in range(3):
        look(ledger, f"sweep-{number}")
    lines = ledger.path.read_text().splitlines()
    lines[line] = lines[line].replace('"look":', '"look":1')
    ledger.path.write_text("\n".join(lines) + "\n")
    if line == 2:
        assert len(read_ledger(ledger.folder)) == 3
        return
    with pytest.raises(EvidenceFault, match=rf"ledger.jsonl:{line + 2}"):
        ledger.read()

from __future__ import annotations

import contextlib
import threading
from pathlib import Path

import pytest

from evolve.errors import BusyError, EvidenceFault
from evolve.promote.ledger import Ledger, NewLook, find_entry, next_look, read_ledger, undecided_sweeps
from evolve.records.policy import Policy

POLICY = Policy(schema_id="evolve/policy@1")


def ledger_in(folder: Path) -> Ledger:
    return Ledger(folder / "promotion", folder / "locks")


def look(ledger: Ledger, sweep: str, *, skill: str = "s", tasks: str = "abc", again: bool = False) -> float:
    new = NewLook(skill, "1" * 64, sweep, "2" * 64, tuple(tasks))
    return ledger.record_look(POLICY, new, again=again).alpha


def test_each_look_at_the_same_sealed_tasks_is_granted_less(tmp_path: Path) -> None:
    ledger = ledger_in(tmp_path)
    levels = [look(ledger, f"sweep-{number}") for number in range(5)]
    assert [round(level, 5) for level in levels] == [0.0304, 0.0076, 0.00338, 0.0019, 0.00122]


def test_a_new_sealed_set_and_another_skill_start_a_new_account(tmp_path: Path) -> None:
    ledger = ledger_in(tmp_path)
    first = look(ledger, "one")
    look(ledger, "two")
    assert look(ledger, "three", tasks="xyz") == first
    assert look(ledger, "four", skill="other") == first


def test_the_same_sweep_looks_once(tmp_path: Path) -> None:
    ledger = ledger_in(tmp_path)
    assert look(ledger, "one") == look(ledger, "one")
    assert len(ledger.read()) == 1
    assert next_look(ledger.read(), "s", "a") == 2


def test_a_look_without_a_decision_is_undecided(tmp_path: Path) -> None:
    ledger = ledger_in(tmp_path)
    look(ledger, "one")
    assert undecided_sweeps(ledger.read()) == {"one"}
    ledger.append(ledger.read()[0].model_copy(update={"entry": "decision"}))
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


def test_a_look_at_any_of_the_same_tasks_counts(tmp_path: Path) -> None:
    ledger = ledger_in(tmp_path)
    first = look(ledger, "one", tasks="abc")
    assert look(ledger, "two", tasks="cde") < first
    assert look(ledger, "three", tasks="xyz") == first


def test_a_look_whose_rows_are_lost_counts_again(tmp_path: Path) -> None:
    ledger = ledger_in(tmp_path)
    first = look(ledger, "one")
    assert look(ledger, "one", again=True) < first
    assert [entry.look for entry in ledger.read()] == [1, 2]


def test_looks_at_once_are_numbered_apart(tmp_path: Path) -> None:
    ledger = ledger_in(tmp_path)

    def one(number: int) -> None:
        while True:
            with contextlib.suppress(BusyError):
                look(ledger, f"sweep-{number}")
                return

    threads = [threading.Thread(target=one, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [entry.look for entry in ledger.read()] == list(range(1, 9))

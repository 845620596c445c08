"""The append-only event log of a sweep."""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evolve.bench.journal import Journal, Spent, SweepState, fold, read_events, read_state
from evolve.errors import EnvironmentFault, EvidenceFault
from evolve.records.event import Event
from evolve.records.kinds import ErrorKind
from evolve.records.row import Usage
from tests.builders import NOW, digest_of, make_row


def fill(path: Path) -> Journal:
    """Write the journal of a short sweep: planned, a void attempt, its replacement, a second cell, the end."""
    journal = Journal(path)
    journal.append("planned", plan_sha256=digest_of("plan"))
    journal.append("leased", cell=0, attempt=1, token=1)
    journal.append("voided", cell=0, attempt=1, token=1, row=make_row(kind=ErrorKind.SESSION_ERROR))
    journal.append("leased", cell=0, attempt=2, token=2)
    journal.append("settled", cell=0, attempt=2, token=2, row=make_row(attempt=2))
    journal.append("reuse-dropped", arm="incumbent")
    journal.append("leased", cell=1, attempt=1, token=3)
    journal.append("settled", cell=1, attempt=1, token=3, row=make_row(run=1, resolved=False))
    journal.append("finished")
    return journal


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    path = tmp_path_factory.mktemp("journal") / "journal.jsonl"
    fill(path)
    return path.read_bytes().splitlines(keepends=True)


def test_all_state_is_derived_from_the_events(tmp_path: Path) -> None:
    journal = fill(tmp_path / "journal.jsonl")
    state = journal.state
    assert {index: (row.attempt, row.resolved) for index, row in state.settled.items()} == {0: (2, True), 1: (1, False)}
    assert [(index, row.kind) for index, row in state.voided] == [(0, ErrorKind.SESSION_ERROR)]
    assert state.attempts == {0: 2, 1: 1}
    assert (len(state.leases), state.dropped_arms, state.finished, state.token) == (0, {"incumbent"}, True, 3)
    assert state.plan_sha256 == digest_of("plan")
    assert Journal(journal.path).state == state == fold(read_events(journal.path)) == read_state(journal.path)


def test_an_open_lease_is_a_lost_attempt_and_the_sweep_is_not_finished(tmp_path: Path) -> None:
    journal = fill(tmp_path / "journal.jsonl")
    journal.append("leased", cell=2, attempt=1, token=4)
    assert (len(journal.state.leases), journal.state.finished, journal.state.token) == (1, False, 4)
    journal.append("leased", cell=2, attempt=2, token=5)
    assert (len(journal.state.leases), journal.state.attempts[2]) == (2, 2)


def test_the_first_settled_row_of_a_cell_stays(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.jsonl")
    journal.append("settled", cell=0, row=make_row(resolved=False))
    journal.append("settled", cell=0, row=make_row(resolved=True))
    assert not journal.state.settled[0].resolved


def test_what_a_lost_attempt_may_have_cost_stays_on_the_books(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.jsonl")
    journal.append("spent", arm="incumbent", cost_usd_micros=3, reason="warm-up")
    journal.append("leased", cell=0, attempt=1, token=1, reserved_micros=50)
    journal.append("spent", cell=0, attempt=1, token=1, cost_usd_micros=50, reason="lost")
    journal.append("leased", cell=0, attempt=2, token=2, reserved_micros=50)
    journal.append("settled", cell=0, attempt=2, token=2, row=make_row(usage=Usage(cost_usd_micros=20)))
    state = Journal(journal.path).state
    assert state.spent == [Spent("warm-up", 3), Spent("lost", 50)]
    assert (state.booked_micros, state.leases) == (73, {})


def test_a_row_of_unknown_cost_is_booked_with_what_was_reserved_for_it(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.jsonl")
    journal.append("leased", cell=0, attempt=1, token=1, reserved_micros=50)
    journal.append("settled", cell=0, attempt=1, token=1, row=make_row())
    assert journal.state.booked_micros == 50


@pytest.mark.parametrize("event", ["settled", "voided"])
def test_a_settled_or_voided_cell_without_a_row_is_damage(event: Any) -> None:
    with pytest.raises(EvidenceFault, match="without a row"):
        fold([Event(seq=0, at=NOW, event=event, cell=0)])


@pytest.mark.parametrize("back", range(1, 120, 7))
def test_any_truncation_of_the_last_line_is_repaired_and_loses_no_earlier_event(
    tmp_path: Path, lines: list[bytes], back: int
) -> None:
    path = tmp_path / "journal.jsonl"
    torn = lines[-1][:-back]
    path.write_bytes(b"".join(lines[:-1]) + torn)
    journal = Journal(path)
    assert journal.repaired_bytes == len(torn)
    assert path.read_bytes() == b"".join(lines[:-1])
    journal.append("finished")
    assert len(read_events(path)) == len(lines)
    assert Journal(path).repaired_bytes == 0


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_a_journal_that_is_cut_anywhere_keeps_every_whole_line(lines: list[bytes], data: st.DataObject) -> None:
    whole = b"".join(lines)
    cut = data.draw(st.integers(0, len(whole)))
    kept = whole[:cut].count(b"\n")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal.jsonl"
        path.write_bytes(whole[:cut])
        assert len(read_events(path)) == kept
        assert path.read_bytes() == whole[:cut]
        assert Journal(path).state.events == kept
        assert path.read_bytes() == b"".join(lines[:kept])


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_any_changed_byte_before_the_end_is_found(lines: list[bytes], data: st.DataObject) -> None:
    whole = bytearray(b"".join(lines))
    position = data.draw(st.integers(0, len(whole) - 2))
    whole[position] ^= data.draw(st.integers(1, 255))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal.jsonl"
        path.write_bytes(bytes(whole))
        for read in (read_events, Journal):
            with pytest.raises(EvidenceFault):
                read(path)
        assert path.read_bytes() == bytes(whole)


@pytest.mark.parametrize(
    "change",
    [
        lambda line: line.replace(b"T", b"t", 1),
        lambda line: line.replace(b"T", b" ", 1),
        lambda line: line.replace(b'Z"', b'z"', 1),
        lambda line: line.replace(b'"cell":0', b'"cell":1', 1),
        lambda line: line.replace(b'"cell":0', b'"cell": 0', 1),
        lambda line: line.replace(b'"resolved":true', b'"resolved":false', 1),
        lambda line: line.replace(b"{", b'{"cell":9,', 1),
    ],
)
def test_a_line_that_means_the_same_but_has_other_bytes_is_damage(
    tmp_path: Path, lines: list[bytes], change: Callable[[bytes], bytes]
) -> None:
    changed = change(lines[4])
    assert changed != lines[4]
    (tmp_path / "journal.jsonl").write_bytes(b"".join([*lines[:4], changed, *lines[5:]]))
    with pytest.raises(EvidenceFault) as caught:
        read_events(tmp_path / "journal.jsonl")
    assert caught.value.message.startswith(f"{tmp_path}/journal.jsonl:5: ")


@given(st.randoms(use_true_random=False))
@settings(max_examples=30, deadline=None)
def test_lines_that_are_swapped_taken_out_or_doubled_are_found(lines: list[bytes], rng: random.Random) -> None:
    one, two = sorted(rng.sample(range(len(lines)), 2))
    swapped = list(lines)
    swapped[one], swapped[two] = lines[two], lines[one]
    removed = lines[:one] + lines[one + 1 :]
    doubled = [*lines[:one], lines[one], *lines[one:]]
    for damaged in (swapped, removed, doubled):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "journal.jsonl"
            path.write_bytes(b"".join(damaged))
            with pytest.raises(EvidenceFault):
                Journal(path)


@given(st.integers(0, 9))
@settings(deadline=None)
def test_folding_is_deterministic_and_grows_event_by_event(lines: list[bytes], count: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal.jsonl"
        path.write_bytes(b"".join(lines[:count]))
        events = read_events(path)
    assert fold(events) == fold(list(events))
    assert set(fold(events[:-1]).settled) <= set(fold(events).settled)
    assert len(fold(events[:-1]).voided) <= len(fold(events).voided)


def test_an_event_is_on_disk_before_append_returns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    original = os.fsync
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(os.fstat(fd).st_size) or original(fd))  # type: ignore[func-returns-value]
    journal = Journal(tmp_path / "journal.jsonl")
    journal.append("planned", plan_sha256=digest_of("plan"))
    assert synced[0] == (tmp_path / "journal.jsonl").stat().st_size
    assert len(synced) == 2


def test_a_full_disk_is_told_and_leaves_no_part_of_an_event(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "journal.jsonl"
    journal = fill(path)
    before, events = path.read_bytes(), journal.state.events

    def refuse(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", refuse)
        with pytest.raises(EnvironmentFault, match="No space left") as caught:
            journal.append("leased", cell=2, attempt=1, token=4)
    assert (caught.value.code, caught.value.hint) == ("journal-write", "free some space, then: evolve resume")
    assert (path.read_bytes(), journal.state.events) == (before, events)
    journal.append("leased", cell=2, attempt=1, token=4)
    assert len(read_events(path)) == events + 1


def test_a_journal_that_is_not_there_is_empty_and_is_not_made_by_reading(tmp_path: Path) -> None:
    assert read_events(tmp_path / "none.jsonl") == []
    assert Journal(tmp_path / "none.jsonl").state == SweepState()
    assert not (tmp_path / "none.jsonl").exists()

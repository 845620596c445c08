"""A journal is followed while somebody else writes it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evolve.bench.follow import Follower
from evolve.bench.journal import JOURNAL_FILE, Journal, read_state
from evolve.bench.measured import counted_rows, measured_rows, stream_rows
from evolve.bench.retell import Retelling
from evolve.bench.status import sweep_status
from evolve.cli.progress import EventProgress
from evolve.errors import EvidenceFault
from evolve.records.plan import PLAN_FILE
from evolve.records.row import Row
from tests.builders import NO_FILES, make_row, put_no_file
from tests.scorecard.builders import arm_row, write_sweep


def journal_of(folder: Path, events: int = 3) -> Journal:
    journal = Journal(folder / JOURNAL_FILE)
    for number in range(events):
        journal.append("leased", cell=number, attempt=1, token=number + 1)
        journal.append("settled", cell=number, attempt=1, token=number + 1, row=make_row(run=number))
    return journal


def test_only_what_is_new_is_told_and_the_state_is_that_of_the_whole(tmp_path: Path) -> None:
    follower = Follower(tmp_path)
    assert follower.new_events() == []
    journal = journal_of(tmp_path)
    assert [event.event for event in follower.new_events()] == ["leased", "settled"] * 3
    assert follower.new_events() == []
    journal.append("finished")
    assert [event.seq for event in follower.new_events()] == [6]
    assert follower.state == read_state(tmp_path / JOURNAL_FILE)


def test_a_line_that_is_being_written_is_told_when_it_is_whole(tmp_path: Path) -> None:
    journal_of(tmp_path)
    path = tmp_path / JOURNAL_FILE
    whole = path.read_bytes()
    follower = Follower(tmp_path)
    for size in range(0, len(whole), 97):
        path.write_bytes(whole[:size])
        follower.new_events()
        assert follower.state.events == whole[:size].count(b"\n")
    path.write_bytes(whole)
    follower.new_events()
    assert follower.state == read_state(path)
    assert path.read_bytes() == whole


def test_a_torn_line_that_is_taken_off_and_written_anew_is_told_once(tmp_path: Path) -> None:
    journal_of(tmp_path)
    path = tmp_path / JOURNAL_FILE
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"torn')
    follower = Follower(tmp_path)
    assert len(follower.new_events()) == 6
    Journal(path).append("finished")
    assert [event.event for event in follower.new_events()] == ["finished"]


@pytest.mark.parametrize("change", ["byte", "gone"])
def test_a_damaged_line_is_told(tmp_path: Path, change: str) -> None:
    journal_of(tmp_path)
    path = tmp_path / JOURNAL_FILE
    lines = path.read_bytes().splitlines(keepends=True)
    lines[2] = lines[2].replace(b"leased", b"leasef") if change == "byte" else b""
    path.write_bytes(b"".join(lines))
    with pytest.raises(EvidenceFault):
        Follower(tmp_path).new_events()


def test_a_journal_that_another_took_the_place_of_is_told(tmp_path: Path) -> None:
    journal_of(tmp_path)
    follower = Follower(tmp_path)
    follower.new_events()
    path = tmp_path / JOURNAL_FILE
    path.unlink()
    with pytest.raises(EvidenceFault, match="gone while it was followed"):
        follower.new_events()
    journal_of(tmp_path, events=1)
    with pytest.raises(EvidenceFault, match="shorter than it was"):
        follower.new_events()


@pytest.mark.parametrize("kind", NO_FILES)
def test_a_journal_that_is_no_file_is_told_and_nobody_waits_for_it(tmp_path: Path, kind: str) -> None:
    put_no_file(tmp_path / JOURNAL_FILE, kind)
    for read in (Follower(tmp_path).new_events, lambda: read_state(tmp_path / JOURNAL_FILE)):
        with pytest.raises(EvidenceFault, match=f"{JOURNAL_FILE}: cannot be read"):
            read()
    with pytest.raises(EvidenceFault, match="cannot be read"):
        counted_rows(tmp_path)


def test_a_plan_that_the_journal_did_not_begin_with_is_told(tmp_path: Path) -> None:
    folder = write_sweep(tmp_path, "s", [arm_row("incumbent", run=number) for number in range(2)])
    plan = follower_of(folder).plan()
    path = folder / PLAN_FILE
    path.write_text(json.dumps(plan.json_value(), indent=2))
    assert follower_of(folder).plan() == plan, "the same in other bytes"
    path.write_bytes(plan.model_copy(update={"cells": plan.cells[:1]}).canonical())
    for read in (follower_of(folder).plan, lambda: sweep_status(folder), lambda: Retelling(folder, EventProgress())):
        with pytest.raises(EvidenceFault, match=r"plan\.json: not the plan that the journal began with"):
            read()


def follower_of(folder: Path) -> Follower:
    follower = Follower(folder)
    follower.new_events()
    return follower


def test_rows_are_read_without_their_digests_where_nobody_asks_for_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_sweep(tmp_path, "s", [arm_row("incumbent", run=number) for number in range(3)])
    streamed = [row for _, row in stream_rows(folder)]
    monkeypatch.setattr(Row, "digest", lambda _: pytest.fail("a digest takes as long as reading the row"))
    assert counted_rows(folder) == measured_rows(folder) == streamed and len(streamed) == 3

"""Finding rows that may stand in for cells."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from evolve.bench.journal import Journal
from evolve.bench.measured import measured_rows
from evolve.bench.reuse import ReuseIndex, build_index, outcome_of
from evolve.digest import sha256_bytes
from evolve.records.base import jsonl_bytes
from evolve.records.kinds import ErrorKind, Role
from evolve.records.plan import Source
from evolve.records.row import Reuse, Row
from tests.builders import NOW, digest_of, make_identity, make_row, write_files

KEY = make_identity().digest()


def store(sweeps: Path, name: str, *rows: Row, reply: bytes | None = None) -> Path:
    folder = write_files(sweeps / name, {"rows.jsonl": jsonl_bytes(rows)})
    journal = Journal(folder / "journal.jsonl")
    journal.append("planned", plan_sha256=digest_of("plan"))
    journal.append("finished", rows_sha256=sha256_bytes(jsonl_bytes(rows)))
    if reply is not None:
        write_files(folder / "replies", {f"{sha256_bytes(reply)}.md": reply})
    return folder


def index_of(sweeps: Path, max_age_days: int = 30) -> ReuseIndex:
    return build_index(sweeps, now=NOW, max_age_days=max_age_days)


def test_a_valid_row_is_found_with_its_source_and_first_time(tmp_path: Path) -> None:
    row = make_row(measured_at=NOW - timedelta(days=2), reply_sha256=sha256_bytes(b"yes"))
    store(tmp_path, "sweep-1", row, reply=b"yes")
    found = index_of(tmp_path).find(KEY)
    assert not isinstance(found, str)
    assert found.source == Source(sweep="sweep-1", row_sha256=row.digest(), measured_at=row.measured_at)


def test_no_sweeps_and_an_unknown_key_say_never_measured(tmp_path: Path) -> None:
    assert index_of(tmp_path / "none").find(KEY) == "never measured"
    assert index_of(tmp_path).find(KEY) == "never measured"


@pytest.mark.parametrize("kind", [kind for kind in ErrorKind if make_row(kind=kind).void])
def test_a_void_row_is_never_reused(tmp_path: Path, kind: ErrorKind) -> None:
    store(tmp_path, "s", make_row(kind=kind))
    assert index_of(tmp_path).find(KEY) == f"the row was void ({kind})"


@pytest.mark.parametrize("kind", [kind for kind in ErrorKind if not make_row(kind=kind).void])
def test_a_failure_of_the_arm_is_reused_like_a_success(tmp_path: Path, kind: ErrorKind) -> None:
    store(tmp_path, "s", make_row(kind=kind))
    assert not isinstance(index_of(tmp_path).find(KEY), str)


def test_a_candidates_row_is_never_reused(tmp_path: Path) -> None:
    store(tmp_path, "s", make_row(role=Role.CANDIDATE, identity=make_identity()))
    assert index_of(tmp_path).find(KEY) == "a candidate's rows are never reused"


@pytest.mark.parametrize(
    ("age", "reused"), [(timedelta(days=30), True), (timedelta(days=30, seconds=1), False), (timedelta(0), True)]
)
def test_age_counts_from_the_first_measurement(tmp_path: Path, age: timedelta, reused: bool) -> None:
    store(tmp_path, "s", make_row(measured_at=NOW - age))
    found = index_of(tmp_path).find(KEY)
    assert isinstance(found, str) != reused
    assert reused or found == "measured 2026-01-30, too long ago"


def test_a_row_from_the_future_is_not_reused(tmp_path: Path) -> None:
    store(tmp_path, "s", make_row(measured_at=NOW + timedelta(seconds=1)))
    assert index_of(tmp_path).find(KEY) == "measured in the future"


def test_a_reused_row_is_no_source_so_that_reuse_never_chains(tmp_path: Path) -> None:
    store(tmp_path, "s", make_row(reused=Reuse(sweep="older", row_sha256=digest_of("row"))))
    assert index_of(tmp_path).find(KEY) == "never measured"


@pytest.mark.parametrize("stored", [None, b"changed"])
def test_a_row_whose_reply_is_gone_or_changed_is_not_reused(tmp_path: Path, stored: bytes | None) -> None:
    digest = sha256_bytes(b"yes")
    folder = store(tmp_path, "s", make_row(reply_sha256=digest))
    if stored is not None:
        write_files(folder / "replies", {f"{digest}.md": stored})
    assert index_of(tmp_path).find(KEY) == "its reply is gone or was changed"


def test_a_later_valid_row_takes_the_place_of_a_refusal(tmp_path: Path) -> None:
    store(tmp_path, "a", make_row(kind=ErrorKind.INFRA_ERROR))
    store(tmp_path, "b", make_row())
    assert not isinstance(index_of(tmp_path).find(KEY), str)
    store(tmp_path, "c", make_row(kind=ErrorKind.INFRA_ERROR))
    assert not isinstance(index_of(tmp_path).find(KEY), str)


@pytest.mark.parametrize("order", [(1, 5), (5, 1)])
def test_of_two_that_agree_the_older_one_is_taken(tmp_path: Path, order: tuple[int, int]) -> None:
    for name, days in zip("ab", order, strict=True):
        store(tmp_path, name, make_row(measured_at=NOW - timedelta(days=days)))
    found = index_of(tmp_path).find(KEY)
    assert not isinstance(found, str)
    assert found.source.measured_at == NOW - timedelta(days=5)


@pytest.mark.parametrize("third", [True, False])
def test_two_sources_that_differ_block_their_key_for_good(tmp_path: Path, third: bool) -> None:
    other = make_row("task-2", 0)
    store(tmp_path, "a", make_row(), other)
    store(tmp_path, "b", make_row(resolved=False))
    if third:
        store(tmp_path, "c", make_row())
    index = index_of(tmp_path)
    assert index.find(KEY) == "two sources differ"
    assert not isinstance(index.find(other.key), str)


def test_outcomes_differ_by_verdict_kind_reply_and_work() -> None:
    rows = [
        make_row(),
        make_row(resolved=False),
        make_row(kind=ErrorKind.VERIFY_FAILED),
        make_row(reply_sha256=digest_of("reply")),
        make_row(work_sha256=digest_of("work")),
    ]
    assert len({outcome_of(row) for row in rows}) == len(rows)


def test_a_damaged_file_does_not_hide_the_other_sweeps(tmp_path: Path) -> None:
    write_files(tmp_path / "a", {"journal.jsonl": b"\xff not json\n"})
    (tmp_path / "b" / "journal.jsonl").mkdir(parents=True)
    store(tmp_path, "c", make_row())
    assert not isinstance(index_of(tmp_path).find(KEY), str)


def test_rows_that_the_journal_does_not_vouch_for_are_not_believed(tmp_path: Path) -> None:
    folder = store(tmp_path, "s", make_row(resolved=True))
    (folder / "rows.jsonl").write_bytes(jsonl_bytes([make_row(resolved=False)]))
    assert index_of(tmp_path).find(KEY) == "never measured"


def test_rows_of_an_unfinished_sweep_come_out_of_its_journal(tmp_path: Path) -> None:
    journal = Journal(write_files(tmp_path / "s", {"keep": b""}) / "journal.jsonl")
    journal.append("planned", plan_sha256=digest_of("plan"))
    assert measured_rows(tmp_path / "s") == []
    row = make_row()
    journal.append("leased", cell=0, attempt=1, token=1)
    journal.append("settled", cell=0, attempt=1, token=1, row=row)
    found = index_of(tmp_path).find(KEY)
    assert not isinstance(found, str)
    assert found.source.row_sha256 == row.digest()
    with journal.path.open("ab") as file:
        file.write(b"torn")
    assert measured_rows(tmp_path / "s") == [row]
    assert measured_rows(tmp_path / "nowhere") == []

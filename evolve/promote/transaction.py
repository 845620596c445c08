"""Files, ledger and one commit as one transaction: all of it, or nothing at all."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from evolve.digest import sha256_bytes
from evolve.errors import EnvironmentFault, EvidenceFault, EvolveError
from evolve.files import writer_lock
from evolve.promote import ledger
from evolve.promote.places import put, refuse_links
from evolve.promote.recovery import (
    PROMOTE_LOCK,
    Recovered,
    Step,
    finish,
    no_step,
    pending,
    settle,
    stored,
    undo,
    write_recovery,
)
from evolve.promote.target import Target, check_branch
from evolve.records.base import jsonl_bytes
from evolve.records.ledger import LedgerEntry
from evolve.records.recovery import RecoveredFile, Recovery
from evolve.snapshot import FileEntry


@dataclass(frozen=True)
class Change:
    """What is to be committed as one.

    Args:
        kind: What it is.
        message: The commit's message.
        trailer: The trailer of the message that the commit is known by, and its value.
        files: What files are to hold; ``None``: the file is to go.
        bases: The digest that each of them must have when it is written; ``None``: it must not be there.
        exact: Files that the commit must hold as they lie there.
        beside: Paths that the commit takes along, whatever they hold.
        entry: What is entered in the ledger.

    """

    kind: Literal["promotion", "record", "rollback"]
    message: str
    trailer: tuple[str, str]
    files: Mapping[str, FileEntry | None] = field(default_factory=dict)
    bases: Mapping[str, str | None] = field(default_factory=dict)
    exact: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    entry: LedgerEntry | None = None


@contextlib.contextmanager
def promotion_lock(target: Target) -> Iterator[Recovered | None]:
    """Hold the lock of everything that commits; what a killed process left is settled first, and given.

    Raises:
        BusyError: Another process is promoting.

    """
    workspace = target.workspace
    with writer_lock(workspace.locks / PROMOTE_LOCK, "a promotion"):
        settled = None
        if pending(workspace) is not None:
            with ledger.workspace_ledger(workspace).held():
                settled = settle(target)
        yield settled


def check_base(root: Path, path: str, base: str | None) -> None:
    """Compare a file with what it must hold before it is replaced.

    Raises:
        EvidenceFault: It is missing, should not be there, or holds something else.

    """
    refuse_links(root, path)
    found = _digest_of(root / path)
    if found == base:
        return
    hint = "propose and measure again"
    if found is None:
        raise EvidenceFault(f"{path}: was measured, and is gone", hint=f"git restore {path}", code="base-missing")
    if base is None:
        raise EvidenceFault(f"{path}: was not there when it was measured", hint=hint, code="base-unexpected")
    raise EvidenceFault(f"{path}: changed since it was measured", hint=hint, code="base-changed")


def carry_out(target: Target, change: Change, *, step: Step = no_step) -> str:
    """Write, verify, enter and commit, for a caller that holds the lock; returns the commit.

    Args:
        target: The workspace, its repository, and the branch to commit on.
        change: What is to be committed.
        step: Told the name of each step before it is taken.

    Raises:
        EvidenceFault: A file is not what it must be before it is replaced; everything is as it was.
        EnvironmentFault: Writing or committing failed; everything is as it was.

    """
    with ledger.workspace_ledger(target.workspace).held():
        check_branch(target)
        target.repository.check_unlocked()
        step("begin")
        record = _begin(target, change)
        unwritten = {file.path for file in record.files if file.changes}
        try:
            _write(target, record, unwritten, step)
            commit = _commit(target, record, change.message, step)
        except (Exception, KeyboardInterrupt) as error:
            _undo_or_tell(target, record, unwritten, error)
            raise
        finish(target, record, commit, step=step)
        return commit


def _begin(target: Target, change: Change) -> Recovery:
    workspace, repository = target.workspace, target.repository
    contents: dict[str, bytes] = {}
    files = [_file(workspace.root, path, entry, contents) for path, entry in change.files.items()]
    files += [_file(workspace.root, path, None, contents, as_is=True) for path in change.exact]
    ledger_path = workspace.relative(workspace.promotion / ledger.LEDGER_FILE)
    if change.kind != "rollback":
        files.append(_ledger_file(target, ledger_path, change.entry, contents))
    branch = repository.branch()
    record = Recovery(
        kind=change.kind,
        begun_at=datetime.now(UTC),
        head=repository.head(),
        branch=branch,
        new_branch=target.branch if target.branch not in (None, branch) else None,
        trailer=change.trailer[0],
        trailer_value=change.trailer[1],
        ledger=ledger_path,
        files=tuple(files),
        beside=change.beside,
        made_folders=tuple(_missing_folders(workspace.root, list(change.files))),
    )
    for path, base in change.bases.items():
        check_base(workspace.root, path, base)
    write_recovery(workspace, record, contents.values())
    return record


def _file(
    root: Path, path: str, entry: FileEntry | None, contents: dict[str, bytes], *, as_is: bool = False
) -> RecoveredFile:
    refuse_links(root, path)
    place = root / path
    before = place.read_bytes() if place.exists() else None
    mode = place.stat().st_mode & 0o777 if before is not None else 0o644
    after = before if as_is else entry.content if entry is not None else None
    wanted = mode if as_is else 0o755 if entry is not None and entry.executable else 0o644
    digests = [_remember(data, contents) for data in (before, after)]
    return RecoveredFile(path=path, before=digests[0], after=digests[1], mode_before=mode, mode_after=wanted)


def _ledger_file(target: Target, path: str, entry: LedgerEntry | None, contents: dict[str, bytes]) -> RecoveredFile:
    if entry is None:
        return _file(target.workspace.root, path, None, contents, as_is=True)
    entries = ledger.read_ledger(target.workspace.promotion)
    known = ledger.find_entry(entries, entry.entry, entry.sweep)
    after = entries if known else (*entries, ledger.chain(entries, entry))
    return _file(target.workspace.root, path, FileEntry(jsonl_bytes(after)), contents)


def _remember(data: bytes | None, contents: dict[str, bytes]) -> str | None:
    if data is None:
        return None
    digest = sha256_bytes(data)
    contents[digest] = data
    return digest


def _missing_folders(root: Path, paths: list[str]) -> list[str]:
    """Return the folders that would be made for some files, each after the one that it lies in."""
    found = {parent.as_posix() for path in paths for parent in Path(path).parents if not (root / parent).exists()}
    return sorted(found)


def _write(target: Target, record: Recovery, unwritten: set[str], step: Step) -> None:
    """Write each file over the base that it must have, then the ledger.

    Raises:
        EvidenceFault: A file was changed meanwhile.
        EnvironmentFault: A file does not hold what was written.

    """
    workspace = target.workspace
    changing = [file for file in record.files if file.changes]
    for file in changing:
        own = file.path == record.ledger
        if own:
            step("verify")
            _verify(workspace.root, [one for one in changing if one.path != record.ledger])
            step("ledger")
        else:
            step(f"write {file.path}")
        check_base(workspace.root, file.path, file.before)
        unwritten.discard(file.path)
        put(workspace.root / file.path, None if file.after is None else stored(workspace, file.after), file.mode_after)
    step("verify all")
    _verify(workspace.root, list(record.files))


def _verify(root: Path, files: list[RecoveredFile]) -> None:
    for file in files:
        refuse_links(root, file.path)
        if _digest_of(root / file.path) != file.after:
            text = f"{file.path}: does not hold what was written; something else writes there"
            raise EnvironmentFault(text, hint="stop it, and promote again", code="write-unverified")


def _digest_of(path: Path) -> str | None:
    return sha256_bytes(path.read_bytes()) if path.exists() else None


def _commit(target: Target, record: Recovery, message: str, step: Step) -> str:
    """Commit, and see that the commit holds the very bytes that it was to hold.

    Raises:
        EnvironmentFault: git or a hook refused, or a hook or filter changed a file.

    """
    repository = target.repository
    step("branch")
    if record.new_branch is not None:
        repository.switch_to_new(record.new_branch)
    step("commit")
    sha = repository.commit(record.paths, message)
    step("check")
    for file in record.files:
        data = repository.blob(sha, file.path)
        if (None if data is None else sha256_bytes(data)) != file.after:
            raise EnvironmentFault(
                f"a hook or filter of this repository changed {file.path} while it was committed",
                hint="let it leave promotion/ and the skills alone; nothing was promoted",
                code="commit-changed",
            )
    return sha


def _undo_or_tell(target: Target, record: Recovery, unwritten: set[str], error: BaseException) -> None:
    """Undo; where even that fails, the record stays and the error says how to go on.

    Raises:
        EnvironmentFault: Undoing failed as well.

    """
    try:
        undo(target, record, untouched=unwritten)
    except (EvolveError, OSError) as second:
        raise EnvironmentFault(
            f"{error}; and undoing it failed as well: {second}", hint="evolve promote --recover", code="not-undone"
        ) from error

"""Recovering from a commit that was being made when its process died: all of it, or none of it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from evolve.digest import sha256_bytes
from evolve.errors import EnvironmentFault, EvidenceFault, InputError
from evolve.files import fsync_folder, write_atomic, write_folder, writer_lock
from evolve.promote.git import Repository
from evolve.promote.ledger import workspace_ledger
from evolve.promote.places import clear_temporary, put, refuse_links
from evolve.promote.target import Target
from evolve.records.base import parse_json, read_json, write_json
from evolve.records.ledger import LedgerEntry
from evolve.records.recovery import RecoveredFile, Recovery
from evolve.workspace import Workspace

RECORD_FILE = "recovery.json"
BYTES_FOLDER = "bytes"
KEPT_FOLDER = "kept"
PROMOTE_LOCK = "promote.lock"
DYING_S = 2

Step = Callable[[str], None]


def no_step(_: str) -> None:
    """Take no notice of a step."""


@dataclass(frozen=True)
class Recovered:
    """How a recovery ended: the commit that stands, if one does, and which foreign bytes were put aside where."""

    kind: str
    commit: str | None
    kept: Mapping[str, str]


def told(recovered: Recovered | None) -> str:
    """Return what a recovery did, in words."""
    if recovered is None:
        return "nothing to recover: no promotion was cut off"
    name = "commit of evidence" if recovered.kind == "record" else recovered.kind
    ended = f"finished: it is commit {recovered.commit}" if recovered.commit else "undone: everything is as it was"
    lines = [f"the {name} that was cut off is {ended}"]
    lines += [f"{path} held something else; it is kept in {place}" for path, place in recovered.kept.items()]
    return "\n".join(lines)


def pending(workspace: Workspace) -> Recovery | None:
    """Return what a process was about to commit when it died or, while its lock is held, is about to commit."""
    path = workspace.promoting / RECORD_FILE
    return read_json(Recovery, path) if path.is_file() else None


def refuse_unfinished(workspace: Workspace) -> None:
    """Refuse to go on while a promotion is under way or cut off: the skill on disk may be neither text.

    Raises:
        InputError: The command that settles it is named.

    """
    if pending(workspace) is not None:
        text = "a promotion is under way, or was cut off"
        raise InputError(text, hint="evolve promote --recover", code="promotion-unfinished")


def write_recovery(workspace: Workspace, record: Recovery, contents: Collection[bytes]) -> None:
    """Write the record with the bytes that it names, all of it or nothing, before anything is changed."""

    def fill(new: Path) -> None:
        for data in contents:
            write_atomic(new / BYTES_FOLDER / sha256_bytes(data), data, mode=0o600)
        write_json(new / RECORD_FILE, record)

    write_folder(workspace.promoting, fill, staging=workspace.staging)


def forget(workspace: Workspace) -> None:
    """Take the record away: what it speaks of is over."""
    (workspace.promoting / RECORD_FILE).unlink(missing_ok=True)
    if workspace.promoting.is_dir():
        fsync_folder(workspace.promoting)
    shutil.rmtree(workspace.promoting, ignore_errors=True)


def recover(target: Target, *, step: Step = no_step) -> Recovered | None:
    """Finish or undo what a dead process left; ``None`` when there is nothing. It can be killed and run again.

    Raises:
        BusyError: Its process is alive.
        EnvironmentFault: git or the file system refuses; nothing is lost, and it can be run again.

    """
    workspace = target.workspace
    # a process that was killed holds its locks for a moment longer
    promoting = writer_lock(workspace.locks / PROMOTE_LOCK, "a promotion", wait_s=DYING_S)
    with promoting, workspace_ledger(workspace).held():
        return settle(target, step=step)


def settle(target: Target, *, step: Step = no_step) -> Recovered | None:
    """Do what :func:`recover` does, for a caller that holds its locks."""
    record = pending(target.workspace)
    if record is None:
        return None
    target.repository.check_unlocked()
    commit = whole_commit(target, record)
    kept = finish(target, record, commit, step=step) if commit else undo(target, record, step=step)
    return Recovered(record.kind, commit, kept)


def whole_commit(target: Target, record: Recovery) -> str | None:
    """Return the commit that was being made, if it was made and holds the very bytes that it was to hold."""
    for commit in _made(target.repository, record):
        if all(_digest(target.repository.blob(commit, file.path)) == file.after for file in record.files):
            return commit
    return None


def _made(repository: Repository, record: Recovery) -> list[str]:
    commits = repository.commits_with_trailer(record.trailer, record.trailer_value)
    return [commit.sha for commit in commits if repository.parent(commit.sha) == record.head]


def _digest(data: bytes | None) -> str | None:
    return None if data is None else sha256_bytes(data)


def finish(target: Target, record: Recovery, commit: str, *, step: Step = no_step) -> dict[str, str]:
    """Have the working tree and the index be as the commit has them; returns what was put aside."""
    kept: dict[str, str] = {}
    if target.repository.head() == commit:
        step("index")
        target.repository.refresh(record.paths)
        kept = _lay(target.workspace, record, new=True, foreign=True, step=step)
        gone = [Path(file.path).parent for file in record.files if file.after is None]
        _remove_empty(target.workspace.root, [folder for path in gone for folder in (path, *path.parents)])
    step("end")
    forget(target.workspace)
    return kept


def undo(target: Target, record: Recovery, *, untouched: Collection[str] = (), step: Step = no_step) -> dict[str, str]:
    """Bring back HEAD, branch, index and files; returns what was put aside.

    Args:
        target: The workspace and its repository.
        record: What was begun.
        untouched: Files that are known not to be ours yet: what they hold is somebody else's.
        step: Told the name of each step before it is taken.

    Raises:
        EnvironmentFault: The commit that must not stand has been built upon.

    """
    repository = target.repository
    broken = _made(repository, record)
    step("head")
    head = repository.head()
    if head not in (record.head, *broken) and any(repository.in_history(commit) for commit in broken):
        raise EnvironmentFault(
            f"commit {broken[0][:12]} does not hold what was to be committed, and has been built upon",
            hint=f"git revert {broken[0][:12]}, then: evolve promote --recover",
            code="recovery-blocked",
        )
    stayed = head in (record.head, *broken)
    if stayed:
        repository.back_to(record.head, record.branch, record.new_branch)
    elif record.new_branch and repository.tip(record.new_branch) in (record.head, *broken):
        repository.delete_branch(record.new_branch)
    step("index")
    repository.refresh(record.paths)
    kept = _lay(target.workspace, record, new=False, foreign=stayed, untouched=untouched, step=step)
    _remove_empty(target.workspace.root, [Path(folder) for folder in record.made_folders])
    step("end")
    forget(target.workspace)
    return kept


def _remove_empty(root: Path, folders: Collection[Path]) -> None:
    """Remove folders that hold nothing, which git would not keep, the innermost first."""
    for folder in sorted(set(folders), key=lambda one: len(one.parts), reverse=True):
        path = root / folder
        if folder.parts and path.is_dir() and not path.is_symlink() and not any(path.iterdir()):
            path.rmdir()


def _lay(
    workspace: Workspace,
    record: Recovery,
    *,
    new: bool,
    foreign: bool,
    untouched: Collection[str] = (),
    step: Step = no_step,
) -> dict[str, str]:
    """Have every file hold its new or its old bytes.

    What holds neither was written by a hook, or by whoever edited on since: with ``foreign`` it is put aside, so
    that nothing is lost; where HEAD is another by now, it stays.
    """
    kept = {}
    for file in record.files:
        if file.path in untouched:
            continue
        step(f"restore {file.path}")
        path = workspace.root / file.path
        refuse_links(workspace.root, file.path)
        clear_temporary(path)
        wanted, mode = (file.after, file.mode_after) if new else (file.before, file.mode_before)
        data = path.read_bytes() if path.exists() else None
        found = _digest(data)
        if found == wanted:
            continue
        if found not in (file.before, file.after):
            if not foreign or _goes_on(workspace, record, file, data, new=new):
                continue
            if data is not None:
                kept[file.path] = _put_aside(workspace, file, data)
        put(path, None if wanted is None else stored(workspace, wanted), mode)
    return kept


def _goes_on(workspace: Workspace, record: Recovery, file: RecoveredFile, data: bytes | None, *, new: bool) -> bool:
    """Whether a ledger has entries that others made since, which are never taken back.

    Raises:
        EnvironmentFault: They are chained to the entry that is to be undone.

    """
    if file.path != record.ledger or data is None:
        return False
    for digest in (file.after, file.before):
        start = b"" if digest is None else stored(workspace, digest)
        if not data.startswith(start):
            continue
        more = _begins_with_entry(data[len(start) :])
        if more and file.changes and digest == file.after and not new:
            text = f"{file.path}: has entries behind the one that is to be undone"
            raise EnvironmentFault(text, code="recovery-blocked")
        return more
    return False


def _begins_with_entry(data: bytes) -> bool:
    try:
        parse_json(LedgerEntry, data.split(b"\n")[0], "ledger")
    except InputError:
        return False
    return True


def _put_aside(workspace: Workspace, file: RecoveredFile, data: bytes) -> str:
    place = workspace.promoting.parent / KEPT_FOLDER / f"{sha256_bytes(data)[:12]}-{Path(file.path).name}"
    write_atomic(place, data)
    return workspace.relative(place)


def stored(workspace: Workspace, digest: str) -> bytes:
    """Return bytes that lie beside the record.

    Raises:
        EvidenceFault: They are not what they were.

    """
    path = workspace.promoting / BYTES_FOLDER / digest
    data = path.read_bytes() if path.is_file() else b""
    if sha256_bytes(data) != digest:
        raise EvidenceFault(f"{path}: not what it was", hint="git status; git checkout", code="recovery-damaged")
    return data

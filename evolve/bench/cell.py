"""One attempt at a cell, from a fresh folder to a row."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from evolve.agents.base import Agent, Session, SessionEnd
from evolve.bench.arms import PlanArm
from evolve.bench.ground import Ground
from evolve.corpus.beginnings import Beginning
from evolve.corpus.loading import LoadedTask
from evolve.digest import foreign_files, foreign_tree_digest, sha256_bytes
from evolve.errors import EvolveError
from evolve.hostile import read_below, remove_tree, write_fresh
from evolve.records.kinds import ErrorKind, Split
from evolve.records.plan import PlannedCell
from evolve.records.row import CheckOutcome, Delivered, Row, Usage
from evolve.records.task import ANSWER_FILE
from evolve.redact import redact
from evolve.sandbox.base import Sandbox
from evolve.scoring.patch import patch_of
from evolve.scoring.size import MAX_MEASURED_BYTES, Change, delivered
from evolve.scoring.submission import Submission
from evolve.scoring.verify import Said, judge, verify_and_tell
from evolve.skills import Skill, installed_fingerprint

Phase = Literal["workspace", "agent", "verify", "oracle"]

MAX_DETAIL_CHARS = 500
_NO_USAGE = Usage()


@dataclass(frozen=True)
class Attempt:
    """The row of an attempt, what is kept beside it (redacted), and whether the provider refused the account."""

    row: Row
    reply: str
    refused: bool = False
    transcript: str = ""
    recording: str = ""
    patch: str = ""
    checks: str = ""


@dataclass(frozen=True)
class _Measured:
    end: SessionEnd
    kind: ErrorKind | None
    detail: str = ""
    verify: CheckOutcome | None = None
    oracle: CheckOutcome | None = None
    work_sha256: str | None = None
    delivered: Delivered | None = None
    patch: str = ""
    said: tuple[Said, ...] = ()


@dataclass(frozen=True)
class Room:
    """The folders of one attempt: the work with what it begins with, and the installed skills."""

    root: Path
    ground: Ground = field(default_factory=Ground)
    shared: bool = False

    @classmethod
    def make(
        cls,
        task: LoadedTask,
        skills: Iterable[Skill],
        scratch: Path | None = None,
        ground: Ground | None = None,
        *,
        shared: bool = False,
    ) -> Room:
        """Make a fresh one below a scratch folder.

        Args:
            task: The task.
            skills: What is installed.
            scratch: The folder.
            ground: What the task stands on beside its seed files.
            shared: Whether the work is only read, so that it need not be copied.

        """
        ground = ground or Ground()
        root = Path(tempfile.mkdtemp(prefix="evolve-cell-", dir=scratch))
        room = cls(root, ground, shared and ground.beginning is not None)
        try:
            if not room.shared:
                ground.lay(task, room.work)
            room.skills.mkdir()
            for skill in skills:
                skill.files.write_scratch(room.skills / skill.name)
        except BaseException:
            room.remove()
            raise
        return room

    def changes(self, task: LoadedTask) -> list[Change]:
        """Return every file that is another than the one that the work began with.

        Raises:
            InputError: The work holds what cannot be read.

        """
        beginning = self.ground.beginning
        before = {path: entry.content for path, entry in task.seed.files.items()}
        now = dict(foreign_files(self.work))
        if beginning is None:
            then: Mapping[str, bytes | None] = before
        else:
            then = {path: None for path, _ in foreign_files(beginning.tree)}
        found = []
        for path in sorted({*then, *now}):
            old = then.get(path)
            if beginning is not None and path in then:
                old = read_below(beginning.tree, path, MAX_MEASURED_BYTES)
            new = read_below(self.work, path, MAX_MEASURED_BYTES) if path in now else None
            if old != new:
                found.append(Change(path, old, new))
        return found

    def caches(self) -> dict[str, Path]:
        """Return the writable folders of dependencies, by path in the work; each begins as it was copied."""
        found = {}
        for number, (path, source) in enumerate(self.ground.caches()):
            cache = self.root / "caches" / str(number)
            if not cache.exists():
                cache.mkdir(parents=True)
                if source.is_dir():
                    Beginning(source, "").copy_to(cache)
            found[path] = cache
        return found

    @property
    def work(self) -> Path:
        """Where the agent works."""
        return self.ground.beginning.tree if self.shared and self.ground.beginning else self.root / "work"

    @property
    def skills(self) -> Path:
        """Where the skills are installed."""
        return self.root / "skills"

    def remove(self) -> bool:
        """Remove it; false when something of it is left."""
        return remove_tree(self.root)


def _measure(
    cell: PlannedCell,
    task: LoadedTask,
    room: Room,
    agent: Agent,
    expects: str | None,
    sandbox: Sandbox,
    phase: Callable[[Phase], None],
) -> _Measured:
    expected = cell.identity.fingerprint
    if installed_fingerprint(room.skills) != expected:
        return _Measured(
            SessionEnd("", usage=_NO_USAGE), ErrorKind.CONTAMINATED, "the installed skill is not the planned one"
        )
    phase("agent")
    session = Session(
        task=task.task,
        work=room.work,
        skills=room.skills,
        seed=cell.identity.seed,
        expects=expects,
        room=room.root,
        patch=task.patch.decode("utf-8", errors="replace"),
        read_only=room.ground.mounts(),
        writable=room.caches(),
        shared=room.shared,
    )
    end = agent.run(session)
    if installed_fingerprint(room.skills) != expected:
        return _Measured(end, ErrorKind.CONTAMINATED, "the skill changed while the agent ran")
    if end.kind is not None:
        return _Measured(end, end.kind, end.detail)
    try:
        if task.task.replies and not room.shared:
            write_fresh(room.work / ANSWER_FILE, end.reply)
        work_digest = foreign_tree_digest(room.work)
        changes = [] if task.task.replies else room.changes(task)
        size = None if task.task.replies else delivered(changes)
        # Of a hidden task nothing is kept that a proposer could come by.
        patch = patch_of(changes) if task.task.split is Split.TRAIN else ""
    except (EvolveError, OSError) as error:
        return _Measured(end, ErrorKind.VERIFY_FAILED, f"its work cannot be read: {error}")
    try:
        return replace(_graded(task, end, room, sandbox, work_digest, phase), delivered=size, patch=patch)
    except (EvolveError, OSError) as error:
        return _Measured(end, ErrorKind.INFRA_ERROR, str(error))


def _graded(
    task: LoadedTask, end: SessionEnd, room: Room, sandbox: Sandbox, work_digest: str, phase: Callable[[Phase], None]
) -> _Measured:
    submission = Submission(reply=end.reply, folder=room.work, mounts=room.ground.mounts())
    phase("verify")
    verified, said = verify_and_tell(task, submission, sandbox)
    phase("oracle")
    judged = judge(task, submission, sandbox)
    kind = None if judged.passed else ErrorKind.ORACLE_FAILED
    kind = kind if verified.passed else ErrorKind.VERIFY_FAILED
    return _Measured(end, kind, verify=verified, oracle=judged, work_sha256=work_digest, said=said)


def run_cell(
    cell: PlannedCell,
    task: LoadedTask,
    arm: PlanArm,
    agent: Agent,
    sandbox: Sandbox,
    *,
    attempt: int,
    make_room: Callable[[], Room] | None = None,
    phase: Callable[[Phase], None] = lambda _: None,
) -> Attempt:
    """Make one attempt at a cell; whatever goes wrong is told by the row's error kind.

    Args:
        cell: What is measured.
        task: Its task.
        arm: Its arm.
        agent: Who works.
        sandbox: Where what was written is executed by checks.
        attempt: The number of this attempt, from 1.
        make_room: Gives the attempt's fresh folders; by default they are made below the system's temporary folder.
        phase: Told what begins.

    """
    room: Room | None = None
    try:
        phase("workspace")
        room = make_room() if make_room else Room.make(task, arm.loaded)
        measured = _measure(cell, task, room, agent, arm.expects, sandbox, phase)
    except (EvolveError, OSError) as error:
        measured = _Measured(SessionEnd("", usage=_NO_USAGE), ErrorKind.INFRA_ERROR, str(error))
    finally:
        removed = room is None or room.remove()
    if room is not None and not removed:
        measured = _Measured(measured.end, ErrorKind.CLEANUP_FAILURE, f"{room.root} could not be removed")
    return _attempt(cell, attempt, measured)


def _attempt(cell: PlannedCell, attempt: int, measured: _Measured) -> Attempt:
    """Return the row of what was measured, and what is kept beside it, without secrets."""
    reply, transcript = redact(measured.end.reply), redact(measured.end.transcript)
    recording = redact(measured.end.recording)
    row = Row(
        key=cell.identity.digest(),
        identity=cell.identity,
        arm=cell.arm,
        role=cell.role,
        split=cell.split,
        attempt=attempt,
        kind=measured.kind,
        detail=redact(measured.detail)[:MAX_DETAIL_CHARS],
        resolved=measured.kind is None,
        verify=measured.verify,
        oracle=measured.oracle,
        usage=measured.end.usage,
        reply_sha256=sha256_bytes(reply.encode("utf-8")) if reply else None,
        transcript_sha256=sha256_bytes(transcript.encode("utf-8")) if transcript else None,
        recording_sha256=sha256_bytes(recording.encode("utf-8")) if recording else None,
        work_sha256=measured.work_sha256,
        delivered=measured.delivered,
        measured_at=datetime.now(UTC),
    )
    return Attempt(
        row=row,
        reply=reply,
        refused=measured.end.refused,
        transcript=transcript,
        recording=recording,
        patch=redact(measured.patch),
        checks=_told(measured.said),
    )


def _told(said: tuple[Said, ...]) -> str:
    """Return what checks said as it is kept, without secrets; nothing where none said anything."""
    if not any(one.output for one in said):
        return ""
    return json.dumps([{**asdict(one), "output": redact(one.output)} for one in said], ensure_ascii=False, indent=1)

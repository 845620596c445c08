"""One attempt at a cell, from a fresh folder to a row."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from evolve.agents.base import Agent, Session, SessionEnd
from evolve.corpus.loading import LoadedTask
from evolve.digest import sha256_bytes, sha256_json
from evolve.errors import EvolveError
from evolve.records.kinds import ErrorKind
from evolve.records.plan import PlannedCell
from evolve.records.row import CheckOutcome, Row, Usage
from evolve.redact import redact
from evolve.sandbox.base import Sandbox
from evolve.scoring.submission import Submission
from evolve.scoring.verify import judge, verify
from evolve.skills import Skill
from evolve.snapshot import Snapshot

MAX_DETAIL_CHARS = 500
_NO_USAGE = Usage()


@dataclass(frozen=True)
class Attempt:
    """The row of an attempt, the redacted reply that it rests on, and whether the provider refused the account."""

    row: Row
    reply: str
    refused: bool = False


@dataclass(frozen=True)
class _Measured:
    end: SessionEnd
    kind: ErrorKind | None
    detail: str = ""
    verify: CheckOutcome | None = None
    oracle: CheckOutcome | None = None
    work_sha256: str | None = None


def installed_fingerprint(skills: Path) -> str:
    """Return the fingerprint of the skills installed below a folder."""
    return sha256_json({folder.name: Snapshot.read(folder).digest for folder in sorted(skills.iterdir())})


def _measure(
    cell: PlannedCell, task: LoadedTask, skill: Skill, agent: Agent, sandbox: Sandbox, root: Path
) -> _Measured:
    work, skills = root / "work", root / "skills"
    task.seed.write_scratch(work)
    skill.files.write_scratch(skills / skill.name)
    expected = cell.identity.fingerprint
    if installed_fingerprint(skills) != expected:
        return _Measured(
            SessionEnd("", usage=_NO_USAGE), ErrorKind.CONTAMINATED, "the installed skill is not the planned one"
        )
    end = agent.run(Session(task=task.task, work=work, skills=skills, seed=cell.identity.seed))
    if installed_fingerprint(skills) != expected:
        return _Measured(end, ErrorKind.CONTAMINATED, "the skill changed while the agent ran")
    if end.kind is not None:
        return _Measured(end, end.kind, end.detail)
    work_digest = Snapshot.read(work).digest
    submission = Submission(reply=end.reply, folder=work)
    verified = verify(task, submission, sandbox)
    judged = judge(task, submission, sandbox)
    kind = None if judged.passed else ErrorKind.ORACLE_FAILED
    kind = kind if verified.passed else ErrorKind.VERIFY_FAILED
    return _Measured(end, kind, verify=verified, oracle=judged, work_sha256=work_digest)


def run_cell(
    cell: PlannedCell, task: LoadedTask, skill: Skill, agent: Agent, sandbox: Sandbox, *, attempt: int
) -> Attempt:
    """Make one attempt at a cell; whatever goes wrong is told by the row's error kind."""
    root = Path(tempfile.mkdtemp(prefix="evolve-cell-"))
    try:
        measured = _measure(cell, task, skill, agent, sandbox, root)
    except (EvolveError, OSError) as error:
        measured = _Measured(SessionEnd("", usage=_NO_USAGE), ErrorKind.INFRA_ERROR, str(error))
    finally:
        shutil.rmtree(root, ignore_errors=True)
    if root.exists():
        measured = _Measured(measured.end, ErrorKind.CLEANUP_FAILURE, f"{root} could not be removed")
    reply = redact(measured.end.reply)
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
        work_sha256=measured.work_sha256,
        measured_at=datetime.now(UTC),
    )
    return Attempt(row=row, reply=reply, refused=measured.end.refused)

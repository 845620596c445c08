"""Scoring the kept replies of a sweep again: after a check was mended, no model is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from evolve.bench.measured import measured_rows
from evolve.bench.reuse import stored_reply
from evolve.corpus.loading import LoadedTask
from evolve.errors import EvidenceFault, InputError
from evolve.files import write_atomic
from evolve.records.base import jsonl_bytes
from evolve.records.kinds import ErrorKind
from evolve.records.row import Row
from evolve.records.task import ANSWER_FILE
from evolve.replies.file_blocks import read_edits
from evolve.sandbox.base import Sandbox
from evolve.scoring.submission import Submission
from evolve.scoring.verify import judge, verify
from evolve.scratch import short_lived
from evolve.snapshot import FileEntry

SCORED = (None, ErrorKind.VERIFY_FAILED, ErrorKind.ORACLE_FAILED)


@dataclass(frozen=True)
class Rescored:
    """The new rows of a sweep, beside the old ones."""

    path: Path
    pairs: tuple[tuple[Row, Row], ...]

    @property
    def changed(self) -> tuple[tuple[Row, Row], ...]:
        """The rows whose verdict is another now."""
        return tuple((old, new) for old, new in self.pairs if old.resolved != new.resolved)


def _score(row: Row, task: LoadedTask, reply: str, sandbox: Sandbox) -> Row:
    with short_lived("rescore") as scratch:
        work = Path(scratch) / "work"
        edits = {ANSWER_FILE: reply}
        if task.task.kind == "edit":
            edits = read_edits(reply, tuple(sorted(task.seed.files)))
        task.seed.replaced({p: FileEntry(text.encode()) for p, text in edits.items()}).write_scratch(work)
        submission = Submission(reply=reply, folder=work)
        verified, judged = verify(task, submission, sandbox), judge(task, submission, sandbox)
    kind = None if judged.passed else ErrorKind.ORACLE_FAILED
    kind = kind if verified.passed else ErrorKind.VERIFY_FAILED
    identity = row.identity.model_copy(update={"task_sha256": task.task_sha256, "oracle_sha256": task.oracle_sha256})
    changes = {"identity": identity, "key": identity.digest(), "kind": kind, "resolved": kind is None}
    return row.model_copy(update={**changes, "verify": verified, "oracle": judged})


def rescore(sweep: Path, tasks: Mapping[str, LoadedTask], sandbox: Sandbox) -> Rescored:
    """Run the checks of today over the replies of a sweep, and write the new rows beside the old.

    Rows that no check decided (void ones, time-outs, no work) are left as they are.

    Raises:
        InputError: The sweep has no rows, or a task is gone.
        EvidenceFault: A reply is gone.

    """
    rows = measured_rows(sweep)
    if not rows:
        raise InputError(f"{sweep.name}: no such sweep, or it has no rows", hint="evolve report lists what there is")
    pairs = []
    for row in rows:
        new = row
        if row.kind in SCORED:
            if row.identity.task not in tasks:
                raise InputError(f"{sweep.name}: the task {row.identity.task} is not in the corpus", code="no-task")
            new = _score(row, tasks[row.identity.task], _reply(sweep, row), sandbox)
        pairs.append((row, new))
    number = len(list(sweep.glob("rescored-*.jsonl"))) + 1
    path = sweep / f"rescored-{number}.jsonl"
    write_atomic(path, jsonl_bytes([new for _, new in pairs]))
    return Rescored(path, tuple(pairs))


def _reply(sweep: Path, row: Row) -> str:
    if row.reply_sha256 is None:
        return ""
    try:
        return stored_reply(sweep, row.reply_sha256).read_text(encoding="utf-8")
    except OSError as error:
        raise EvidenceFault(f"{sweep.name}: the reply of {row.identity.task} is gone", code="reply-gone") from error

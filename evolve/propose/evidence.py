"""What an operator may see: the train tasks and the train rows, nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from evolve.bench.reuse import stored_reply
from evolve.corpus.leaks import reference_reply
from evolve.corpus.loading import Corpus, LoadedTask
from evolve.digest import sha256_json
from evolve.errors import InputError
from evolve.propose.sections import Example
from evolve.records.kinds import Split
from evolve.records.row import Row
from evolve.replies.file_blocks import user_message


@dataclass(frozen=True)
class TrainFailure:
    """A train task that failed: the reply, the right one, and the rule of the check that failed."""

    task: str
    user: str
    reply: str
    correct: str
    rule: str


@dataclass(frozen=True)
class TrainRows:
    """Train rows of one text, and the sweep that holds them."""

    rows: tuple[Row, ...]
    sweep: Path


@dataclass(frozen=True)
class TrainEvidence:
    """The train tasks of a skill, where a text of it failed on them, and the rows that say so, sweep by sweep."""

    tasks: tuple[LoadedTask, ...]
    failures: tuple[TrainFailure, ...]
    measured: tuple[TrainRows, ...] = ()

    def digest(self) -> str:
        """Return the digest of what the operators saw."""
        return sha256_json([[f.task, f.reply, f.rule] for f in self.failures])


def failed_rule(task: LoadedTask, row: Row) -> str:
    """Return the rule of the check that a train row failed."""
    failed = row.verify.failed_check if row.verify and not row.verify.passed else None
    failed = failed or (row.oracle.failed_check if row.oracle else None)
    checks = (*task.task.verify, *task.oracle.checks)
    return next((check.rule for check in checks if check.id == failed), row.detail)


def worked_example(task: LoadedTask) -> Example:
    """Return a task as a worked example, in the exact form in which the agent sees and answers it."""
    return Example(user=user_message(task.task.prompt, task.seed.texts()), reply=reference_reply(task))


def train_evidence(corpus: Corpus, skill: str, rows: Sequence[Row], sweep: Path) -> TrainEvidence:
    """Read the evidence about a skill out of train rows.

    Raises:
        InputError: A row is of another split; operators must never see it.

    """
    failures = []
    tasks = {task.id: task for task in corpus.of(skill, Split.TRAIN)}
    for row in rows:
        if row.split is not Split.TRAIN:
            raise InputError(f"{row.identity.task}: a {row.split} row must not reach an operator", code="split-hygiene")
        task = tasks.get(row.identity.task)
        if task is None or row.resolved or row.void:
            continue
        example = worked_example(task)
        path = stored_reply(sweep, row.reply_sha256) if row.reply_sha256 else None
        reply = path.read_text(encoding="utf-8") if path and path.exists() else ""
        failures.append(TrainFailure(task.id, example.user, reply, example.reply, failed_rule(task, row)))
    return TrainEvidence(tuple(tasks.values()), tuple(failures), (TrainRows(tuple(rows), sweep),))

"""Grading a submission: the checks in order, the oracle staged only now."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from evolve.corpus.loading import LoadedTask
from evolve.errors import InputError
from evolve.records.checks import (
    Check,
    CodeBlockCheck,
    CommandCheck,
    ContainsCheck,
    EqualsCheck,
    IniOptionsCheck,
    JsonCheck,
    JsonObjectCheck,
    JsonValueCheck,
    LineCheck,
    PythonCallsCheck,
    ReadCheck,
    RegexCheck,
    ReviewCheck,
)
from evolve.records.kinds import Split
from evolve.records.row import CheckOutcome, ReviewFigures
from evolve.sandbox.base import Sandbox
from evolve.scoring import code_checks, text_checks
from evolve.scoring.review import read_review, score_review
from evolve.scoring.submission import Submission
from evolve.scratch import short_lived
from evolve.snapshot import Snapshot


@dataclass(frozen=True)
class Verdict:
    """What one check says: whether it passes, its score from 0 to 1, and what a review's figures are."""

    passed: bool
    score: float
    review: ReviewFigures | None = None
    output: str = ""


@dataclass(frozen=True)
class CheckVerdict:
    """A verdict with the check that it is of, and where that stands."""

    where: Literal["verify", "oracle"]
    check: Check
    passed: bool
    output: str


@dataclass(frozen=True)
class Said:
    """What one public check said of a submission: a command's output, where it has one."""

    check: str
    passed: bool
    output: str


def all_verdicts(task: LoadedTask, submission: Submission, sandbox: Sandbox) -> list[CheckVerdict]:
    """Return what every check of a task says, with its output: for testing instruments, never for a cell.

    Raises:
        EnvironmentFault: The sandbox does not work.

    """
    found = [("verify", check, verdict_of(check, submission, sandbox, None)) for check in task.task.verify]
    with _staged(task) as oracle:
        found += [("oracle", check, verdict_of(check, submission, sandbox, oracle)) for check in task.oracle.checks]
    return [
        CheckVerdict("verify" if where == "verify" else "oracle", check, verdict.passed, verdict.output)
        for where, check, verdict in found
    ]


@contextlib.contextmanager
def _staged(task: LoadedTask) -> Iterator[Path | None]:
    """Stage the oracle's files at a random path, where a check wants them."""
    if not any(isinstance(check, CommandCheck) for check in task.oracle.checks):
        yield None
        return
    with short_lived("oracle") as scratch:
        staged = Path(scratch) / "oracle"
        Snapshot(task.oracle_files.files).write_scratch(staged)
        yield staged


def verdict_of(check: Check, submission: Submission, sandbox: Sandbox, oracle: Path | None) -> Verdict:
    """Return what one check says of a submission."""
    if isinstance(check, ReviewCheck):
        return _review(check, submission)
    if isinstance(check, PythonCallsCheck | CommandCheck):
        passed, output = _executed(check, submission, sandbox, oracle)
        return Verdict(passed, float(passed), output=output)
    passed = read_check_passes(check, submission)
    return Verdict(passed, float(passed))


def _review(check: ReviewCheck, submission: Submission) -> Verdict:
    try:
        found = score_review(read_review(submission.reply), check, submission.file_text)
    except InputError as error:
        return Verdict(False, 0.0, output=error.message)
    return Verdict(found.passed, found.score, found.figures)


def _executed(
    check: PythonCallsCheck | CommandCheck, submission: Submission, sandbox: Sandbox, oracle: Path | None
) -> tuple[bool, str]:
    if isinstance(check, PythonCallsCheck):
        return code_checks.python_calls(check, submission, sandbox)
    return code_checks.command(check, submission, sandbox, oracle)


def passes(check: Check, submission: Submission, sandbox: Sandbox, oracle: Path | None) -> bool:
    """Whether a submission passes one check."""
    return verdict_of(check, submission, sandbox, oracle).passed


def read_check_passes(check: ReadCheck, submission: Submission) -> bool:
    """Whether a submission passes a check that only reads."""
    match check:
        case JsonObjectCheck():
            return text_checks.json_object(check, submission)
        case JsonValueCheck():
            return text_checks.json_value(check, submission)
        case LineCheck():
            return text_checks.line(check, submission)
        case EqualsCheck():
            return text_checks.equals(check, submission)
        case JsonCheck():
            return text_checks.json_any(check, submission)
        case ContainsCheck():
            return text_checks.contains(check, submission)
        case RegexCheck():
            return text_checks.regex(check, submission)
        case CodeBlockCheck():
            return text_checks.code_block(check, submission)
        case IniOptionsCheck():
            return text_checks.ini_options(check, submission)


def _verdicts(
    checks: tuple[Check, ...], submission: Submission, sandbox: Sandbox, oracle: Path | None
) -> list[tuple[str, Verdict]]:
    return [(check.id, verdict_of(check, submission, sandbox, oracle)) for check in checks]


def _grade(verdicts: list[tuple[str, Verdict]], *, tell: bool) -> CheckOutcome:
    failed = next((identifier for identifier, verdict in verdicts if not verdict.passed), None)
    score = sum(verdict.score for _, verdict in verdicts) / len(verdicts) if verdicts else 1.0
    review = next((verdict.review for _, verdict in verdicts if verdict.review is not None), None)
    return CheckOutcome(
        passed=failed is None, score=round(score, 6), failed_check=failed if tell else None, review=review
    )


def verify(task: LoadedTask, submission: Submission, sandbox: Sandbox) -> CheckOutcome:
    """Run the public checks; which one failed is told for train tasks only."""
    return verify_and_tell(task, submission, sandbox)[0]


def verify_and_tell(
    task: LoadedTask, submission: Submission, sandbox: Sandbox
) -> tuple[CheckOutcome, tuple[Said, ...]]:
    """Run the public checks, and return beside the outcome what each said; of train tasks only."""
    tell = task.task.split is Split.TRAIN
    verdicts = _verdicts(task.task.verify, submission, sandbox, None)
    said = tuple(Said(identifier, verdict.passed, verdict.output) for identifier, verdict in verdicts if tell)
    return _grade(verdicts, tell=tell), said


def judge(task: LoadedTask, submission: Submission, sandbox: Sandbox) -> CheckOutcome:
    """Run the hidden checks over an oracle that is staged for this call alone.

    Raises:
        EnvironmentFault: The sandbox does not work.

    """
    tell = task.task.split is Split.TRAIN
    with _staged(task) as oracle:
        return _grade(_verdicts(task.oracle.checks, submission, sandbox, oracle), tell=tell)

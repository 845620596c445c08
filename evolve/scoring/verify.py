"""Grading a submission: the checks in order, the oracle staged only now."""

from __future__ import annotations

from pathlib import Path

from evolve.corpus.loading import LoadedTask
from evolve.records.checks import (
    Check,
    CodeBlockCheck,
    CommandCheck,
    EqualsCheck,
    IniOptionsCheck,
    JsonObjectCheck,
    JsonValueCheck,
    LineCheck,
    PythonCallsCheck,
)
from evolve.records.kinds import Split
from evolve.records.row import CheckOutcome
from evolve.sandbox.base import Sandbox
from evolve.scoring import code_checks, text_checks
from evolve.scoring.submission import Submission
from evolve.scratch import short_lived
from evolve.snapshot import Snapshot


def passes(check: Check, submission: Submission, sandbox: Sandbox, oracle: Path | None) -> bool:
    """Whether a submission passes one check."""
    match check:
        case JsonObjectCheck():
            return text_checks.json_object(check, submission)
        case JsonValueCheck():
            return text_checks.json_value(check, submission)
        case LineCheck():
            return text_checks.line(check, submission)
        case EqualsCheck():
            return text_checks.equals(check, submission)
        case CodeBlockCheck():
            return text_checks.code_block(check, submission)
        case IniOptionsCheck():
            return text_checks.ini_options(check, submission)
        case PythonCallsCheck():
            return code_checks.python_calls(check, submission, sandbox)
        case CommandCheck():
            return code_checks.command(check, submission, sandbox, oracle)


def _grade(
    checks: tuple[Check, ...], submission: Submission, sandbox: Sandbox, oracle: Path | None, *, tell: bool
) -> CheckOutcome:
    verdicts = [(check.id, passes(check, submission, sandbox, oracle)) for check in checks]
    failed = next((identifier for identifier, passed in verdicts if not passed), None)
    score = sum(passed for _, passed in verdicts) / len(verdicts) if verdicts else 1.0
    return CheckOutcome(passed=failed is None, score=score, failed_check=failed if tell else None)


def verify(task: LoadedTask, submission: Submission, sandbox: Sandbox) -> CheckOutcome:
    """Run the public checks; which one failed is told for train tasks only."""
    tell = task.task.split is Split.TRAIN
    return _grade(task.task.verify, submission, sandbox, None, tell=tell)


def judge(task: LoadedTask, submission: Submission, sandbox: Sandbox) -> CheckOutcome:
    """Run the hidden checks over an oracle that is staged for this call alone.

    Raises:
        EnvironmentFault: The sandbox does not work.

    """
    tell = task.task.split is Split.TRAIN
    if not any(isinstance(check, CommandCheck) for check in task.oracle.checks):
        return _grade(task.oracle.checks, submission, sandbox, None, tell=tell)
    with short_lived("oracle") as scratch:
        staged = Path(scratch) / "oracle"
        Snapshot(task.oracle_files.files).write_scratch(staged)
        return _grade(task.oracle.checks, submission, sandbox, staged, tell=tell)

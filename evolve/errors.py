"""The one exception family, and the exit codes that a scheduler can rely on."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """Process exit codes; "nothing was promoted" is ``DONE``, a broken tool is ``BROKEN``."""

    DONE = 0
    BROKEN = 1
    USAGE = 2
    BUDGET = 3
    AUDIT_FAULT = 4
    INTERRUPTED = 130


class EvolveError(Exception):
    """An error that a user can act on.

    Args:
        message: What was wrong and where (file, line, field).
        hint: What to do next, usually a command.
        code: A stable machine-readable name.

    """

    exit_code = ExitCode.BROKEN
    default_code = "error"

    def __init__(self, message: str, *, hint: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.code = code or self.default_code


class InputError(EvolveError):
    """Usage or input that is invalid; nothing has been written."""

    exit_code = ExitCode.USAGE
    default_code = "invalid-input"


class EnvironmentFault(EvolveError):
    """A tool, a file system, a model or another part of the environment does not work."""

    exit_code = ExitCode.BROKEN
    default_code = "broken-environment"


class EvidenceFault(EvolveError):
    """Evidence is missing, incomplete or does not hold."""

    exit_code = ExitCode.BROKEN
    default_code = "unusable-evidence"


class BudgetExhausted(EvolveError):
    """What may be spent cannot cover the next cell; what was paid for is kept."""

    exit_code = ExitCode.BUDGET
    default_code = "budget-exhausted"


class BusyError(EvolveError):
    """Another process is writing what this one wants to write."""

    exit_code = ExitCode.BROKEN
    default_code = "busy"

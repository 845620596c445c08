"""The exception family."""

from __future__ import annotations

import pytest

from evolve.errors import BusyError, EnvironmentFault, EvidenceFault, EvolveError, ExitCode, InputError
from evolve.models.base import ModelFault, ModelTimeout


@pytest.mark.parametrize(
    ("error", "exit_code", "code"),
    [
        (EvolveError, 1, "error"),
        (InputError, 2, "invalid-input"),
        (EnvironmentFault, 1, "broken-environment"),
        (EvidenceFault, 1, "unusable-evidence"),
        (BusyError, 1, "busy"),
        (ModelFault, 1, "model-fault"),
        (ModelTimeout, 1, "model-timeout"),
    ],
)
def test_each_error_has_its_exit_code_and_its_machine_name(error: type[EvolveError], exit_code: int, code: str) -> None:
    raised = error("what and where")
    assert (raised.exit_code, raised.code, raised.hint) == (exit_code, code, None)
    assert isinstance(raised, EvolveError)


def test_an_error_keeps_message_hint_and_a_code_of_its_own() -> None:
    error = InputError("a.yaml:3: id: no", hint="rename it", code="task-id")
    assert (str(error), error.message, error.hint, error.code) == (
        "a.yaml:3: id: no",
        "a.yaml:3: id: no",
        "rename it",
        "task-id",
    )


def test_the_exit_codes_are_those_that_the_design_names() -> None:
    assert {code.name: int(code) for code in ExitCode} == {
        "DONE": 0,
        "BROKEN": 1,
        "USAGE": 2,
        "BUDGET": 3,
        "AUDIT_FAULT": 4,
        "INTERRUPTED": 130,
    }

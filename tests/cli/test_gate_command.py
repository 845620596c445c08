"""What ``evolve gate`` says to a name that names nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import CommandLine
from tests.worlds import ScriptedModel


@pytest.mark.parametrize("named", ["", "/", ".", "nope", "promotion"])
def test_what_is_neither_a_sweep_nor_evidence_is_said_to_be_so(
    workspace: Path, model: ScriptedModel, evolve: CommandLine, named: str
) -> None:
    assert evolve("measure", "--skill", "bracket").code == 0
    ran = evolve("gate", named)
    assert ran.code == 2
    assert "neither a sweep nor evidence" in ran.err

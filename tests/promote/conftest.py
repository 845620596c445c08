"""A workspace with one measured, promotable overlay."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from evolve.promote.evidence import Evidence, read_evidence
from tests.conftest import CommandLine
from tests.worlds import ScriptedModel


@dataclass
class Measured:
    """The workspace, the overlay's folder and the folder of its evidence."""

    root: Path
    overlay: str
    folder: Path

    def evidence(self) -> Evidence:
        return read_evidence(self.folder)

    @property
    def skill(self) -> Path:
        return self.root / "skills/bracket/SKILL.md"


@pytest.fixture
def measured(workspace: Path, model: ScriptedModel, evolve: CommandLine) -> Measured:
    overlay = evolve("propose", "--operator", "demonstrate", "--json").json()[0]["overlay"]
    value = evolve("benchmark", overlay, "--json").json()
    assert value["decision"]["outcome"] == "promote"
    return Measured(workspace, overlay, workspace / value["evidence"])

"""A workspace with one measured, promotable overlay; measured once, copied for each test."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from evolve.cli import bench_opening
from evolve.cli.main import main
from evolve.promote.evidence import Evidence, read_evidence
from tests.worlds import ScriptedModel, make_workspace


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


@pytest.fixture(scope="session")
def measured_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bench_opening, "build_model", lambda *_: ScriptedModel())
        root = make_workspace(tmp_path_factory.mktemp("measured") / "workspace")
        patch.chdir(root)
        assert main(["propose", "--operator", "demonstrate"]) == 0
        assert main(["benchmark", f"overlays/{next((root / 'overlays').iterdir()).name}"]) == 0
    yield root


@pytest.fixture
def measured(measured_once: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: ScriptedModel) -> Measured:
    root = tmp_path / "workspace"
    shutil.copytree(measured_once, root, symlinks=True)
    monkeypatch.chdir(root)
    overlay = next((root / "overlays").iterdir())
    folder = next((root / "promotion/bracket").iterdir())
    found = Measured(root, overlay.relative_to(root).as_posix(), folder)
    assert found.evidence().promotion.decision.outcome == "promote"
    return found

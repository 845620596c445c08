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
from tests.worlds import ScriptedModel, git, make_workspace


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


def write_several_files(root: Path) -> str:
    """Write an overlay that changes two files of the skill, adds one in a new folder and deletes two."""
    folder = root / "overlays/several/skills/bracket"
    (folder / "references").mkdir(parents=True)
    text = (root / "skills/bracket/SKILL.md").read_text()
    (folder / "SKILL.md").write_text(text + "\n## Examples\n\nUser: the number 7\nReply: <7>\n")
    (folder / "notes.md").write_text("Better notes.\n")
    (folder / "references/forms.md").write_text("Forms.\n")
    at = "skills/bracket"
    spec = f"schema: evolve/overlay@1\nskills: [bracket]\nadds: [{at}/references/forms.md]\n"
    (root / "overlays/several/overlay.yaml").write_text(f"{spec}deletes: [{at}/old.md, {at}/scraps/old.txt]\n")
    return "overlays/several"


def mirror(root: Path) -> None:
    """Have the workspace's skill stand in a second root as well."""
    spec = root / "evolve.yaml"
    spec.write_text(spec.read_text().replace("schema:", "skill_roots: [skills, .agents/skills]\nschema:", 1))
    shutil.copytree(root / "skills", root / ".agents/skills")


@pytest.fixture(scope="session")
def several_files_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bench_opening, "build_model", lambda *_: ScriptedModel())
        root = make_workspace(tmp_path_factory.mktemp("several") / "workspace")
        skill = root / "skills/bracket"
        (skill / "scraps").mkdir()
        for name in ("notes.md", "old.md", "kept.md", "scraps/old.txt"):
            (skill / name).write_text(f"{name}\n")
        mirror(root)
        git(root, "add", "--all")
        git(root, "commit", "--quiet", "--message", "Notes")
        patch.chdir(root)
        assert main(["benchmark", write_several_files(root)]) == 0
    yield root


def copy_of(root: Path, place: Path) -> Measured:
    """Copy a measured workspace."""
    shutil.copytree(root, place, symlinks=True)
    overlay = next(path for path in (place / "overlays").iterdir() if path.is_dir())
    return Measured(place, overlay.relative_to(place).as_posix(), next((place / "promotion/bracket").iterdir()))


@pytest.fixture
def several_files(several_files_once: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Measured:
    found = copy_of(several_files_once, tmp_path / "workspace")
    monkeypatch.chdir(found.root)
    assert found.evidence().promotion.decision.outcome == "promote"
    assert len(found.evidence().promotion.overlay_files) == 3
    return found

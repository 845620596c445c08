"""Finding and loading a workspace: a git repository with an ``evolve.yaml``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from evolve.errors import InputError
from evolve.records.base import read_yaml
from evolve.records.policy import Policy
from evolve.records.workspace import WorkspaceSpec
from evolve.sandbox.hidden import hide
from evolve.skills import Skill, read_skills

WORKSPACE_FILE = "evolve.yaml"
POLICY_FILE = "policy.yaml"


@dataclass(frozen=True)
class Workspace:
    """A workspace's root and its ``evolve.yaml``."""

    root: Path
    spec: WorkspaceSpec

    @property
    def corpus(self) -> Path:
        """The folder of tasks."""
        return self.root / self.spec.corpus

    @property
    def overlays(self) -> Path:
        """The folder of candidate overlays."""
        return self.root / self.spec.overlays

    @property
    def promotion(self) -> Path:
        """The folder of policy, ledger and evidence."""
        return self.root / self.spec.promotion

    @property
    def sweeps(self) -> Path:
        """The folder of sweeps."""
        return self.root / self.spec.results / "sweeps"

    @property
    def generations(self) -> Path:
        """The folder of generations."""
        return self.root / self.spec.results / "generations"

    @property
    def beginnings(self) -> Path:
        """The folder of what the work of tasks begins with: clean repositories, and copies of dependencies."""
        return self.root / self.spec.results / ".beginnings"

    @property
    def locks(self) -> Path:
        """The folder of lock files; like all results it is not tracked."""
        return self.root / self.spec.results / ".locks"

    @property
    def staging(self) -> Path:
        """Where folders are filled before they are moved into place."""
        return self.root / self.spec.results / ".staging"

    @property
    def promoting(self) -> Path:
        """What a commit that is being made would be undone with."""
        return self.root / self.spec.results / ".promoting"

    def skills(self) -> dict[str, Skill]:
        """Read the incumbent skills as they are on disk."""
        return read_skills(self.root, self.spec.skill_roots)

    def skill(self, name: str) -> Skill:
        """Read one incumbent skill.

        Raises:
            InputError: There is none of this name.

        """
        skills = self.skills()
        if name not in skills:
            raise InputError(f"no skill named {name!r}", hint=f"skills here: {', '.join(skills)}", code="no-skill")
        return skills[name]

    def policy(self) -> Policy:
        """Read ``policy.yaml``.

        Raises:
            InputError: It is missing or invalid.

        """
        if not (self.promotion / POLICY_FILE).exists():
            raise InputError(f"{self.promotion / POLICY_FILE}: no such file", hint="evolve init writes one")
        return read_yaml(Policy, self.promotion / POLICY_FILE)

    def relative(self, path: Path) -> str:
        """Return a path relative to the workspace where it lies inside, for messages and records."""
        return path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else str(path)


def find_workspace(start: Path) -> Workspace:
    """Load the workspace that a folder lies in.

    Raises:
        InputError: No folder from here upwards holds an ``evolve.yaml``, or it is invalid.

    """
    start = start.resolve()
    for folder in (start, *start.parents):
        if (folder / WORKSPACE_FILE).is_file():
            hide(folder)
            return Workspace(root=folder, spec=read_yaml(WorkspaceSpec, folder / WORKSPACE_FILE))
    raise InputError(
        f"{start}: not inside a workspace (no {WORKSPACE_FILE} here or above)",
        hint="make one with: evolve init",
        code="no-workspace",
    )

"""An arm as it is measured: the skill it is about, what it loads, and who works."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from evolve.agents.base import Agent
from evolve.overlays import FrozenOverlay, apply_overlay
from evolve.records.kinds import Role
from evolve.records.plan import Arm
from evolve.skills import Skill, fingerprint_of


@dataclass(frozen=True)
class PlanArm:
    """An arm before it is planned.

    Args:
        name: Its name.
        role: What it is in the comparison.
        skill: The skill that the comparison is about, as this arm has it.
        overlay_sha256: The overlay in it, for candidates.
        loads: What is installed; by default the skill alone.
        agent: Who works; by default the agent of the sweep.

    """

    name: str
    role: Role
    skill: Skill
    overlay_sha256: str | None = None
    loads: tuple[Skill, ...] | None = None
    agent: Agent | None = None

    @property
    def loaded(self) -> tuple[Skill, ...]:
        """The skills that are installed for it."""
        return (self.skill,) if self.loads is None else self.loads

    @property
    def fingerprint(self) -> str:
        """Digest of every file that it loads."""
        return fingerprint_of(self.loaded)

    @property
    def expects(self) -> str | None:
        """The skill that must be seen to be used, if it is installed at all."""
        return self.skill.name if any(skill.name == self.skill.name for skill in self.loaded) else None

    def agent_identity(self, sweeps: dict[str, Any]) -> dict[str, Any]:
        """Return the identity of its agent, where the sweep's own is given."""
        return sweeps if self.agent is None else self.agent.identity

    def record(self) -> Arm:
        """Return the arm as it stands in a plan."""
        return Arm(
            name=self.name,
            role=self.role,
            skill=self.skill.name,
            skills={skill.name: skill.files.digest for skill in self.loaded},
            fingerprint=self.fingerprint,
            overlay_sha256=self.overlay_sha256,
            agent=None if self.agent is None else self.agent.identity,
        )


INCUMBENT_ARM, CANDIDATE_ARM, CONTROL_ARM = "incumbent", "candidate", "control"
CANDIDATE_SUFFIX = "-candidate"


def candidate_name(incumbent: str) -> str:
    """Return the name of the candidate's arm beside an arm with the incumbent's text."""
    return CANDIDATE_ARM if incumbent == INCUMBENT_ARM else f"{incumbent}{CANDIDATE_SUFFIX}"


def control_arm(incumbent: PlanArm) -> PlanArm:
    """Return an arm that differs from the incumbent in its name alone (A/A)."""
    return replace(incumbent, name=CONTROL_ARM, role=Role.CONTROL)


def incumbent_arm(skill: Skill, beside: tuple[Skill, ...] = ()) -> PlanArm:
    """Return the arm of a skill as it is committed, with further skills installed beside it."""
    return PlanArm(name="incumbent", role=Role.INCUMBENT, skill=skill, loads=(skill, *beside))


def candidate_arm(incumbent: PlanArm, overlay: FrozenOverlay, name: str = "candidate") -> PlanArm:
    """Return the incumbent's arm with an overlay applied: nothing else differs."""
    skill = apply_overlay(incumbent.skill, overlay)
    loads = tuple(skill if loaded.name == skill.name else loaded for loaded in incumbent.loaded)
    return replace(incumbent, name=name, role=Role.CANDIDATE, skill=skill, loads=loads, overlay_sha256=overlay.digest)

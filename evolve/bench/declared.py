"""The arms that a workspace declares, made for the skill that a comparison is about."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from evolve.agents.base import Agent
from evolve.bench.arms import PlanArm, incumbent_arm
from evolve.bench.compress import compress
from evolve.errors import EvolveError, InputError
from evolve.overlays import apply_overlay, read_overlay
from evolve.records.agent import SUBJECT, AgentSpec
from evolve.records.arm import SHIPPED_ARMS, ArmSpec
from evolve.records.kinds import Role
from evolve.skills import SKILL_FILE, Skill, split_frontmatter, with_body
from evolve.snapshot import FileEntry
from evolve.workspace import Workspace


def _cannot_build(spec: AgentSpec) -> Agent:
    raise InputError(f"no agent of the adapter {spec.adapter} can be made here", code="no-agent")


@dataclass
class DeclaredArms:
    """Makes arms; an agent that differs from the workspace's is built once, when an arm first needs it."""

    workspace: Workspace
    build: Callable[[AgentSpec], Agent] = _cannot_build
    _agents: dict[str, Agent] = field(default_factory=dict)

    def incumbent(self, skill: Skill) -> PlanArm:
        """Return the arm of a skill as it is committed.

        Raises:
            InputError: A skill that is to be installed beside it is not there.

        """
        names = [name for name in self.workspace.spec.agent.skills if name not in (SUBJECT, skill.name)]
        return incumbent_arm(skill, tuple(self._beside(name, "agent") for name in names))

    def comparator(self, name: str, skill: Skill) -> PlanArm:
        """Return a declared or shipped comparator.

        Raises:
            InputError: There is no such arm, or it cannot be what it is declared to be.

        """
        spec, base = self._spec(name), self.workspace.spec.agent
        try:
            agent_spec = spec.agent_spec(base)
        except ValueError as error:
            raise InputError(f"arm {name}: {error}", hint="see arms in evolve.yaml", code="unfit-arm") from error
        version = self._version(name, spec, skill)
        loads = tuple(
            version if wanted in (SUBJECT, skill.name) else self._beside(wanted, f"arms.{name}")
            for wanted in dict.fromkeys(agent_spec.skills)
        )
        arm = PlanArm(name, Role.COMPARATOR, version, loads=loads)
        same = agent_spec.model_copy(update={"skills": base.skills}) == base
        if same and arm.fingerprint == self.incumbent(skill).fingerprint:
            raise InputError(f"arm {name}: it differs in nothing from the incumbent", code="no-difference")
        return arm if same else replace(arm, agent=self._agent(name, agent_spec))

    def required_arm(self, name: str, skill: Skill) -> PlanArm:
        """Return a required arm with the incumbent's text: another agent, or other settings, that uses the skill.

        Raises:
            InputError: There is no such arm, or it cannot be what it is declared to be.

        """
        arm = self.comparator(name, skill)
        if arm.expects is None or arm.skill.files.digest != skill.files.digest:
            raise InputError(
                f"evolve.yaml: required: the arm {name} does not use {skill.name} as it is committed",
                hint="a required arm has another agent or other settings, and the skill's own text",
                code="unfit-arm",
            )
        return replace(arm, role=Role.INCUMBENT)

    def rivals(self, skill: Skill, told: Callable[[str], None] = lambda _: None) -> tuple[str, ...]:
        """Return the comparators that every benchmark measures, but for those that differ in nothing for this skill.

        Raises:
            InputError: One of them cannot be what it is declared to be.

        """
        found = []
        for name in self.workspace.spec.rivals:
            try:
                self.comparator(name, skill)
            except InputError as error:
                if error.code != "no-difference":
                    raise
                told(f"{error.message}; it is left out")
            else:
                found.append(name)
        return tuple(found)

    def _spec(self, name: str) -> ArmSpec:
        try:
            return self.workspace.spec.arm(name)
        except KeyError as error:
            known = ", ".join(dict.fromkeys([*self.workspace.spec.arms, *SHIPPED_ARMS]))
            raise InputError(f"no arm named {name!r}", hint=f"arms here: {known}", code="no-arm") from error

    def _beside(self, name: str, where: str) -> Skill:
        skills = self.workspace.skills()
        if name not in skills:
            raise InputError(
                f"evolve.yaml: {where}.skills: no skill named {name!r}",
                hint=f"skills here: {', '.join(skills)}",
                code="no-skill",
            )
        return skills[name]

    def _version(self, name: str, spec: ArmSpec, skill: Skill) -> Skill:
        """Return the text of the skill that an arm has."""
        if spec.compressed:
            return compressed_skill(name, skill)
        if spec.overlay is None:
            return skill
        try:
            overlay = read_overlay(self.workspace.root / spec.overlay, self.workspace.skills())
        except InputError as error:
            raise InputError(f"evolve.yaml: arms.{name}.overlay: {error.message}", code=error.code) from error
        if overlay.skill != skill.name:
            raise InputError(
                f"evolve.yaml: arms.{name}.overlay: {spec.overlay} is about {overlay.skill}, not {skill.name}",
                code="overlay-scope",
            )
        return apply_overlay(skill, overlay)

    def _agent(self, name: str, spec: AgentSpec) -> Agent:
        if name not in self._agents:
            try:
                self._agents[name] = self.build(spec)
            except EvolveError as error:
                told = re.sub(r"^evolve\.yaml: (agent\.)?", f"evolve.yaml: arms.{name}.", error.message)
                raise type(error)(told, hint=error.hint, code=error.code) from error
        return self._agents[name]


def compressed_skill(arm: str, skill: Skill) -> Skill:
    """Return a skill without the words that can be spared; its name, description and other files stay.

    Raises:
        InputError: Nothing of it can be spared.

    """
    body = compress(skill.body)
    if body == skill.body:
        raise InputError(f"arm {arm}: nothing of {skill.folder} can be spared", code="no-difference")
    text = with_body(skill.text, body) if split_frontmatter(skill.text)[0] else body
    files = skill.files.replaced({SKILL_FILE: FileEntry(text.encode("utf-8"))})
    return Skill(name=skill.name, folder=skill.folder, files=files)

"""Measuring arms of a workspace: from a request to the rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from evolve.agents.base import Agent
from evolve.bench.estimate import History, Totals, totals
from evolve.bench.journal import JOURNAL_FILE
from evolve.bench.measured import measured_rows
from evolve.bench.plan import Group, PlanArm, SweepRequest, make_plan
from evolve.bench.reuse import ReuseIndex, build_index
from evolve.bench.runner import PLAN_FILE, Means, Progress, RunOptions, SweepResult, prompt_bytes, run_sweep
from evolve.corpus.loading import Corpus
from evolve.digest import sha256_json
from evolve.errors import InputError
from evolve.overlays import FrozenOverlay, apply_overlay, read_overlay, write_overlay
from evolve.records.base import read_json
from evolve.records.kinds import Role
from evolve.records.plan import Arm, Plan, Purpose
from evolve.records.policy import Policy
from evolve.records.row import Row
from evolve.sandbox.base import Sandbox
from evolve.skills import Skill
from evolve.workspace import Workspace

FROZEN_FOLDER = "overlays"


@dataclass(frozen=True)
class Bench:
    """A workspace as it is measured: its corpus, policy, agent and graders' sandbox."""

    workspace: Workspace
    corpus: Corpus
    policy: Policy
    agent: Agent
    sandbox: Sandbox
    progress: Progress
    options: RunOptions = field(default_factory=RunOptions)

    def request(self, purpose: Purpose, context: str, groups: tuple[Group, ...], runs: int) -> SweepRequest:
        """Return the request of a sweep."""
        return SweepRequest(
            purpose=purpose,
            context=context,
            groups=groups,
            runs=runs,
            agent=self.agent.identity,
            sandbox=self.sandbox,
        )

    def plan(self, request: SweepRequest, *, reuse: bool | str) -> Plan:
        """Plan a sweep; one that has begun keeps the plan it began with.

        Args:
            request: What is to be measured.
            reuse: Whether rows of any earlier sweep may be reused, or the one sweep whose rows may be.

        Raises:
            InputError: There is no sweep of that name.

        """
        path = self.workspace.sweeps / request.sweep_id() / PLAN_FILE
        if path.exists():
            return read_json(Plan, path)
        now = datetime.now(UTC)
        index = ReuseIndex()
        if reuse is not False:
            only = reuse if isinstance(reuse, str) else None
            if only is not None and not (self.workspace.sweeps / only / JOURNAL_FILE).exists():
                raise InputError(f"--reuse: no sweep named {only!r}", hint="--reuse auto takes what it finds")
            days = self.policy.reuse_max_age_days
            index = build_index(self.workspace.sweeps, now=now, max_age_days=days, only=only)
        return make_plan(request, self.policy, index, now)

    def totals(self, request: SweepRequest, plan: Plan) -> Totals:
        """Add a plan up: what it costs at the most, what it should cost by the rows that exist, what reuse saves."""
        rows = (row for path in self.workspace.sweeps.glob(f"*/{JOURNAL_FILE}") for row in measured_rows(path.parent))
        worst: dict[str, int | None] = {}
        for group in request.groups:
            longest = max(len(arm.skill.body.encode()) for arm in group.arms)
            for task in group.tasks:
                worst[task.id] = self.agent.worst_cost_micros(task.task.limits, prompt_bytes(task, longest))
        return totals(plan, History.of(rows, sha256_json(request.agent)), worst)

    def run(
        self,
        request: SweepRequest,
        plan: Plan,
        overlays: tuple[FrozenOverlay, ...] = (),
        enough: Callable[[tuple[Row, ...]], bool] | None = None,
    ) -> SweepResult:
        """Run a sweep to its end; frozen copies of its overlays lie in its folder, for a resume."""
        folder = self.workspace.sweeps / plan.sweep
        for overlay in overlays:
            frozen = folder / FROZEN_FOLDER / overlay.digest[:12]
            if not frozen.exists():
                write_overlay(frozen, overlay)
        skills = {arm.name: arm.skill for arm in request.arms}
        return run_sweep(folder, plan, self._means(skills), replace(self.options, enough=enough))

    def measure(
        self,
        purpose: Purpose,
        context: str,
        groups: tuple[Group, ...],
        runs: int,
        *,
        reuse: bool,
        overlays: tuple[FrozenOverlay, ...] = (),
    ) -> SweepResult:
        """Plan and run a sweep."""
        request = self.request(purpose, context, groups, runs)
        return self.run(request, self.plan(request, reuse=reuse), overlays)

    def resume(self, folder: Path) -> SweepResult:
        """Finish a sweep from its folder.

        Raises:
            InputError: It is no sweep, or a skill, task or agent has changed since it was planned.

        """
        plan = read_json(Plan, folder / PLAN_FILE)
        incumbents = self.workspace.skills()
        skills = {arm.name: self._planned_skill(folder, arm, incumbents) for arm in plan.arms}
        for cell in plan.cells:
            task = self.corpus.get(cell.identity.task)
            if (task.task_sha256, task.oracle_sha256) != (cell.identity.task_sha256, cell.identity.oracle_sha256):
                raise _changed(folder, f"task {task.id}")
        if plan.agent != self.agent.identity:
            raise _changed(folder, "the agent or its model")
        return run_sweep(folder, plan, self._means(skills), self.options)

    def _planned_skill(self, folder: Path, arm: Arm, incumbents: dict[str, Skill]) -> Skill:
        skill = incumbents.get(arm.skill)
        if skill is not None and arm.role is Role.CANDIDATE and arm.overlay_sha256 is not None:
            frozen = read_overlay(folder / FROZEN_FOLDER / arm.overlay_sha256[:12], incumbents)
            skill = apply_overlay(skill, frozen)
        if skill is None or skill.fingerprint != arm.fingerprint:
            raise _changed(folder, f"skill {arm.skill} (arm {arm.name})")
        return skill

    def _means(self, skills: dict[str, Skill]) -> Means:
        return Means(
            agent=self.agent,
            sandbox=self.sandbox,
            tasks={task.id: task for task in self.corpus.tasks},
            skills=skills,
            sweeps=self.workspace.sweeps,
            progress=self.progress,
        )


def _changed(folder: Path, what: str) -> InputError:
    return InputError(
        f"{folder}: {what} is not what it was when the sweep was planned",
        hint="bring it back, or start a new sweep; this one's rows stay",
        code="sweep-outdated",
    )


def incumbent_arm(skill: Skill) -> PlanArm:
    """Return the arm of a skill as it is committed."""
    return PlanArm(name="incumbent", role=Role.INCUMBENT, skill=skill)


def candidate_arm(skill: Skill, overlay: FrozenOverlay, name: str = "candidate") -> PlanArm:
    """Return the arm of a skill with an overlay applied."""
    return PlanArm(name=name, role=Role.CANDIDATE, skill=apply_overlay(skill, overlay), overlay_sha256=overlay.digest)

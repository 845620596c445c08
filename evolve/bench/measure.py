"""Measuring arms of a workspace: from a request to the rows."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from evolve.agents.base import Agent
from evolve.bench.arms import PlanArm, candidate_arm
from evolve.bench.books import PLAN_FILE, first_of_each_arm, open_cells
from evolve.bench.declared import DeclaredArms
from evolve.bench.estimate import History, Totals, totals
from evolve.bench.forecast import Forecast, forecast
from evolve.bench.ground import Grounds
from evolve.bench.identity import cell_identity
from evolve.bench.journal import JOURNAL_FILE, read_state
from evolve.bench.means import Means
from evolve.bench.measured import stream_rows
from evolve.bench.plan import Group, SweepRequest, make_plan
from evolve.bench.progress import Progress
from evolve.bench.reuse import ReuseIndex, build_index
from evolve.bench.runner import RunOptions, SweepResult, begin_sweep, run_sweep
from evolve.corpus.loading import Corpus
from evolve.digest import sha256_json
from evolve.errors import EvolveError, InputError
from evolve.overlays import FrozenOverlay, read_overlay, write_overlay
from evolve.records.agent import AgentSpec
from evolve.records.base import read_json
from evolve.records.kinds import Role
from evolve.records.plan import Arm, Plan, Purpose
from evolve.records.policy import Policy
from evolve.records.row import Row
from evolve.sandbox.base import Sandbox
from evolve.sandbox.box_preflight import find_box
from evolve.sandbox.host_box import HostBox
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
    build: Callable[[AgentSpec], Agent] | None = None
    ground: Grounds | None = None

    @cached_property
    def arms(self) -> DeclaredArms:
        """The arms that the workspace declares."""
        return DeclaredArms(self.workspace, self.build) if self.build else DeclaredArms(self.workspace)

    def request(
        self, purpose: Purpose, context: str, groups: tuple[Group, ...], runs: int, first_run: int = 0
    ) -> SweepRequest:
        """Return the request of a sweep.

        Raises:
            InputError: An arm's agent could never resolve one of the tasks.

        """
        for group in groups:
            for arm in group.arms:
                self._refuse_unfit(arm, group)
        for group in groups:
            self._refuse_twins(group)
        groups = tuple(replace(group, tasks=tuple(map(self.grounds.stood, group.tasks))) for group in groups)
        return SweepRequest(
            purpose=purpose,
            context=context,
            groups=groups,
            runs=runs,
            agent=self.agent.identity,
            sandbox=self.sandbox,
            left_out=self._left_out(groups),
            first_run=first_run,
        )

    def _left_out(self, groups: tuple[Group, ...]) -> tuple[str, ...]:
        """Return the expensive tasks of the same skills and splits that are not at hand."""
        wanted = {(group.arms[0].skill.name, task.task.split) for group in groups for task in group.tasks}
        return tuple(sorted({name for skill, split in wanted for name in self.corpus.left_out(skill, split)}))

    def _refuse_twins(self, group: Group) -> None:
        """Refuse two arms of one text and one agent: rows of one would stand in for the other's."""
        seen: dict[str, str] = {}
        for arm in group.arms:
            if arm.role is Role.CONTROL:
                continue
            key = sha256_json([arm.fingerprint, arm.agent_identity(self.agent.identity)])
            if key in seen:
                hint = "give one of them something that can change an outcome, or leave it out"
                raise InputError(
                    f"arms {seen[key]} and {arm.name} differ in nothing that counts", hint=hint, code="no-difference"
                )
            seen[key] = arm.name

    @cached_property
    def grounds(self) -> Grounds:
        """What tasks stand on beside their seed files."""
        if self.ground is not None:
            return self.ground
        box = HostBox if self.options.unsafe_host else find_box
        return Grounds(self.workspace, self.corpus, box, self.progress.note)

    def _refuse_unfit(self, arm: PlanArm, group: Group) -> None:
        agent = arm.agent or self.agent
        for task in group.tasks:
            if (reason := agent.unfit_for(task.task)) is not None:
                raise InputError(f"arm {arm.name}: task {task.id}: {reason}", code="unfit-arm")

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
            repeatable = request.agent.get("repeatable") is True
            index = build_index(self.workspace.sweeps, now=now, max_age_days=days, only=only, repeatable=repeatable)
        return make_plan(request, self.policy, index, now)

    def forecast(self, request: SweepRequest, plan: Plan, refusal: str | None) -> tuple[list[Forecast], Totals]:
        """Say what will happen to each cell of a plan, and add it up; nothing is spent or written.

        Args:
            request: What is to be measured.
            plan: Its plan.
            refusal: Why the sweep would not be begun, if that is so.

        """
        state = read_state(self.workspace.sweeps / plan.sweep / JOURNAL_FILE)
        history = self._history({cell.identity.agent_sha256 for cell in plan.cells})
        means = self._means(_arms_of(request), history)
        worst = means.worst_micros
        warm = first_of_each_arm(open_cells(plan, state)) if plan.cache == "warm" and refusal is None else []
        costs = [means.worst_micros(cell, warm_up=True) for cell in warm]
        beside = None if None in costs else sum(cost or 0 for cost in costs)
        limit = self.options.budget.limits.usd_micros
        left = None if limit is None else max(0, limit - state.booked_micros)
        cells = forecast(plan, state, self.options.budget.limits, worst, refusal, beside)
        found = totals(cells, history, lambda cell: _times(worst(cell), plan.max_attempts), beside)
        refused = replace(found, upper_micros=0, drift_micros=0)
        return cells, refused if refusal is not None else found.within(left)

    def refuse_unpriced(self, request: SweepRequest) -> None:
        """Refuse a limit of money that cannot be kept, before anything is begun.

        Raises:
            InputError: Nobody can say what a cell may cost.

        """
        if self.options.budget.limits.usd_micros is None:
            return
        means = self._means(_arms_of(request))
        for group in request.groups:
            for arm in group.arms:
                for task in group.tasks:
                    if means.worst_of(task, arm) is None:
                        raise InputError(
                            f"--max-usd: nobody can say what a cell of {task.id} may cost (arm {arm.name})",
                            hint="evolve.yaml: the model's price: {input_usd: …, output_usd: …}; a program's max_usd",
                            code="unknown-price",
                        )

    def _history(self, agents: Collection[str]) -> History:
        """Return what cells of some agents cost before."""
        sweeps = sorted(path.parent for path in self.workspace.sweeps.glob(f"*/{JOURNAL_FILE}"))
        rows = (row for sweep in sweeps for row in _readable_rows(sweep))
        return History.of(rows, agents)

    def begin(self, plan: Plan, overlays: tuple[FrozenOverlay, ...]) -> bool:
        """Write down that a sweep begins, before anything is spent; false when it had begun already.

        Frozen copies of its overlays lie in its folder before its journal does, for a resume.
        """
        folder = self.workspace.sweeps / plan.sweep
        for overlay in overlays:
            frozen = folder / FROZEN_FOLDER / overlay.digest[:12]
            if not frozen.exists():
                write_overlay(frozen, overlay, staging=self.workspace.staging)
        return begin_sweep(folder, plan)

    def run(
        self,
        request: SweepRequest,
        plan: Plan,
        overlays: tuple[FrozenOverlay, ...] = (),
        enough: Callable[[tuple[Row, ...]], bool] | None = None,
    ) -> SweepResult:
        """Run a sweep to its end."""
        folder = self.workspace.sweeps / plan.sweep
        self.begin(plan, overlays)
        return run_sweep(folder, plan, self._means(_arms_of(request)), replace(self.options, enough=enough))

    def measure(
        self,
        purpose: Purpose,
        context: str,
        groups: tuple[Group, ...],
        runs: int,
        *,
        reuse: bool | str,
        overlays: tuple[FrozenOverlay, ...] = (),
        first_run: int = 0,
    ) -> SweepResult:
        """Plan and run a sweep."""
        request = self.request(purpose, context, groups, runs, first_run)
        return self.run(request, self.plan(request, reuse=reuse), overlays)

    def resume(self, folder: Path) -> SweepResult:
        """Finish a sweep from its folder.

        Raises:
            InputError: It is no sweep, or a skill, task or agent has changed since it was planned.

        """
        plan = read_json(Plan, folder / PLAN_FILE)
        incumbents = self.workspace.skills()
        arms = {arm.name: self._planned_arm(folder, arm, incumbents) for arm in plan.arms}
        for cell in plan.cells:
            task = self.corpus.get(cell.identity.task)
            if (task.task_sha256, task.oracle_sha256) != (cell.identity.task_sha256, cell.identity.oracle_sha256):
                raise _changed(folder, f"task {task.id}")
            here = cell_identity(task, cell.identity.fingerprint, plan.agent_of(cell.arm), self.sandbox, 0).sandbox
            if here != cell.identity.sandbox:
                raise _changed(folder, "what contains agents and graders")
            if self.grounds.of(task).digest != cell.identity.beginning_sha256:
                raise _changed(folder, f"what task {task.id} begins with")
        if plan.agent != self.agent.identity:
            raise _changed(folder, "the agent or its model")
        return run_sweep(folder, plan, self._means(arms), self.options)

    def _planned_arm(self, folder: Path, arm: Arm, incumbents: dict[str, Skill]) -> PlanArm:
        skill = incumbents.get(arm.skill)
        if skill is None:
            raise _changed(folder, f"skill {arm.skill} (arm {arm.name})")
        found = self.arms.incumbent(skill)
        if arm.role is Role.CANDIDATE and arm.overlay_sha256 is not None:
            frozen = read_overlay(folder / FROZEN_FOLDER / arm.overlay_sha256[:12], incumbents)
            found = candidate_arm(found, frozen, arm.name)
        elif arm.role is not Role.INCUMBENT:
            found = self.arms.comparator(arm.name, skill)
        if found.fingerprint != arm.fingerprint:
            raise _changed(folder, f"skill {arm.skill} (arm {arm.name})")
        if found.record().agent != arm.agent:
            raise _changed(folder, f"the agent of arm {arm.name}")
        return replace(found, name=arm.name)

    def _means(self, arms: dict[str, PlanArm], history: History | None = None) -> Means:
        if history is None and self.options.budget.limits.usd_micros is not None:
            history = self._history({sha256_json(arm.agent_identity(self.agent.identity)) for arm in arms.values()})
        return Means(
            agent=self.agent,
            sandbox=self.sandbox,
            tasks={task.id: task for task in self.corpus.tasks},
            arms=arms,
            sweeps=self.workspace.sweeps,
            progress=self.progress,
            largest_micros=history.largest_micros if history else {},
            ground_of=self.grounds.of,
        )


def _times(micros: int | None, attempts: int) -> int | None:
    return None if micros is None else micros * attempts


def _arms_of(request: SweepRequest) -> dict[str, PlanArm]:
    return {arm.name: arm for arm in request.arms}


def _readable_rows(sweep: Path) -> Iterator[Row]:
    """Yield the rows of a sweep; one that is damaged says nothing about costs."""
    with contextlib.suppress(EvolveError, OSError):
        for _, row in stream_rows(sweep):
            yield row


def _changed(folder: Path, what: str) -> InputError:
    return InputError(
        f"{folder}: {what} is not what it was when the sweep was planned",
        hint="bring it back, or start a new sweep; this one's rows stay",
        code="sweep-outdated",
    )

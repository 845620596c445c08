"""Planning a sweep: which cells, in which order, fresh or reused."""

from __future__ import annotations

import random
import sys
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from evolve.bench.arms import PlanArm
from evolve.bench.identity import cell_identity, cell_seed
from evolve.bench.reuse import ReuseIndex
from evolve.corpus.loading import LoadedTask
from evolve.digest import sha256_json
from evolve.records.base import lean
from evolve.records.kinds import Role
from evolve.records.plan import Plan, PlannedCell, Purpose, Source
from evolve.records.policy import Policy
from evolve.records.row import CellIdentity
from evolve.sandbox.base import Sandbox


@dataclass(frozen=True)
class Group:
    """Arms that are compared with one another over the same tasks."""

    arms: tuple[PlanArm, ...]
    tasks: tuple[LoadedTask, ...]


@dataclass(frozen=True)
class SweepRequest:
    """What a sweep is to measure; the same request has the same id.

    ``agent`` is the identity of the agent of every arm that has none of its own; ``left_out`` are tasks that would
    belong to it and are expensive.
    """

    purpose: Purpose
    context: str
    groups: tuple[Group, ...]
    runs: int
    agent: dict[str, Any]
    sandbox: Sandbox
    left_out: tuple[str, ...] = ()
    first_run: int = 0

    @property
    def arms(self) -> tuple[PlanArm, ...]:
        """All arms of all groups."""
        return tuple(arm for group in self.groups for arm in group.arms)

    def sweep_id(self) -> str:
        """Return the id: purpose, skill, and a digest of everything that is to be measured."""
        content = [
            [arm.record().json_value() for arm in self.arms],
            [
                [task.id, task.task_sha256, task.oracle_sha256, task.beginning_sha256]
                for group in self.groups
                for task in group.tasks
            ],
            [self.purpose, self.context, self.runs, self.agent, *([self.first_run] if self.first_run else [])],
            cell_identity(self.groups[0].tasks[0], "0" * 64, self.agent, self.sandbox, 0).runtime_sha256,
            self.sandbox.name,
        ]
        names = {arm.skill.name for arm in self.arms}
        name = next(iter(names)) if len(names) == 1 else "all-skills"
        return f"{self.purpose}-{name}-{sha256_json(content)[:12]}"


@dataclass(frozen=True, slots=True)
class _Slot:
    arm: PlanArm
    task: LoadedTask
    run: int
    identity: CellIdentity


def balanced_orders(arms: int, blocks: int, rng: random.Random) -> list[list[int]]:
    """Return the order of the arms in each block; each arm goes first equally often, within one.

    Args:
        arms: How many arms there are.
        blocks: How many (task, run) blocks there are.
        rng: The seeded source of order.

    """
    base = list(range(arms))
    rng.shuffle(base)
    turns = [(block % arms, (block // arms) % 2 == 1) for block in range(blocks)]
    rng.shuffle(turns)
    orders = []
    for shift, backwards in turns:
        rotated = base[shift:] + base[:shift]
        # Backwards every other time round, so that of any two arms each goes before the other equally often.
        orders.append([rotated[0], *reversed(rotated[1:])] if backwards else rotated)
    return orders


def orders_of(group: Group, blocks: int, rng: random.Random) -> list[list[int]]:
    """Return the order of a group's arms in each block.

    Comparators and the control go before or after the others in turn, never between them: incumbent and candidate run
    next to each other, and neither is closer to the others more often.
    """
    others = (Role.COMPARATOR, Role.CONTROL)
    beside = [number for number, arm in enumerate(group.arms) if arm.role in others]
    compared = [number for number in range(len(group.arms)) if number not in beside]
    if not beside or not compared:
        return balanced_orders(len(group.arms), blocks, rng)
    first = balanced_orders(len(compared), blocks, rng)
    others_first = balanced_orders(len(beside), blocks, rng)
    after = [block % 2 == 0 for block in range(blocks)]
    rng.shuffle(after)
    orders = []
    for pair, rest, last in zip(first, others_first, after, strict=True):
        ours, theirs = [compared[place] for place in pair], [beside[place] for place in rest]
        orders.append(ours + theirs if last else theirs + ours)
    return orders


def _slots(request: SweepRequest, seed: str) -> list[_Slot]:
    slots = []
    for number, group in enumerate(request.groups):
        rng = random.Random(f"{seed}-{number}")
        tasks = list(group.tasks)
        runs = range(request.first_run, request.first_run + request.runs)
        blocks = [(run, task) for run in runs for task in rng.sample(tasks, len(tasks))]
        orders = orders_of(group, len(blocks), rng)
        first_runs = {
            (task.id, arm.name): cell_identity(task, fingerprint, agent, request.sandbox, 0)
            for arm, fingerprint, agent in (
                (arm, arm.fingerprint, arm.agent_identity(request.agent)) for arm in group.arms
            )
            for task in tasks
        }
        for (run, task), order in zip(blocks, orders, strict=True):
            for position in order:
                arm = group.arms[position]
                update = {"run": run, "seed": cell_seed(task.id, run)}
                identity = lean(first_runs[task.id, arm.name].model_copy(update=update))
                slots.append(_Slot(arm=arm, task=task, run=run, identity=identity))
    return slots


def _choose_canaries(found: dict[int, Source], slots: list[_Slot], canaries: int, seed: str) -> set[int]:
    """Choose, among the cells that each arm reuses from each sweep, those that are paid for afresh."""
    pools: dict[tuple[str, str], list[int]] = {}
    for index, slot in enumerate(slots):
        if index in found:
            pools.setdefault((slot.arm.name, found[index].sweep), []).append(index)
    chosen: set[int] = set()
    for (name, sweep), cells in sorted(pools.items()):
        chosen.update(random.Random(f"{seed}-canary-{name}-{sweep}").sample(cells, min(canaries, len(cells))))
    return chosen


def make_plan(request: SweepRequest, policy: Policy, index: ReuseIndex, now: datetime) -> Plan:
    """Plan every cell of a sweep, with what will happen to it and why."""
    sweep = request.sweep_id()
    slots = _slots(request, sweep)
    found: dict[int, Source] = {}
    reasons: dict[int, str] = {}
    for number, slot in enumerate(slots):
        if slot.arm.role in (Role.CANDIDATE, Role.CONTROL):
            reasons[number] = f"a {slot.arm.role.value}'s cell"
            continue
        reusable = index.find(slot.identity.digest())
        if isinstance(reusable, str):
            reasons[number] = reusable
        else:
            found[number] = reusable.source
            reasons[number] = sys.intern(f"measured {reusable.measured_at:%Y-%m-%d} in {reusable.sweep}")
    canaries = _choose_canaries(found, slots, policy.canaries, sweep)
    cells = tuple(
        lean(
            PlannedCell(
                index=number,
                arm=slot.arm.name,
                role=slot.arm.role,
                split=slot.task.task.split,
                identity=slot.identity,
                action="canary" if number in canaries else "reuse" if number in found else "fresh",
                reason=reasons[number],
                source=found.get(number),
            )
        )
        for number, slot in enumerate(slots)
    )
    return Plan(
        sweep=sweep,
        purpose=request.purpose,
        context=request.context,
        created_at=now,
        runs=request.runs,
        first_run=request.first_run,
        drift_level=policy.drift.level,
        max_attempts=policy.max_attempts,
        outage_streak=policy.outage_streak,
        cache=policy.cache,
        agent=request.agent,
        arms=tuple(arm.record() for arm in request.arms),
        left_out=request.left_out,
        cells=cells,
    )

"""``evolve power``."""

from __future__ import annotations

import math
import statistics
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import click

from evolve.cli.opening import here
from evolve.cli.output import emit, json_option, table
from evolve.cli.run_options import expensive_option
from evolve.errors import InputError

if TYPE_CHECKING:
    from evolve.gate.planning import SeenDesign, SimulatedPower, Spread
    from evolve.promote.accounts import Account, Measured
    from evolve.records.policy import Policy
    from evolve.records.workspace import WorkspaceSpec
    from evolve.workspace import Workspace

USUAL_RUNS = (1, 2, 3, 5, 10)
MOST_SHOWN = 6
# Simulating larger sweeps takes longer than one cares to wait.
MOST_CELLS = 600


class _Number(click.FloatRange):
    """A finite number within bounds."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Refuse what lies in no range."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is no number", param, ctx)
        return number


_SHARE = _Number(0, 1)
_INNER = _Number(0, 1, min_open=True, max_open=True)


@dataclass(frozen=True)
class Asked:
    """What the command line asks for."""

    runs: tuple[int, ...]
    tasks: tuple[int, ...]
    points: float | None
    rate: float | None
    rate_candidate: float | None
    between: float | None
    alpha: float | None
    power: float


@click.command("power", short_help="Show what the next look could prove, with how many tasks and runs, at what price.")
@click.argument("skill", required=False)
@click.option("--runs", multiple=True, type=click.IntRange(1, 1000), help="Runs a task and arm; may be repeated.")
@click.option("--tasks", multiple=True, type=click.IntRange(1, 1000), help="Sealed tasks; may be repeated.")
@click.option("--effect", "points", type=_Number(0, 100, min_open=True), metavar="POINTS", help="A gain to detect.")
@click.option("--rate", type=_SHARE, help="The incumbent's mean resolve rate, in place of what was measured.")
@click.option("--rate-candidate", type=_SHARE, help="The candidate's; stands for --effect.")
@click.option("--between", type=_SHARE, metavar="VARIANCE", help="Of the tasks' true differences, with --rate.")
@click.option("--alpha", type=_INNER, help="The level, one-sided; by default what the ledger grants the next look.")
@click.option("--power", type=_INNER, default=0.8, show_default=True, help="How often an effect is to be proven.")
@expensive_option
@json_option
def command(skill: str | None, include_expensive: bool, as_json: bool, **asked: Any) -> None:
    """Show what the next look could prove, with how many tasks and runs, at what price. Nothing is measured.

    Rates, variances and prices are those of the incumbent's rows in the sweeps that are kept, or --rate. SKILL is by
    default every skill that has sealed tasks.

    Example: evolve power purchase-json --effect 20
    """
    from evolve.corpus.loading import load_corpus
    from evolve.promote.ledger import read_ledger
    from evolve.records.kinds import Split

    wanted = Asked(**asked)
    if wanted.points is not None and wanted.rate_candidate is not None:
        raise InputError("--effect and --rate-candidate say the same", hint="give one of them", code="usage")
    if wanted.between is not None and wanted.rate is None:
        raise InputError("--between goes with --rate", hint="add --rate 0.5, for example", code="usage")
    workspace = here()
    policy = workspace.policy()
    _refuse_cost(policy)
    corpus = load_corpus(workspace.corpus, expensive=include_expensive)
    names = [workspace.skill(skill).name] if skill else list(workspace.skills())
    sealed = {name: tuple(task.id for task in corpus.of(name, Split.SEALED)) for name in names}
    names = [name for name in names if sealed[name]]
    if not names:
        raise InputError(
            f"{skill or 'no skill'} has {'no' if skill else 'a'} sealed task, so that no look can be planned",
            hint="add tasks with split: sealed below the corpus",
            code="no-sealed-task",
        )
    from evolve.promote.accounts import accounts_of

    entries = read_ledger(workspace.promotion)
    current = [one for one in accounts_of(entries, policy, sealed) if one.current]
    searched: Searched = {}
    plans = [_planned(workspace, policy, account, wanted, searched) for account in current]
    text = "\n\n".join(_text(one, policy, workspace.spec) for one in plans)
    emit({"skills": [_value(one) for one in plans]}, text, as_json=as_json)


def _refuse_cost(policy: Policy) -> None:
    if policy.of_quality:
        return
    raise InputError(
        f"the policy decides on {policy.metric.value}, and only the resolve rate can be planned for",
        hint="evolve ledger shows the level that the next look is granted",
        code="metric-not-planned",
    )


@dataclass(frozen=True)
class Planned:
    """What is said of a skill: what is taken for granted, what can be detected, and with which sweeps."""

    account: Account
    alpha: float
    given_alpha: bool
    power: float
    spread: Spread
    measured: Measured
    detectable: tuple[tuple[int, int, float | None], ...]
    effect: float | None
    designs: tuple[SeenDesign, ...] | None
    approximate: float | None
    simulated: SimulatedPower | None
    last_look: int | None


# What was searched for already: skills of which the same is taken for granted get the same sweeps.
Searched = dict[tuple[Any, float, float], "tuple[SeenDesign, ...]"]


def _planned(workspace: Workspace, policy: Policy, account: Account, asked: Asked, searched: Searched) -> Planned:
    from evolve.gate.planning import approximate_power, detectable_effect, simulated_power, sufficient_designs
    from evolve.promote.accounts import last_able_look, measured_rows_of

    measured = measured_rows_of(workspace, workspace.skill(account.skill))
    spread = measured.spread if asked.rate is None else _given(asked.rate, asked.between)
    alpha = asked.alpha or account.next_alpha
    effect = _effect(account.skill, spread, asked)
    runs, own = asked.runs or USUAL_RUNS, len(account.tasks)
    shapes = [(tasks, count) for tasks in asked.tasks or (own,) for count in dict.fromkeys(runs)]
    designs = None
    if effect is not None and (asked.points is not None or asked.rate_candidate is not None):
        able = tuple(count for count in runs if count >= policy.min_runs) or (policy.min_runs,)
        designs = searched.get((spread, effect, alpha))
        if designs is None:
            designs = sufficient_designs(spread, effect, able, policy, alpha, asked.power, most_cells=MOST_CELLS)
        searched[spread, effect, alpha] = designs
    design = (own, policy.min_runs)
    return Planned(
        account=account,
        alpha=alpha,
        given_alpha=asked.alpha is not None,
        power=asked.power,
        spread=spread,
        measured=measured,
        detectable=tuple((n, k, detectable_effect(spread, n, k, alpha, asked.power)) for n, k in shapes),
        effect=effect,
        designs=designs,
        approximate=None if effect is None else approximate_power(spread, effect, *design, alpha),
        simulated=None if effect is None else simulated_power(spread, effect, *design, policy, alpha),
        last_look=last_able_look(account, policy),
    )


def _given(rate: float, between: float | None) -> Spread:
    from evolve.gate.planning import Spread

    if between is None:
        return Spread(rate, share=1.0, rate_from="given")
    return Spread(rate, between, share=1.0, rate_from="given", variance_from="given")


def _effect(skill: str, spread: Spread, asked: Asked) -> float | None:
    """Return the effect that is asked about, or the one that is looked at by default where there is room for it."""
    from evolve.promote.accounts import REFERENCE_EFFECT

    if asked.rate_candidate is not None:
        if asked.rate_candidate <= spread.rate:
            raise InputError(
                f"--rate-candidate {asked.rate_candidate:g}: not above the incumbent's {spread.rate:.3g} ({skill})",
                hint="only a gain can be proven",
                code="no-gain",
            )
        return asked.rate_candidate - spread.rate
    effect = REFERENCE_EFFECT if asked.points is None else asked.points / 100
    if effect <= spread.room + 1e-9:
        return min(effect, spread.room)
    if asked.points is None:
        return None
    raise InputError(
        f"--effect {asked.points:g}: the incumbent of {skill} resolves {100 * spread.rate:.1f} %, "
        f"so that +{100 * spread.room:.1f} points are all there is room for",
        hint="a smaller --effect, or harder tasks",
        code="no-room",
    )


def assumptions_text(spread: Spread, measured: Measured) -> list[str]:
    """Return how the figures were made: what was measured, of which sweeps, and what is assumed."""
    origin = spread.variance_from
    within = "Bernoulli" if spread.rate_from == "given" else origin
    lines = [
        f"taken for granted: the incumbent's mean resolve rate {100 * spread.rate:.1f} % "
        f"({_origin(spread, measured)}); variance of the tasks' true differences {spread.between:.3g} ({origin}), "
        f"of a run within a task {spread.within(0):.3g} ({within})"
    ]
    if measured.rows:
        more = f" and {len(measured.sweeps) - MOST_SHOWN} more" if len(measured.sweeps) > MOST_SHOWN else ""
        shown = ", ".join(measured.sweeps[:MOST_SHOWN])
        lines.append(f"rows: {len(measured.rows)} of {len(measured.resolved)} tasks, in {shown}{more}")
    else:
        lines.append("rows: none of this text of the skill is at hand")
    if measured.left_out:
        lines.append(f"left out: {measured.left_out} rows of earlier texts of the skill or of another agent")
    if measured.unreadable:
        lines.append(f"left out, as they cannot be read: {', '.join(measured.unreadable)}")
    return lines


def _origin(spread: Spread, measured: Measured) -> str:
    if spread.rate_from != "measured":
        return spread.rate_from
    told = f"measured: {spread.runs} runs of {spread.tasks} tasks"
    means = [statistics.fmean(runs) for runs in measured.resolved.values()]
    if len(set(means)) < 2:
        return f"{told}, all alike, so that there is no interval"
    from evolve.stats.paired import paired_t_interval

    found = paired_t_interval(means)
    low, high = 100 * max(0.0, found.low), 100 * min(1.0, found.high)
    return f"{told}, 95 % interval over tasks {low:.1f} to {high:.1f} %"


def _price(measured: Measured, cells: int) -> list[str]:
    from evolve.cli.plans import duration, money

    cost, _ = measured.median("cost_usd_micros")
    took, _ = measured.median("session_ms")
    return [
        str(cells),
        money(None if cost is None else round(cost * cells)),
        duration(None if took is None else took / 1000 * cells),
    ]


def _cell_text(measured: Measured) -> str:
    from evolve.cli.plans import money

    cost, priced = measured.median("cost_usd_micros")
    took, timed = measured.median("session_ms")
    read, reads = measured.median("input_tokens")
    wrote, writes = measured.median("output_tokens")
    parts = [
        money(None if cost is None else round(cost)) + f" (n {priced})",
        f"{'unknown' if read is None else f'{read:,.0f}'} input tokens (n {reads})",
        f"{'unknown' if wrote is None else f'{wrote:,.0f}'} output tokens (n {writes})",
        f"{'unknown' if took is None else f'{took / 1000:.1f}'} s (n {timed})",
    ]
    return f"a cell, medians of rows: {', '.join(parts)}"


def _text(plan: Planned, policy: Policy, spec: WorkspaceSpec) -> str:
    from evolve.promote.accounts import needed_lines

    account, spread = plan.account, plan.spread
    granted = "given by --alpha" if plan.given_alpha else f"that the ledger grants look {account.next_look}"
    lines = [
        f"{account.skill}: {len(account.tasks)} sealed tasks, level {plan.alpha:.3g} one-sided, {granted}",
        *assumptions_text(spread, plan.measured),
        _cell_text(plan.measured),
        f"smallest gain in the mean resolve rate that is proven with power {plan.power:g} (normal approximation):",
        table(
            [
                [
                    str(n),
                    f"{k}{'' if k >= policy.min_runs else ' *'}",
                    _gain(plan, n, gain),
                    *_price(plan.measured, 2 * n * k),
                ]
                for n, k, gain in plan.detectable
            ],
            ["tasks", "runs", "gain, points", "cells", "cost", "time, one worker"],
        ),
    ]
    if any(k < policy.min_runs for _, k, _ in plan.detectable):
        lines.append(f"* fewer runs than the policy decides on: min_runs {policy.min_runs}")
    lines += [
        *_power_lines(plan, policy),
        *_design_lines(plan, policy),
        *needed_lines(account, plan.alpha, plan.last_look, policy),
    ]
    if policy.control or spec.required or spec.rivals:
        lines.append("cells and power are of the main pair: control, required arms and rivals come on top of it")
    return "\n".join(lines)


def _gain(plan: Planned, tasks: int, gain: float | None) -> str:
    if gain is not None:
        return f"+{100 * gain:.1f}"
    from evolve.gate.gain import smallest_p

    return "none: too few tasks" if smallest_p(tasks) > plan.alpha else f"more than +{100 * plan.spread.room:.1f}"


def _power_lines(plan: Planned, policy: Policy) -> list[str]:
    if plan.effect is None or plan.simulated is None:
        room = 100 * plan.spread.room
        return [f"at most +{room:.1f} points are left to gain; --effect asks for the power of a gain within them"]
    found = plan.simulated
    return [
        f"+{100 * plan.effect:.3g} points with {found.tasks} tasks x {found.runs} runs: "
        f"approximate power {plan.approximate:.2f}; simulated power {found.power:.2f} "
        f"({100 * found.confidence:g} % interval {found.low:.2f} to {found.high:.2f}, Wilson; "
        f"{found.draws} sweeps through the gate, seed {found.seed})",
        f"of the {found.draws} the gain was enough in {found.gained}, of which harm to single tasks stopped "
        f"{found.gained - found.promoted} (max_task_regression_pct {policy.max_task_regression_pct:g})",
    ]


def _design_lines(plan: Planned, policy: Policy) -> list[str]:
    if plan.designs is None or plan.effect is None:
        return []
    what = f"+{100 * plan.effect:.3g} points with power {plan.power:g} at this level"
    if not plan.designs:
        return [f"no sweep of at most {MOST_CELLS:,} cells proves {what}"]
    rows = []
    for seen in plan.designs:
        found = seen.simulated
        told = f"{found.power:.2f} ({found.low:.2f} to {found.high:.2f}){'' if seen.enough else ' not enough'}"
        shape = [str(seen.design.tasks), str(seen.design.runs), f"{seen.design.power:.2f}"]
        rows.append([*shape, told, *_price(plan.measured, seen.design.cells)])
    header = ["tasks", "runs", "approximate power", "simulated (95 %)", "cells", "cost", "time, one worker"]
    lines = [f"sweeps that are seen to prove {what}, cheapest first:", table(rows, header)]
    if not all(seen.enough for seen in plan.designs):
        lines.append("not enough: more tasks are also more that may get worse; a larger gain or extra_runs would help")
    return lines


def _value(plan: Planned) -> dict[str, Any]:
    from evolve.gate.planning import least_tasks

    account, measured = plan.account, plan.measured

    def design(tasks: int, runs: int) -> dict[str, Any]:
        cells = 2 * tasks * runs
        cost, took = measured.median("cost_usd_micros")[0], measured.median("session_ms")[0]
        return {
            "tasks": tasks,
            "runs": runs,
            "cells": cells,
            "cost_usd_micros": None if cost is None else round(cost * cells),
            "seconds": None if took is None else took / 1000 * cells,
        }

    cell = {of: measured.median(of) for of in ("cost_usd_micros", "input_tokens", "output_tokens", "session_ms")}
    return {
        "skill": account.skill,
        "sealed_tasks": len(account.tasks),
        "look": account.next_look,
        "alpha": plan.alpha,
        "alpha_given": plan.given_alpha,
        "power": plan.power,
        "spread": {**asdict(plan.spread), "within": plan.spread.within(0)},
        "sweeps": measured.sweeps,
        "rows_left_out": measured.left_out,
        "unreadable_sweeps": measured.unreadable,
        "cell": {of: {"median": median, "n": n} for of, (median, n) in cell.items()},
        "detectable": [{**design(n, k), "effect": gain} for n, k, gain in plan.detectable],
        "effect": plan.effect,
        "approximate_power": plan.approximate,
        "simulated_power": None if plan.simulated is None else asdict(plan.simulated),
        "designs": None
        if plan.designs is None
        else [
            {
                **design(one.design.tasks, one.design.runs),
                "power": one.design.power,
                "simulated": asdict(one.simulated),
                "enough": one.enough,
            }
            for one in plan.designs
        ],
        "least_tasks": least_tasks(plan.alpha),
        "last_look_that_can_prove": plan.last_look,
    }

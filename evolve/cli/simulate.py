"""``evolve simulate``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from evolve.cli.output import emit, json_option
from evolve.errors import InputError

if TYPE_CHECKING:
    from evolve.simulate.accounts import Year
    from evolve.simulate.run import Characteristics
    from evolve.simulate.worlds import Design

WORLD_NAMES = ("null", "gain", "regression", "heterogeneous", "drift", "correlated")
RULE_NAMES = ("proven", "proven-stop", "sequential", "e-process", "thresholds", "strict-mean", "mean-1se", "argmax")
YEARS_OF = 0.1


@click.command("simulate", short_help="Show how often the gate errs, in worlds whose truth is known.")
@click.option("--world", "worlds", multiple=True, type=click.Choice(WORLD_NAMES), help="By default all.")
@click.option("--rule", "rules", multiple=True, type=click.Choice(RULE_NAMES), help="By default all.")
@click.option("--policy", "policy_file", type=click.Path(path_type=Path), help="Hold a policy.yaml against them too.")
@click.option("--generations", type=click.IntRange(1, 100_000), default=300, show_default=True, help="A world.")
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True)
@click.option("--tasks", type=click.IntRange(1, 1000), default=24, show_default=True, help="Sealed tasks.")
@click.option(
    "--runs", type=click.IntRange(1, 100), default=3, show_default=True, help="Runs of a sealed task and arm."
)
@click.option("--candidates", type=click.IntRange(1, 100), default=6, show_default=True, help="Of a generation.")
@click.option("--effect", type=click.FloatRange(0, 100), default=25, show_default=True, help="A better one's, points.")
@click.option("--look", type=click.IntRange(1, 10_000), default=1, show_default=True, help="Which look it is.")
@click.option("--year", is_flag=True, help="Also simulate a year of weekly looks under both accounts.")
@click.option("--svg", "svg_file", type=click.Path(path_type=Path, dir_okay=False), help="Write a plot.")
@json_option
def command(
    worlds: tuple[str, ...],
    rules: tuple[str, ...],
    policy_file: Path | None,
    generations: int,
    seed: int,
    tasks: int,
    runs: int,
    candidates: int,
    effect: float,
    look: int,
    year: bool,
    svg_file: Path | None,
    as_json: bool,
) -> None:
    """Run whole generations, search included, in declared worlds, and show what each rule of promotion does there.

    Rules: the presets proven (also with --stop-when-decided, and sequential) and thresholds, beside rules of other
    systems: any higher mean, a mean above one standard error, and the best of the search. No model is called.

    Example: evolve simulate --world null --world gain --svg gate.svg
    """
    from dataclasses import replace

    from evolve.records.base import read_yaml
    from evolve.records.policy import Policy
    from evolve.simulate.accounts import year_of_looks
    from evolve.simulate.rules import PROVEN, RULES, Rule, by_gate, by_rounds
    from evolve.simulate.run import characteristics
    from evolve.simulate.show import json_value, svg
    from evolve.simulate.worlds import WORLDS, Design

    policy = read_yaml(Policy, policy_file) if policy_file else PROVEN
    if policy_file and policy.metric != "resolve_rate":
        raise InputError(f"{policy_file}: metric: worlds know how often tasks are resolved, not {policy.metric.value}")
    chosen = [RULES[name] for name in dict.fromkeys(rules or RULE_NAMES)]
    if policy_file:
        decide = by_gate(policy) if policy.sequential == "off" else by_rounds(policy)
        chosen.insert(0, Rule(policy_file.name, "the policy given", decide))
    design = Design(candidates=candidates, sealed_tasks=tasks, sealed_runs=runs)
    found = []
    for name in dict.fromkeys(worlds or WORLD_NAMES):
        world = WORLDS[name]
        world = replace(world, effect=effect / 100) if world.effect else world
        found += characteristics(world, chosen, design, policy, generations, seed, look)
    years = []
    if year:
        for account in ("inverse-square", "lord"):
            for share in (0.0, YEARS_OF):
                years.append(year_of_looks(account, policy, design, max(1, generations // 10), seed, share))
    if svg_file is not None:
        from evolve.files import write_atomic

        write_atomic(svg_file, svg(found, policy.alpha).encode())
    text = _text(found, years, design, f"look {look}, seed {seed}")
    value = {"seed": seed, "rules": json_value(found), "years": [vars(one) for one in years]}
    emit(value, text, as_json=as_json)


def _text(found: list[Characteristics], years: list[Year], design: Design, told: str) -> str:
    """Return the tables, and below them what was run."""
    from evolve.cli.output import table
    from evolve.simulate.show import HEADER, YEAR_HEADER, table_rows, year_rows
    from evolve.simulate.worlds import WORLDS

    lines = [table(table_rows(found), HEADER)]
    lines += [f"{name}: {WORLDS[name].summary}" for name in dict.fromkeys(one.world for one in found)]
    lines.append(
        f"{found[0].generations} generations a world, {design.candidates} candidates each, "
        f"{design.sealed_tasks} sealed tasks x {design.sealed_runs} runs, {told}; sealed cells are of those planned, "
        "further rounds for doubtful tasks included"
    )
    if years:
        lines += ["", table(year_rows(years), YEAR_HEADER), f"{years[0].years} years of {years[0].looks} weekly looks"]
    return "\n".join(lines)

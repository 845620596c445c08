"""Our search beside GEPA, OpenEvolve and simple rules: one evaluator, one scripted proposer, matched budgets.

Every demand is printed with its figure and whether it holds; the exit code is 1 when one does not. No model is called.
A peer that is not installed is said to be missing, which is a demand that does not hold.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

from benchmarks.head_to_head import report
from benchmarks.head_to_head.contenders import CONTENDERS, GEPA, OURS, Contender, Outcomes, compete, warm_up
from benchmarks.head_to_head.resume import resumed_gepa, resumed_ours
from benchmarks.head_to_head.world import Contest, Sizes
from evolve.cli.output import table

SIZES = {2000: Sizes(2000, 60, 30), 6000: Sizes(6000, 100, 100)}
NULL = Sizes(600, 60, 30)


def sizes_of(budget: int) -> Sizes:
    """Return the split of a budget: that of the next smaller one which has its own, or of the smallest."""
    nearest = max((one for one in SIZES if one <= budget), default=min(SIZES))
    return Sizes(budget, SIZES[nearest].train, SIZES[nearest].validation)


def main() -> int:
    """Run everything and print it."""
    # The matrices are small: threads that wait for one another cost more than they save, and the sums depend on them.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    given = _arguments()
    chosen = [one for one in CONTENDERS if given.only in (None, one.name) or one.name == OURS]
    here = [one for one in chosen if not one.missing]
    warm_up(here)
    seeds = range(given.seed, given.seed + given.seeds)
    held = [report.missing_demand(one.name, one.missing) for one in chosen if one.missing]
    record: dict[str, object] = {"conditions": conditions(), "arguments": vars(given)}
    for sizes in map(sizes_of, given.budgets):
        found = compete(here, sizes, seeds, null=False, say=_say)
        print(table(report.rows(found, sizes) + _missing(chosen, len(report.HEADER)), report.HEADER), "\n", flush=True)
        held += report.demands(found, sizes)
        record[f"budget {sizes.budget}"] = _plain(found)
    held.append(_null(chosen, here, given, record))
    held.append(_resumed(here, seeds, given.budgets[0], record))
    print(table([["holds" if one.holds else "FAILS", one.text, one.figure] for one in held], ["", "demand", "figure"]))
    print(", ".join(f"{name} {value}" for name, value in conditions().items()))
    record["demands"] = [asdict(one) for one in held]
    if given.json:
        given.json.write_text(json.dumps(record, indent=1, default=str) + "\n", encoding="utf-8")
    return 0 if all(one.holds for one in held) else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20, help="worlds of rules a budget, and searches that are killed")
    parser.add_argument("--null-seeds", type=int, default=40, help="runs of every search where nothing helps")
    parser.add_argument("--our-null-seeds", type=int, default=400, help="the same, of our search alone")
    parser.add_argument("--budgets", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--only", choices=[one.name for one in CONTENDERS], help="beside our search")
    parser.add_argument("--seed", type=int, default=0, help="the first")
    parser.add_argument("--json", type=Path, help="write every outcome to a file")
    given = parser.parse_args()
    if min(given.budgets) < NULL.budget // 2:
        parser.error(f"--budgets: at least {NULL.budget // 2}, as a winner is confirmed with a fifth of it")
    return given


def _null(
    chosen: Sequence[Contender], here: Sequence[Contender], given: argparse.Namespace, record: dict[str, object]
) -> report.Demand:
    seeds = range(given.seed, given.seed + given.null_seeds)
    found = compete(here, NULL, seeds, null=True, say=_say)
    print(table(report.null_rows(found) + _missing(chosen, len(report.NULL_HEADER)), report.NULL_HEADER), "\n")
    more = range(seeds.stop, given.seed + max(given.null_seeds, given.our_null_seeds))
    found[OURS] += compete([one for one in here if one.name == OURS], NULL, more, null=True, say=_say)[OURS]
    record["null"] = _plain(found)
    return report.null_demand(found[OURS])


def _resumed(here: Sequence[Contender], seeds: Sequence[int], budget: int, record: dict[str, object]) -> report.Demand:
    ours = [resumed_ours(Contest(seed, sizes_of(budget))) for seed in seeds]
    record["resumed"] = [asdict(one) for one in ours]
    if any(one.name == GEPA for one in here):
        gepa = [resumed_gepa(Contest(seed, sizes_of(budget))) for seed in seeds[:5]]
        record["gepa resumed"] = [asdict(one) for one in gepa]
        print(table(report.resumed_rows(gepa), report.RESUMED_HEADER), "\n", flush=True)
    return report.resume_demand(ours)


def _missing(chosen: Sequence[Contender], columns: int) -> list[list[str]]:
    return [[one.name, one.missing, *[""] * (columns - 2)] for one in chosen if one.missing]


def _plain(found: Outcomes) -> dict[str, object]:
    return {name: [asdict(one) for one in outcomes] for name, outcomes in found.items()}


def _say(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r{text}\033[K", end="", file=sys.stderr, flush=True)


def conditions() -> dict[str, str]:
    """Return what the figures depend on."""
    packages = {one: version(one) for one in ("numpy", "scipy", "pydantic", "markdown-it-py")}
    peers = {one.name: version(one.name) for one in CONTENDERS if one.wanted and not one.missing}
    threads = os.environ.get("OPENBLAS_NUM_THREADS", "all")
    machine = f"{platform.machine()}, {os.cpu_count()} cores"
    return {"Python": platform.python_version(), "on": machine, "OpenBLAS threads": threads, **packages, **peers}


if __name__ == "__main__":
    sys.exit(main())

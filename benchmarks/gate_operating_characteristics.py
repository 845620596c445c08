"""What the promotion gate must keep: errors, power, cells, bias and speed, beside the rules of other systems.

Every demand is printed with its figure and whether it holds; the exit code is 1 when one does not. Whole generations
are simulated, search included; the seeds are those of the options. Two cores: ten minutes with the default sizes.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from evolve.cli.output import table
from evolve.digest import sha256_json
from evolve.gate.decide import GateInput, decide
from evolve.records.base import lean
from evolve.records.kinds import ErrorKind, Role, Split
from evolve.records.row import CellIdentity, Row, Usage
from evolve.simulate.accounts import year_of_looks
from evolve.simulate.rules import PROVEN, RULES
from evolve.simulate.run import Characteristics, characteristics
from evolve.simulate.show import HEADER, YEAR_HEADER, table_rows, year_rows
from evolve.simulate.worlds import WORLDS, Design

DESIGN = Design()
MEBI = 1024


@dataclass(frozen=True)
class Demand:
    """Something that must come out."""

    text: str
    figure: str
    holds: bool


def figures(generations: int, seed: int, design: Design = DESIGN) -> dict[tuple[str, str], Characteristics]:
    """Return what every rule does in every world."""
    rules = list(RULES.values())
    found = [
        one for world in WORLDS.values() for one in characteristics(world, rules, design, PROVEN, generations, seed)
    ]
    return {(one.world, one.rule): one for one in found}


def demands(found: dict[tuple[str, str], Characteristics]) -> Iterator[Demand]:
    """Yield what must come out of the simulation."""
    for world in ("null", "heterogeneous", "drift", "correlated"):
        interval = found[world, "proven"].false_promotions
        held = interval.estimate <= 0.05 and interval.high <= 0.065
        yield Demand(f"{world}: proven promotes in at most 5 %, upper bound 6.5 %", _interval(interval), held)
    gain = found["gain", "proven"].power
    assert gain is not None
    yield Demand("gain of 25 points: power of proven at least 0.8", _interval(gain), gain.estimate >= 0.8)
    fixed = _cells(found, "proven")
    rounds = _cells(found, "sequential")
    yield Demand(
        "sequential: at most 60 % of the cells of the fixed design, half null, half gain",
        f"{rounds:.2f} of {fixed:.2f} times the planned cells: {rounds / fixed:.1%}",
        rounds / fixed <= 0.6,
    )
    wrong = found["null", "sequential"].false_promotions
    held = wrong.estimate <= 0.05 and wrong.high <= 0.065
    yield Demand("sequential: at the same error", _interval(wrong), held)
    for world in ("null", "heterogeneous", "drift", "correlated"):
        share = found[world, "proven-stop"].failed_cells_share
        assert share is not None
        text = f"{world}: --stop-when-decided saves at least 25 % on candidates that fail"
        yield Demand(text, f"{1 - share:.1%}", share <= 0.75)
    one = found["gain", "proven"]
    for world in ("null", "gain"):
        one = found[world, "proven"]
        assert one.bias is not None
        assert one.bias_error is not None
        figure = f"{one.bias / 100:+.4f} (standard error {one.bias_error / 100:.4f})"
        yield Demand(f"{world}: the reported effect is unbiased to 0.01", figure, abs(one.bias) <= 1)


def _interval(interval: object) -> str:
    return f"{interval.estimate:.2%} ({interval.low:.2%} to {interval.high:.2%})"  # type: ignore[attr-defined]


def _cells(found: dict[tuple[str, str], Characteristics], rule: str) -> float:
    shares = [found[world, rule].cells_share for world in ("null", "gain")]
    return sum(share or 0.0 for share in shares) / 2


def many_rows(tasks: int, runs: int) -> tuple[Row, ...]:
    """Return the rows of a sealed sweep of so many tasks and runs, both arms."""
    rows = []
    when = datetime(2026, 1, 1, tzinfo=UTC)
    for number in range(tasks):
        for run in range(runs):
            for role in (Role.INCUMBENT, Role.CANDIDATE):
                identity = CellIdentity(
                    task=f"t-{number}",
                    task_sha256=sha256_json(["task", number]),
                    oracle_sha256=sha256_json(["oracle", number]),
                    fingerprint=sha256_json(role.value),
                    agent_sha256=sha256_json("agent"),
                    sandbox="in-process",
                    runtime_sha256=sha256_json("runtime"),
                    run=run,
                    seed=run,
                )
                resolved = (number * 7 + run * 3 + (role is Role.CANDIDATE) * (number % 3)) % 5 > 1
                rows.append(
                    lean(
                        Row(
                            key=identity.digest(),
                            identity=identity,
                            arm=role.value,
                            role=role,
                            split=Split.SEALED,
                            attempt=1,
                            kind=None if resolved else ErrorKind.ORACLE_FAILED,
                            resolved=resolved,
                            usage=Usage(
                                input_tokens=1000 + number, output_tokens=90 + run, cost_usd_micros=500 + number
                            ),
                            measured_at=when,
                        )
                    )
                )
    return tuple(rows)


def time_decision(rows: int, tasks: int) -> tuple[float, int, int]:
    """Return seconds of a decision, the peak of the process's memory in MiB, and what the rows themselves take."""
    made = many_rows(tasks, rows // tasks // 2)
    before = _peak()
    ids = tuple(f"t-{number}" for number in range(tasks))
    begun = time.perf_counter()
    decide(GateInput(made, ids, rows // tasks // 2, PROVEN, 0.03))
    return time.perf_counter() - begun, _peak(), before


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // MEBI


def speed(rows: int, tasks: int) -> Demand:
    """Return how long a decision takes, measured in a process of its own."""
    command = [sys.executable, __file__, "--decide", str(rows), "--decide-tasks", str(tasks)]
    seconds, peak, before = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    figure = f"{float(seconds):.2f} s, peak {peak} MiB, of which {before} MiB are the rows at hand"
    text = f"{rows:,} rows of {tasks} tasks are decided in 2 s and 500 MB"
    return Demand(text, figure, float(seconds) < 2 and int(peak) * 1.048576 < 500)


def main() -> int:
    """Run everything and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--generations", type=int, default=2000, help="a world")
    parser.add_argument("--years", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--decide", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--decide-tasks", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.decide:
        print(*time_decision(given.decide, given.decide_tasks))
        return 0
    found = figures(given.generations, given.seed)
    print(table(table_rows(list(found.values())), HEADER))
    print(f"{given.generations} generations a world, seed {given.seed}, {DESIGN}\n")
    years = [
        year_of_looks(account, PROVEN, DESIGN, given.years, given.seed, share)
        for account in ("inverse-square", "lord")
        for share in (0.0, 0.1)
    ]
    print(table(year_rows(years), YEAR_HEADER))
    print(f"{given.years} years of {years[0].looks} weekly looks\n")
    held = [*demands(found), *year_demands(years), speed(given.rows, 24), speed(given.rows, 1000)]
    print(table([["holds" if one.holds else "FAILS", one.text, one.figure] for one in held], ["", "demand", "figure"]))
    return 0 if all(one.holds for one in held) else 1


def year_demands(years: list) -> Iterator[Demand]:  # type: ignore[type-arg]
    """Yield what must come out of years of looks."""
    for year in years:
        if year.account == "inverse-square" and not year.better_share:
            any_false = year.any_false
            yield Demand(
                "a year of null looks: at most 5 % see one false promotion",
                _interval(any_false),
                any_false.estimate <= 0.05,
            )
        if year.account == "lord":
            text = f"lord, {year.better_share:.0%} better looks: at most 5 % of the promotions are false"
            yield Demand(text, f"{year.false_share:.2%}", year.false_share <= 0.05)


if __name__ == "__main__":
    sys.exit(main())

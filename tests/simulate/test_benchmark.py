"""The benchmark of the gate runs, in a shortened form, and holds what it can hold with so few generations."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "gate_operating_characteristics.py"
# Their intervals are too wide with few generations, or they are seconds, which no test measures.
UNDECIDED = ("upper bound 6.5 %", "same error", "in 2 s and 500 MB", "power of proven", "unbiased", "60 %", "a year")


def test_a_short_run_prints_every_demand_and_holds_the_others() -> None:
    command = [sys.executable, str(SCRIPT), "--generations", "40", "--years", "2", "--rows", "2000", "--seed", "3"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode in (0, 1), ran.stderr
    demands = [line for line in ran.stdout.splitlines() if line.startswith(("holds", "FAILS"))]
    assert len(demands) == 18
    missed = [line for line in demands if line.startswith("FAILS") and not any(part in line for part in UNDECIDED)]
    assert missed == []

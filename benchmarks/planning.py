"""Planning a sweep whose every cell finds a reusable row: seconds, and memory beside the rows."""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from evolve.bench.journal import Journal
from evolve.bench.plan import Group, PlanArm, SweepRequest, make_plan
from evolve.bench.reuse import build_index
from evolve.corpus.loading import load_corpus
from evolve.digest import sha256_bytes
from evolve.files import write_atomic
from evolve.records.base import jsonl_bytes
from evolve.records.kinds import Role
from evolve.records.policy import Policy
from evolve.records.row import Row
from evolve.sandbox.host import Host
from evolve.workspace import find_workspace

POLICY = Policy(schema_id="evolve/policy@1")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=20_000)
    cells = parser.parse_args().cells
    repository = find_workspace(Path(__file__).parents[1])
    tasks = load_corpus(repository.corpus).of("value-format")[:20]
    arm = PlanArm("incumbent", Role.INCUMBENT, repository.skill("value-format"))
    request = SweepRequest("baseline", "x", (Group((arm,), tasks),), cells // len(tasks), {"adapter": "x"}, Host())
    now = datetime.now(UTC)
    with tempfile.TemporaryDirectory() as scratch:
        sweeps = Path(scratch)
        _store(sweeps / "earlier", request, now - timedelta(days=1))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        started = time.perf_counter()
        index = build_index(sweeps, now=now, max_age_days=30)
        plan = make_plan(request, POLICY, index, now)
        seconds = time.perf_counter() - started
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / len(plan.cells)
    reused = sum(cell.action == "reuse" for cell in plan.cells)
    print(f"{len(plan.cells)} cells planned in {seconds:.2f} s, {reused} reused; {grown:.2f} KiB a cell")


def _store(folder: Path, request: SweepRequest, when: datetime) -> None:
    rows = []
    from evolve.bench.identity import cell_identity

    for group in request.groups:
        for task in group.tasks:
            for run in range(request.runs):
                fingerprint = group.arms[0].skill.fingerprint
                identity = cell_identity(task, fingerprint, request.agent, request.sandbox, run)
                rows.append(
                    Row(
                        key=identity.digest(),
                        identity=identity,
                        arm="incumbent",
                        role=Role.INCUMBENT,
                        split=task.task.split,
                        attempt=1,
                        resolved=True,
                        measured_at=when,
                    )
                )
    data = jsonl_bytes(rows)
    write_atomic(folder / "rows.jsonl", data)
    journal = Journal(folder / "journal.jsonl")
    journal.append("planned", plan_sha256="0" * 64)
    journal.append("finished", rows_sha256=sha256_bytes(data))


if __name__ == "__main__":
    main()

"""Planning a sweep whose every cell finds a reusable row: seconds, and memory beside what was there before."""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from evolve.bench.identity import cell_identity
from evolve.bench.journal import Journal
from evolve.bench.plan import Group, PlanArm, SweepRequest, make_plan
from evolve.bench.reuse import build_index, stored_reply
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
TASKS = 20


def request_of(cells: int) -> SweepRequest:
    """Return the request of a sweep of one arm with so many cells."""
    repository = find_workspace(Path(__file__).parents[1])
    tasks = load_corpus(repository.corpus).of("value-format")[:TASKS]
    arm = PlanArm("incumbent", Role.INCUMBENT, repository.skill("value-format"))
    return SweepRequest("baseline", "x", (Group((arm,), tasks),), cells // TASKS, {"adapter": "x"}, Host())


def store(folder: Path, cells: int) -> None:
    """Write the sweep that measured every one of them, each with a reply of its own."""
    request, when = request_of(cells), datetime.now(UTC) - timedelta(days=1)
    fingerprint = request.arms[0].skill.fingerprint
    stored_reply(folder, "x").parent.mkdir(parents=True)
    rows = []
    for task in request.groups[0].tasks:
        for run in range(request.runs):
            identity = cell_identity(task, fingerprint, request.agent, request.sandbox, run)
            reply = f"{task.id} {run}".encode()
            stored_reply(folder, sha256_bytes(reply)).write_bytes(reply)
            rows.append(
                Row(
                    key=identity.digest(),
                    identity=identity,
                    arm="incumbent",
                    role=Role.INCUMBENT,
                    split=task.task.split,
                    attempt=1,
                    resolved=True,
                    reply_sha256=sha256_bytes(reply),
                    measured_at=when,
                )
            )
    data = jsonl_bytes(rows)
    write_atomic(folder / "rows.jsonl", data)
    journal = Journal(folder / "journal.jsonl")
    journal.append("planned", plan_sha256="0" * 64)
    journal.append("finished", rows_sha256=sha256_bytes(data))


def peak_kib() -> int:
    """Return the most memory that this process ever held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=20_000)
    parser.add_argument("--store", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.store:
        store(arguments.store, arguments.cells)
        return
    with tempfile.TemporaryDirectory() as scratch:
        sweeps = Path(scratch)
        command = [sys.executable, __file__, "--store", str(sweeps / "earlier"), "--cells", str(arguments.cells)]
        subprocess.run(command, check=True)
        request, now = request_of(arguments.cells), datetime.now(UTC)
        before, started = peak_kib(), time.perf_counter()
        index = build_index(sweeps, now=now, max_age_days=30)
        indexed, index_s = peak_kib(), time.perf_counter() - started
        plan = make_plan(request, POLICY, index, now)
        seconds = time.perf_counter() - started
    cells = len(plan.cells)
    reused = sum(cell.action == "reuse" for cell in plan.cells)
    a_row, a_cell = (indexed - before) / cells, (peak_kib() - indexed) / cells
    print(f"{cells} cells planned in {seconds:.2f} s, of which {index_s:.2f} s to index {len(index.rows)} rows")
    print(f"{reused} cells are reused; {a_row:.2f} KiB a reusable row, {a_cell:.2f} KiB a planned cell")


if __name__ == "__main__":
    main()

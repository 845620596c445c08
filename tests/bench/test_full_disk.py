"""A disk that is really full in mid-sweep: a small tmpfs, mounted for one process tree by bubblewrap."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bench.test_runner import OVERLAY, write_overlay
from tests.sandbox.test_bubblewrap import REASON, WORKS
from tests.worlds import ModelServer, make_workspace

SIZE = 2 * 1024 * 1024

# Runs inside, where the first argument is the tmpfs. It fills the disk but for some room, measures until there is none,
# frees it, resumes, and tells what it saw.
INSIDE = """
import json, os, shutil, subprocess, sys
from pathlib import Path
from evolve.bench.journal import read_state

small, source, overlay, room = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])
root = small / "workspace"
shutil.copytree(source, root)
ballast = small / "ballast"
with ballast.open("wb") as file:
    free = os.statvfs(small).f_bavail * os.statvfs(small).f_frsize
    file.write(b"x" * max(0, free - room))

def evolve(*argv):
    return subprocess.run([sys.executable, "-m", "evolve", *argv], cwd=root, capture_output=True, text=True)

def journal():
    return next(root.glob("results/sweeps/sealed-*/journal.jsonl"), None)

full = evolve("benchmark", overlay)
settled = sorted(read_state(journal()).settled) if journal() else []
leftovers = [str(path) for path in root.rglob("*.tmp")]
ballast.unlink()
resumed = evolve("resume") if journal() else evolve("benchmark", overlay)
state = read_state(journal())
print(json.dumps({
    "code": full.returncode, "err": full.stderr, "settled": settled, "leftovers": leftovers,
    "resumed": resumed.returncode, "resumed_err": resumed.stderr, "final": sorted(state.settled),
    "attempts": sum(state.attempts.values()), "spent": len(state.spent),
    "audit": evolve("audit", "--all").returncode,
    "decision": json.loads(next(root.glob("promotion/bracket/*/promotion.json")).read_bytes())["decision"]["outcome"],
}))
"""


@pytest.mark.skipif(not WORKS, reason=REASON)
def test_a_full_disk_loses_no_settled_row_and_resume_finishes(tmp_path: Path, served: ModelServer) -> None:
    source = make_workspace(tmp_path / "source", base_url=served.url)
    write_overlay(source)
    small = tmp_path / "small"
    small.mkdir()
    stopped_in_the_middle = 0
    for room in (40_000, 120_000, 200_000):
        served.calls = 0
        command = ["bwrap", "--dev-bind", "/", "/", "--size", str(SIZE), "--tmpfs", str(small), "--"]
        command += [sys.executable, "-c", INSIDE, str(small), str(source), OVERLAY, str(room)]
        environment = {**os.environ, "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory"}
        environment["GIT_CONFIG_VALUE_0"] = "*"
        ran = subprocess.run(command, capture_output=True, text=True, env=environment)
        assert ran.returncode == 0, ran.stderr
        saw = json.loads(ran.stdout)
        assert saw["code"] == 1, saw["err"]
        assert "No space left on device" in saw["err"]
        assert "free some space, then: evolve resume" in saw["err"]
        assert "Traceback" not in saw["err"]
        assert saw["leftovers"] == []
        assert saw["resumed"] == 0, saw["resumed_err"]
        assert set(saw["settled"]) <= set(saw["final"])
        assert saw["final"] == list(range(48))
        assert saw["attempts"] == 48 + saw["spent"]
        assert served.calls <= saw["attempts"]
        assert (saw["decision"], saw["audit"]) == ("promote", 0)
        stopped_in_the_middle += 0 < len(saw["settled"]) < 48
    assert stopped_in_the_middle

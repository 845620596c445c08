"""No containment: a bare process with limits, for machines without bubblewrap."""

from __future__ import annotations

import contextlib
import secrets
import subprocess
from collections.abc import Mapping
from pathlib import Path

import psutil

from evolve.sandbox.base import GRADER_ENV, Completed, Job, kill_group, run_contained

MARK = "EVOLVE_JOB"


class Host:
    """Runs jobs as bare subprocesses with limits on time, memory and file size."""

    name = "host"

    def mounted(self, name: str, job_mounts: Mapping[str, Path]) -> str:
        """Return the path at which a mount is seen by the job."""
        return str(job_mounts[name])

    def run(self, job: Job) -> Completed:
        """Run a job; every process that it started and that still bears its mark is killed at the end."""
        for inside, path in job.inside.items():
            place = job.folder / inside
            if place.is_dir() and not place.is_symlink() and not any(place.iterdir()):
                place.rmdir()
                place.symlink_to(path)
        mark = secrets.token_hex(16)
        env = {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "HOME": "/nonexistent",
            **GRADER_ENV,
            MARK: mark,
        }

        def end(process: subprocess.Popen[bytes]) -> None:
            kill_group(process)
            kill_marked(mark)

        return run_contained(list(job.argv), job, env=env, cwd=job.folder, end=end)


def kill_marked(mark: str) -> None:
    """Kill what left the process group: children of a leader that is gone can be told by their environment alone."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.environ().get(MARK) == mark:
                process.kill()

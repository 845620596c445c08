"""No containment: a bare process with limits, for machines without bubblewrap."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Mapping
from pathlib import Path

import psutil

from evolve.sandbox.base import Completed, Job, kill_group, run_contained


class Host:
    """Runs jobs as bare subprocesses with limits on time, memory and file size."""

    name = "host"

    def mounted(self, name: str, job_mounts: Mapping[str, Path]) -> str:
        """Return the path at which a mount is seen by the job."""
        return str(job_mounts[name])

    def run(self, job: Job) -> Completed:
        """Run a job; its process tree is walked and killed at the end."""
        env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": "/nonexistent"}
        return run_contained(list(job.argv), job, env=env, cwd=job.folder, end=_kill_tree)


def _kill_tree(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(psutil.Error):
        for child in psutil.Process(process.pid).children(recursive=True):
            with contextlib.suppress(psutil.Error):
                child.kill()
    kill_group(process)

"""Containment by bubblewrap: own namespaces, no network, a read-only root, no environment."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from evolve.errors import EnvironmentFault
from evolve.sandbox.base import GRADER_ENV, Completed, Job, base_python, kill_group, run_contained
from evolve.sandbox.hidden import hiding
from evolve.scratch import short_lived

STARTED = b"started\n"
STARTER = ("/bin/sh", "-c", 'echo started >&2; exec "$@"', "sh")
SYSTEM_FOLDERS = ("/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin")
SHM_BYTES = 256 * 1024 * 1024
# Where the caller is root, uid 1000 inside is still root to the kernel's own settings.
READ_ONLY_PROC = tuple(
    part
    for path in ("/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus")
    if Path(path).exists()
    for part in ("--ro-bind", path, path)
)
PREFLIGHT_SCRIPT = """
import os, socket, sys
faults = []
if os.path.exists(sys.argv[1]): faults.append("it can read the host's files")
try: open("/work/.probe", "w"); faults.append("it can write to its workspace")
except OSError: pass
for path in ("/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger"):
    try: os.close(os.open(path, os.O_WRONLY)); faults.append("it can write the kernel's settings")
    except OSError: pass
try: socket.create_connection(("127.0.0.1", int(sys.argv[2])), 1); faults.append("it can reach the network")
except OSError: pass
known = ("PATH", "LANG", "HOME", "TMPDIR", "PWD", "LC_CTYPE", "npm_config_ignore_scripts")
if any(name not in known and not name.startswith(("PYTHON", "PYTEST")) for name in os.environ):
    faults.append("it sees the host's environment")
print("; ".join(faults) or "contained")
"""


class Bubblewrap:
    """Runs jobs under ``bwrap``."""

    name = "bubblewrap"

    def __init__(self, executable: str) -> None:
        self._executable = executable

    def mounted(self, name: str, job_mounts: Mapping[str, Path]) -> str:
        """Return the path at which a mount is seen by the job."""
        return f"/mnt/{name}"

    def _argv(self, job: Job) -> list[str]:
        argv = [self._executable, "--unshare-all", "--die-with-parent", "--new-session", "--clearenv"]
        argv += ["--uid", "1000", "--gid", "1000", "--hostname", "cell", "--cap-drop", "ALL"]
        for name, value in {
            "PATH": "/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "HOME": "/tmp",
            "TMPDIR": "/tmp",
            **GRADER_ENV,
        }.items():
            argv += ["--setenv", name, value]
        for folder in SYSTEM_FOLDERS:
            argv += ["--ro-bind-try", folder, folder]
        argv += ["--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache"]
        argv += ["--ro-bind-try", "/etc/alternatives", "/etc/alternatives"]
        if not sys.base_prefix.startswith("/usr"):
            argv += ["--ro-bind", sys.base_prefix, sys.base_prefix]
        argv += ["--proc", "/proc", *READ_ONLY_PROC, "--dev", "/dev", "--size", str(SHM_BYTES), "--tmpfs", "/dev/shm"]
        argv += ["--size", str(SHM_BYTES), "--tmpfs", "/tmp"]
        argv += hiding((*SYSTEM_FOLDERS, sys.base_prefix))
        argv += ["--ro-bind", str(job.folder), "/work"]
        for inside, path in job.inside.items():
            argv += ["--ro-bind", str(path), f"/work/{inside}"]
        for name, path in job.mounts.items():
            argv += ["--ro-bind", str(path), self.mounted(name, job.mounts)]
        return [*argv, "--remount-ro", "/", "--chdir", "/work", "--", *STARTER, *job.argv]

    def run(self, job: Job) -> Completed:
        """Run a job in namespaces of its own; all of its processes die with it.

        A first line of standard error says that the namespaces were made: without it the fault is bubblewrap's,
        and no job can imitate that.

        Raises:
            EnvironmentFault: bubblewrap cannot be started or cannot make the namespaces.

        """
        completed = run_contained(self._argv(job), job, env={}, cwd=None, end=kill_group)
        if not completed.stderr.startswith(STARTED):
            reason = completed.stderr.decode("utf-8", errors="replace").strip().partition("\n")[0]
            raise EnvironmentFault(f"bubblewrap does not work here: {reason or 'no answer'}")
        return replace(completed, stderr=completed.stderr.removeprefix(STARTED))


def find_bubblewrap() -> tuple[Bubblewrap | None, str]:
    """Return a sandbox that was seen to deny, or why there is none.

    The probe tries to read a host file, write to its workspace, reach a loopback port and see the environment.
    """
    executable = shutil.which("bwrap")
    if executable is None:
        return None, "bubblewrap is not installed (Debian, Ubuntu: apt install bubblewrap)"
    sandbox = Bubblewrap(executable)
    try:
        verdict = _probe(sandbox)
    except (EnvironmentFault, subprocess.SubprocessError) as error:
        return None, str(error)
    return (sandbox, verdict) if verdict == "contained" else (None, f"bubblewrap does not contain: {verdict}")


def _probe(sandbox: Bubblewrap) -> str:
    import socket

    with (
        short_lived("probe") as scratch,
        socket.create_server(("127.0.0.1", 0)) as server,
    ):
        work = Path(scratch) / "work"
        work.mkdir()
        secret = Path(scratch) / "secret"
        secret.write_text("host", encoding="utf-8")
        port = str(server.getsockname()[1])
        argv = (base_python(), "-I", "-S", "-c", PREFLIGHT_SCRIPT, str(secret), port)
        completed = sandbox.run(Job(argv=argv, folder=work, wall_s=20))
    text = completed.stdout.decode("utf-8", errors="replace").strip()
    return text or completed.stderr.decode("utf-8", errors="replace").strip()[-300:] or "no answer"

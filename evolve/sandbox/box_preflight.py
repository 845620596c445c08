"""Proving that a box denies, by trying, with the very flags that agents are run with."""

from __future__ import annotations

import shutil
import socket
from functools import cache
from pathlib import Path

import psutil

from evolve.errors import EnvironmentFault
from evolve.sandbox.base import base_python
from evolve.sandbox.box import WORK, BoxJob, BoxLimits, BubblewrapBox
from evolve.scratch import short_lived

SKILL = "/box/probe-skill"
MARK = "evolve-probe"
PROBE = f"""
import os, socket, subprocess, sys
secret, port, mark = sys.argv[1], int(sys.argv[2]), sys.argv[3]
faults = []
if os.path.exists(secret): faults.append("it can read the host's files")
for path in ("/box/probe-skill/new", "/usr/new", "/new"):
    try: open(path, "w"); faults.append("it can write to " + path)
    except OSError: pass
for path in ("/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger"):
    try: os.close(os.open(path, os.O_WRONLY)); faults.append("it can write the kernel's settings")
    except OSError: pass
for address in (("127.0.0.1", port), ("192.0.2.1", 80)):
    try: socket.create_connection(address, 1); faults.append("it can reach the network")
    except OSError: pass
if "EVOLVE_PROBE_SECRET" in os.environ: faults.append("it sees the host's environment")
if len([name for name in os.listdir("/proc") if name.isdigit()]) > 8: faults.append("it sees the host's processes")
open("{WORK}/allowed", "w").close()
subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(60)", mark], start_new_session=True)
print("; ".join(faults) or "contained")
"""


@cache
def find_box() -> BubblewrapBox:
    """Return a box that was seen to deny reading, writing, the network and survivors.

    Raises:
        EnvironmentFault: There is no bubblewrap, or it does not contain; the message names the fix.

    """
    executable = shutil.which("bwrap")
    if executable is None:
        hint = "Debian, Ubuntu: apt install bubblewrap"
        raise EnvironmentFault("agents need bubblewrap, which is not installed", hint=hint, code="no-containment")
    box = BubblewrapBox(executable)
    verdict = probe(box)
    if verdict != "contained":
        hint = "allow unprivileged user namespaces: sysctl kernel.unprivileged_userns_clone=1, or run as root"
        raise EnvironmentFault(f"bubblewrap does not contain agents here: {verdict}", hint=hint, code="no-containment")
    return box


def probe(box: BubblewrapBox) -> str:
    """Return what a program in a box can do that it must not, or ``contained``."""
    with (
        short_lived("probe") as scratch,
        socket.create_server(("127.0.0.1", 0)) as server,
    ):
        root = Path(scratch)
        for name in ("work", "home", "gateway", "skill"):
            (root / name).mkdir()
        (root / "secret").write_text("host", encoding="utf-8")
        (root / "prompt").write_bytes(b"")
        mark = f"{MARK}-{root.name}"
        program = (base_python(), "-I", "-S", "-c", PROBE, str(root / "secret"), str(server.getsockname()[1]), mark)
        job = BoxJob(
            argv=program,
            env={},
            work=root / "work",
            home=root / "home",
            prompt=root / "prompt",
            gateway=root / "gateway",
            stdout=root / "out",
            stderr=root / "err",
            limits=BoxLimits(wall_s=30),
            read_only={SKILL: root / "skill"},
        )
        end = box.run(job)
        said = (root / "out").read_text("utf-8", errors="replace").strip()
        if end.exit_code != 0 or not said:
            return (root / "err").read_text("utf-8", errors="replace").strip()[-300:] or "no answer"
        if _survivors(mark):
            return "a process that it started outlived it"
        return said


def _survivors(mark: str) -> bool:
    return any(mark in (process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"]))

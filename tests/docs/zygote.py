"""Forks one `evolve` process for each call of ``programs/evolve``, so that a start costs milliseconds.

``python -m tests.docs.zygote SOCKET``. A caller sends its standard streams, and its arguments, folder and environment
as one JSON document; it is sent the exit code.
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import pkgutil
import signal
import socket
import sys
from pathlib import Path

import evolve
from evolve.cli.entry import run

NOT_IMPORTED = (
    "evolve.__main__",
    "evolve.corpus.importers.staged",
    "evolve.models.local_worker",
    "evolve.sandbox.inside",
)
IMPORTED_LATE = ("git", "jinja2", "matplotlib.pyplot", "rich.console", "scipy.optimize", "scipy.stats")
MOST_BYTES = 1 << 20
LOOK_S = 2.0


def import_everything() -> None:
    """Import what the children would import one by one."""
    for module in pkgutil.walk_packages(evolve.__path__, "evolve."):
        if not module.name.startswith(NOT_IMPORTED):
            importlib.import_module(module.name)
    for name in IMPORTED_LATE:
        importlib.import_module(name)


def serve(path: Path) -> None:
    """Answer calls until the parent is gone."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    parent = os.getppid()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()
        listening.settimeout(LOOK_S)
        print("ready", flush=True)
        while os.getppid() == parent:
            try:
                caller, _ = listening.accept()
            except TimeoutError:
                continue
            if os.fork() == 0:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                listening.close()
                be_the_command(caller)
            caller.close()


def be_the_command(caller: socket.socket) -> None:
    """Run one command as if it had been started by the caller, and end."""
    data, streams, _, _ = socket.recv_fds(caller, MOST_BYTES, 3)
    order = json.loads(data)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(order["folder"])
    os.environ.clear()
    os.environ.update(order["environment"])
    sys.argv = ["evolve", *order["arguments"]]
    code = 70
    try:
        run()
    except SystemExit as end:
        code = int(end.code or 0)
    finally:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        caller.sendall(str(code).encode())
        os._exit(code)


if __name__ == "__main__":
    import_everything()
    serve(Path(sys.argv[1]))

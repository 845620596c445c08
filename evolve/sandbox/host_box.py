"""No containment: an agent as a bare process of whoever runs evolve, for machines where nothing else works."""

from __future__ import annotations

import secrets
import socket
import subprocess
import time
from pathlib import Path

from evolve.errors import EnvironmentFault
from evolve.sandbox.base import base_python
from evolve.sandbox.box import GATEWAY, HOME, PROMPT, SOCKET, WORK, BoxEnd, BoxJob, Places, attend, supervised
from evolve.sandbox.host import MARK, kill_marked

PATH = "/usr/local/bin:/usr/bin:/bin"


class HostBox:
    """Runs agents uncontained: they see the host's files and network; only their environment and home are their own.

    What a box mounts is linked below a folder of the room instead, so that paths differ from cell to cell.
    """

    name = "host"

    def places(self, room: Path) -> Places:
        """Return places below the room, and a port that was free a moment ago."""
        with socket.create_server(("127.0.0.1", 0)) as free:
            return Places(str(room / "host"), free.getsockname()[1])

    def run(self, job: BoxJob) -> BoxEnd:
        """Run an agent to its end or to one of its limits; every process that bears its mark is killed at the end.

        Raises:
            EnvironmentFault: It cannot be started.

        """
        _link(job)
        at, mark, started = job.places.at, secrets.token_hex(16), time.monotonic()
        standard = {"PATH": PATH, "LANG": "C.UTF-8", "HOME": at(HOME), "TMPDIR": at("/tmp"), MARK: mark}
        inside = str(Path(__file__).with_name("inside.py"))
        with job.stdout.open("wb") as out, job.stderr.open("wb") as err:
            try:
                process = subprocess.Popen(
                    supervised(job, at(f"{GATEWAY}/{SOCKET}"), at(PROMPT), inside),
                    stdin=subprocess.PIPE,
                    stdout=out,
                    stderr=err,
                    cwd=job.work,
                    env={**standard, **job.env},
                    start_new_session=True,
                )
            except OSError as error:
                raise EnvironmentFault(f"{base_python()}: cannot be started: {error.strerror}") from error
            try:
                return attend(process, job, started, lambda: kill_marked(mark))
            finally:
                _unlink(job)


def _unlink(job: BoxJob) -> None:
    """Put empty folders back where links stood in the work, so that nothing of them is taken for work."""
    for inside in (*job.read_only, *job.writable):
        place = Path(job.places.at(inside))
        if inside.startswith(f"{WORK}/") and place.is_symlink():
            place.unlink()
            place.mkdir()


def _link(job: BoxJob) -> None:
    """Link everything to where the agent looks for it; what lies inside of something else comes after it."""
    standard = {WORK: job.work, HOME: job.home, GATEWAY: job.gateway, PROMPT: job.prompt}
    Path(job.places.at("/tmp")).mkdir(parents=True, exist_ok=True)
    for inside, path in {**standard, **job.read_only, **job.writable}.items():
        place = Path(job.places.at(inside))
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.is_dir() and not place.is_symlink():
            place.rmdir()
        place.symlink_to(path.resolve())

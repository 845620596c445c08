"""The bare process with limits."""

from __future__ import annotations

import os
import time
import uuid
from pathlib import Path

import psutil
import pytest

from evolve.errors import EnvironmentFault
from evolve.sandbox.base import GRADER_ENV, Completed, Job, base_python
from evolve.sandbox.host import Host
from tests.sandbox.test_bubblewrap import gone


def run(code: str, folder: Path, *arguments: str, wall_s: float = 20, stdin: bytes = b"") -> Completed:
    argv = (base_python(), "-I", "-S", "-c", code, *arguments)
    return Host().run(Job(argv=argv, folder=folder, wall_s=wall_s, stdin=stdin))


def test_a_job_runs_in_its_folder_with_an_environment_built_from_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VERY_SECRET_TOKEN", "value")
    code = "import os, sys; print(os.getcwd(), sorted(os.environ), sys.stdin.read()); sys.exit(3)"
    completed = run(code, tmp_path, stdin=b"in")
    assert completed.exit_code == 3
    allowed = sorted(("EVOLVE_JOB", "HOME", "LANG", "LC_CTYPE", "PATH", "PWD", *GRADER_ENV))
    said = completed.stdout.decode()
    names = [name for name in allowed if f"'{name}'" in said]
    assert said == f"{os.path.realpath(tmp_path)} {names} in\n"


def test_a_mount_is_seen_where_it_lies(tmp_path: Path) -> None:
    assert Host().mounted("oracle", {"oracle": tmp_path}) == str(tmp_path)


@pytest.mark.parametrize("session", ["False", "True"])
def test_time_that_is_up_ends_the_job_and_the_children_it_still_has(tmp_path: Path, session: str) -> None:
    mark = uuid.uuid4().hex
    code = f"""
import subprocess, sys, time
subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)", sys.argv[1]],
    start_new_session={session})
print("started", flush=True)
time.sleep(600)
"""
    started = time.monotonic()
    completed = run(code, tmp_path, mark, wall_s=1)
    assert completed == Completed(exit_code=None, stdout=b"started\n", stderr=b"")
    assert time.monotonic() - started < 10
    assert gone(mark)


def test_a_child_that_outlives_its_parent_is_ended_with_the_group(tmp_path: Path) -> None:
    mark = uuid.uuid4().hex
    code = """
import subprocess, sys
subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)", sys.argv[1]])
"""
    assert run(code, tmp_path, mark).exit_code == 0
    assert gone(mark)


def test_memory_beyond_the_limit_is_refused(tmp_path: Path) -> None:
    code = "try: bytearray(3 * 1024 ** 3); print('got it')\nexcept MemoryError: print('refused')"
    assert run(code, tmp_path).stdout == b"refused\n"


def test_a_killed_job_has_no_exit_code_of_success(tmp_path: Path) -> None:
    assert run("import os; os.kill(os.getpid(), 9)", tmp_path).exit_code == -9


def test_a_program_that_is_not_there_is_the_environments_fault(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFault, match="/nonexistent/program: cannot be started"):
        Host().run(Job(argv=("/nonexistent/program",), folder=tmp_path, wall_s=5))


def test_a_child_that_left_the_session_does_not_survive_a_normal_end(tmp_path: Path) -> None:
    mark = uuid.uuid4().hex
    code = f"""
import subprocess, sys
subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)", "{mark}"], start_new_session=True)
"""
    assert run(code, tmp_path).exit_code == 0
    assert processes(mark) == []


def processes(mark: str) -> list[int]:
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        if mark in " ".join(process.info["cmdline"] or []) and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(process.pid)
    return found

"""Containment by bubblewrap, for real."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
import uuid
from pathlib import Path

import psutil
import pytest

from evolve.errors import EnvironmentFault
from evolve.sandbox import base
from evolve.sandbox.base import GRADER_ENV, Completed, Job, base_python
from evolve.sandbox.bubblewrap import Bubblewrap, find_bubblewrap

EXECUTABLE = shutil.which("bwrap") or "bwrap"
REASON = "bubblewrap is not installed, or may make no namespaces here"


def _makes_namespaces() -> bool:
    """Ask bubblewrap itself, so that a fault of our own code is a failed test and no skipped one."""
    try:
        argv = [EXECUTABLE, "--unshare-all", "--ro-bind", "/", "/", "true"]
        return subprocess.run(argv, capture_output=True, timeout=20, check=False).returncode == 0
    except OSError:
        return False


WORKS = _makes_namespaces()
SANDBOX = Bubblewrap(EXECUTABLE)
pytestmark = pytest.mark.skipif(not WORKS, reason=REASON)


def run(code: str, folder: Path, *arguments: str, wall_s: float = 20, **mounts: Path) -> Completed:
    argv = (base_python(), "-I", "-S", "-c", code, *arguments)
    return SANDBOX.run(Job(argv=argv, folder=folder, wall_s=wall_s, mounts=mounts))


def processes_with(mark: str) -> list[int]:
    found = []
    for process in psutil.process_iter():
        try:
            if mark in " ".join(process.cmdline()):
                found.append(process.pid)
        except psutil.Error:
            continue
    return found


def gone(mark: str, within_s: float = 5) -> bool:
    end = time.monotonic() + within_s
    while processes_with(mark) and time.monotonic() < end:
        time.sleep(0.05)
    return not processes_with(mark)


def test_a_bubblewrap_that_works_here_is_seen_to_contain() -> None:
    sandbox, verdict = find_bubblewrap()
    assert verdict == "contained"
    assert isinstance(sandbox, Bubblewrap)


def test_a_job_gets_its_input_and_gives_its_output_and_exit_code(tmp_path: Path) -> None:
    code = "import sys; print(sys.stdin.read().upper()); print('err', file=sys.stderr); sys.exit(7)"
    argv = (base_python(), "-I", "-S", "-c", code)
    completed = SANDBOX.run(Job(argv=argv, folder=tmp_path, wall_s=20, stdin=b"hello"))
    assert completed == Completed(exit_code=7, stdout=b"HELLO\n", stderr=b"err\n")


def test_a_job_sees_its_folder_and_mounts_read_only_at_constant_paths(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "hidden").mkdir()
    (tmp_path / "work" / "a").write_text("1", encoding="utf-8")
    (tmp_path / "hidden" / "b").write_text("2", encoding="utf-8")
    code = """
import os
print(os.getcwd(), open("a").read(), open("/mnt/oracle/b").read())
for path in ("/work/a", "/work/new", "/mnt/oracle/b", "/usr/new", "/new"):
    try: open(path, "w"); print("wrote", path)
    except OSError: pass
open("/tmp/scratch", "w").write("fine")
"""
    completed = run(code, tmp_path / "work", oracle=tmp_path / "hidden")
    assert completed.stdout == b"/work 1 2\n"
    assert SANDBOX.mounted("oracle", {}) == "/mnt/oracle"
    assert sorted(os.listdir(tmp_path / "work")) == ["a"]


def test_a_job_sees_no_file_of_the_host_and_nothing_of_its_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VERY_SECRET_TOKEN", "value-of-a-secret")
    (tmp_path / "work").mkdir()
    (tmp_path / "secret").write_text("host", encoding="utf-8")
    code = """
import os, sys
print([p for p in (sys.argv[1], "/etc/passwd", "/var", sys.argv[2]) if os.path.exists(p)])
print(sorted(os.environ))
print([e for p in os.listdir("/proc") if p.isdigit() for e in [open(f"/proc/{p}/environ").read()] if "SECRET" in e])
"""
    completed = run(code, tmp_path / "work", str(tmp_path / "secret"), str(Path(__file__)))
    lines = completed.stdout.decode().splitlines()
    assert lines[0] == "[]"
    assert set(eval(lines[1])) <= {"PATH", "LANG", "HOME", "TMPDIR", "PWD", "LC_CTYPE", *GRADER_ENV}
    assert lines[2] == "[]"


def test_a_job_reaches_no_network(tmp_path: Path) -> None:
    code = """
import socket, sys
for family, address in ((socket.AF_INET, ("127.0.0.1", int(sys.argv[1]))), (socket.AF_INET, ("8.8.8.8", 53))):
    try: socket.socket(family).connect(address); print("reached", address)
    except OSError: print("no")
"""
    with socket.create_server(("127.0.0.1", 0)) as server:
        completed = run(code, tmp_path, str(server.getsockname()[1]))
    assert completed.stdout == b"no\nno\n"


def test_time_that_is_up_ends_the_job(tmp_path: Path) -> None:
    mark = uuid.uuid4().hex
    started = time.monotonic()
    completed = run("print('begun', flush=True)\nwhile True: pass", tmp_path, mark, wall_s=1)
    assert completed.exit_code is None
    assert completed.stdout == b"begun\n"
    assert time.monotonic() - started < 10
    assert gone(mark)


@pytest.mark.parametrize("ending", ["sys.exit(0)", "os._exit(0)", "time.sleep(60)"])
def test_a_child_in_a_session_of_its_own_dies_with_the_job(tmp_path: Path, ending: str) -> None:
    mark = uuid.uuid4().hex
    code = f"""
import os, subprocess, sys, time
subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)", sys.argv[1]],
    start_new_session=True)
print("started", flush=True)
{ending}
"""
    completed = run(code, tmp_path, mark, wall_s=2)
    assert completed.stdout == b"started\n"
    assert gone(mark)


def test_memory_beyond_the_limit_is_refused(tmp_path: Path) -> None:
    code = "try: bytearray(3 * 1024 ** 3); print('got it')\nexcept MemoryError: print('refused')"
    assert run(code, tmp_path).stdout == b"refused\n"


def test_output_is_cut_at_the_cap_and_a_file_cannot_grow_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "OUTPUT_CAP", 1000)
    monkeypatch.setattr(base, "FILE_SIZE_CAP", 1_000_000)
    code = """
import sys
try:
    while True: sys.stdout.buffer.write(b"x" * 100_000)
except OSError: pass
"""
    completed = run(code, tmp_path)
    assert completed.exit_code != 0 or len(completed.stdout) == 1000
    assert len(completed.stdout) <= 1000


def test_a_program_that_is_not_there_is_the_environments_fault_or_a_failure(tmp_path: Path) -> None:
    completed = SANDBOX.run(Job(argv=("/usr/bin/no-such-program",), folder=tmp_path, wall_s=10))
    assert completed.exit_code not in (0, None)


@pytest.mark.parametrize("text", ["bwrap: setting up uid map: Permission denied", "bwrap: "])
def test_a_job_that_imitates_bubblewraps_own_errors_is_only_a_job_that_failed(tmp_path: Path, text: str) -> None:
    completed = run(f"import os, sys; sys.stderr.write({text!r}); sys.stderr.flush(); os._exit(1)", tmp_path)
    assert completed == Completed(exit_code=1, stdout=b"", stderr=text.encode())


def test_a_folder_that_is_not_there_is_the_environments_fault(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFault, match="bubblewrap does not work here: bwrap: "):
        run("print(1)", tmp_path / "missing")


def test_a_bubblewrap_that_cannot_be_started_is_the_environments_fault(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFault, match="cannot be started"):
        Bubblewrap("/nonexistent/bwrap").run(Job(argv=("true",), folder=tmp_path, wall_s=5))


def test_the_preflight_believes_only_what_it_has_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert find_bubblewrap() == (None, "bubblewrap is not installed (Debian, Ubuntu: apt install bubblewrap)")


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("exit 0", "no answer"),
        ('while [ "$1" != -- ]; do shift; done; shift; exec "$@"', "it can read the host's files"),
        ("echo 'bwrap: No permissions to create a new namespace' >&2; exit 1", "No permissions"),
        ("echo strange >&2; exit 3", "strange"),
    ],
)
def test_a_bubblewrap_that_does_not_contain_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, says: str
) -> None:
    fake = tmp_path / "bwrap"
    fake.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    fake.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda _: str(fake))
    sandbox, reason = find_bubblewrap()
    assert sandbox is None
    assert says in reason


@pytest.mark.parametrize("script", ["exit 0", "exit 1", "echo 'killed' >&2; kill -9 $$"])
def test_an_end_before_the_job_began_is_the_environments_fault(tmp_path: Path, script: str) -> None:
    fake = tmp_path / "bwrap"
    fake.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    fake.chmod(0o755)
    with pytest.raises(EnvironmentFault, match=r"bubblewrap does not work here: (no answer|killed)"):
        Bubblewrap(str(fake)).run(Job(argv=("true",), folder=tmp_path, wall_s=10))

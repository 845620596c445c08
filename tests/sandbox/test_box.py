"""A box for agents: what it lets through, what it denies, and how it ends."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from evolve.errors import EnvironmentFault
from evolve.sandbox.base import base_python
from evolve.sandbox.box import BoxEnd, BoxJob, BoxLimits, BubblewrapBox, Stop
from evolve.sandbox.box_preflight import find_box, probe
from tests.sandbox.test_bubblewrap import REASON, WORKS

AS_ROOT = pytest.mark.skipif(os.getuid() != 0, reason="only root's own namespaces reach the kernel's settings")
pytestmark = pytest.mark.skipif(not WORKS, reason=REASON)


def run(tmp_path: Path, code: str, *, prompt: str = "", **limits: Any) -> tuple[BoxEnd, str]:
    for name in ("work", "home", "gateway"):
        (tmp_path / name).mkdir(exist_ok=True)
    (tmp_path / "prompt").write_text(prompt)
    job = BoxJob(
        argv=(base_python(), "-I", "-S", "-u", "-c", code),
        env={"GIVEN": "yes"},
        work=tmp_path / "work",
        home=tmp_path / "home",
        prompt=tmp_path / "prompt",
        gateway=tmp_path / "gateway",
        stdout=tmp_path / "out",
        stderr=tmp_path / "err",
        limits=BoxLimits(**{"wall_s": 20, **limits}),
    )
    end = BubblewrapBox(shutil.which("bwrap") or "bwrap").run(job)
    return end, (tmp_path / "out").read_text(errors="replace")


def test_the_prompt_comes_on_standard_input_and_the_exit_code_back(tmp_path: Path) -> None:
    end, said = run(tmp_path, "import sys; print(sys.stdin.read()); sys.exit(7)", prompt="hello ☃")
    assert (end.exit_code, end.stop, said) == (7, None, "hello ☃\n")


def test_the_environment_is_built_from_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_THING", "x")
    _, said = run(tmp_path, "import os; print(sorted(os.environ))")
    assert set(eval(said)) - {"LC_CTYPE"} == {"GIVEN", "HOME", "LANG", "PATH", "PWD", "TMPDIR"}


def test_its_user_has_a_name_and_there_is_no_other(tmp_path: Path) -> None:
    code = (
        "import os, pwd; print([(u.pw_name, u.pw_uid, u.pw_dir) for u in pwd.getpwall()], pwd.getpwuid(os.getuid())[0])"
    )
    assert run(tmp_path, code)[1] == "[('cell', 1000, '/box/home')] cell\n"


def test_work_and_home_are_kept_and_nothing_else_is_written(tmp_path: Path) -> None:
    code = "open('/box/work/a', 'w'); open('/box/home/b', 'w'); open('/tmp/c', 'w'); print('ok')"
    assert run(tmp_path, code)[1] == "ok\n"
    assert (tmp_path / "work/a").exists()
    assert (tmp_path / "home/b").exists()


def test_the_wall_clock_ends_it_in_order(tmp_path: Path) -> None:
    code = (
        "import signal, sys, time\n"
        "def bye(*_):\n    print('written down', flush=True); sys.exit(3)\n"
        "signal.signal(signal.SIGTERM, bye)\nprint('up', flush=True)\ntime.sleep(60)"
    )
    started = time.monotonic()
    end, said = run(tmp_path, code, wall_s=1)
    assert (end.exit_code, end.stop) == (None, Stop.WALL)
    assert said == "up\nwritten down\n"
    assert time.monotonic() - started < 5


def test_who_does_not_listen_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evolve.sandbox.box.GRACE_S", 0.3)
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up'); time.sleep(60)"
    started = time.monotonic()
    assert run(tmp_path, code, wall_s=1)[0].stop is Stop.WALL
    assert time.monotonic() - started < 6


@pytest.mark.parametrize(
    ("code", "limits", "stop"),
    [
        ("import time; time.sleep(60)", {"idle_s": 1}, Stop.IDLE),
        ("while True: print('x' * 10000)", {"output_bytes": 100_000}, Stop.OUTPUT),
        ("import time; x = bytearray(300 << 20); time.sleep(60)", {"memory_bytes": 200 << 20}, Stop.MEMORY),
        (
            "import subprocess, sys, time\n"
            "for _ in range(20): subprocess.Popen([sys.executable, '-I', '-S', '-c', 'import time; time.sleep(60)'])\n"
            "time.sleep(60)",
            {"processes": 10},
            Stop.PROCESSES,
        ),
    ],
)
def test_limits_end_it(tmp_path: Path, code: str, limits: dict[str, Any], stop: Stop) -> None:
    end, _ = run(tmp_path, code, **limits)
    assert end.stop is stop


def test_the_kernels_settings_are_out_of_reach(tmp_path: Path) -> None:
    code = (
        "import os\n"
        "found = []\n"
        "for folder, _, names in os.walk('/proc/sys'):\n"
        "    for name in names:\n"
        "        try: os.close(os.open(os.path.join(folder, name), os.O_WRONLY)); found.append(name)\n"
        "        except OSError: pass\n"
        "print(found)"
    )
    assert run(tmp_path, code)[1] == "[]\n"


@pytest.mark.parametrize("how", ["exit", "wall"])
def test_when_a_box_has_ended_all_of_it_has(tmp_path: Path, how: str) -> None:
    """What left its session must not write into the work while it is hashed and graded."""
    writer = "import time\nwhile True: open('/box/work/tick', 'a').write('x'); time.sleep(0.001)"
    code = (
        "import subprocess, sys, time\n"
        f"for _ in range(6): subprocess.Popen([sys.executable, '-I', '-S', '-c', {writer!r}], start_new_session=True)\n"
        f"time.sleep({0.3 if how == 'exit' else 60})"
    )
    for number in range(4):
        place = tmp_path / f"{number}"
        place.mkdir()
        run(place, code, wall_s=20 if how == "exit" else 0.6)
        size = (place / "work/tick").stat().st_size
        time.sleep(0.1)
        assert (place / "work/tick").stat().st_size == size


def test_shared_memory_is_bounded(tmp_path: Path) -> None:
    code = (
        "try:\n"
        "    with open('/dev/shm/x', 'wb') as file:\n"
        "        for _ in range(600): file.write(b'x' * (1 << 20))\n"
        "    print('all of it')\n"
        "except OSError as error: print(error.strerror)"
    )
    assert run(tmp_path, code)[1] == "No space left on device\n"


def test_no_file_grows_beyond_a_gibibyte(tmp_path: Path) -> None:
    code = (
        "import os\n"
        "descriptor = os.open('/box/work/big', os.O_CREAT | os.O_WRONLY)\n"
        "try:\n    os.pwrite(descriptor, b'x', 1 << 30)\nexcept OSError as error:\n    print(error.strerror)"
    )
    code = "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n" + code
    assert run(tmp_path, code)[1] == "File too large\n"


def test_a_box_is_believed_only_when_it_was_seen_to_deny() -> None:
    assert find_box().name == "bubblewrap"


@pytest.mark.parametrize(
    ("out", "into", "fault"),
    [
        ("--unshare-all", ["--unshare-user", "--unshare-uts", "--unshare-pid"], "it can reach the network"),
        ("--unshare-all", ["--unshare-user", "--unshare-uts", "--unshare-net"], "it sees the host's processes"),
        ("--proc", ["--ro-bind", "/tmp", "/tmp", "--proc"], "it can read the host's files"),
        pytest.param("/proc/sys", [], "it can write the kernel's settings", marks=AS_ROOT),
        ("--clearenv", [], "it sees the host's environment"),
    ],
)
def test_a_weak_box_is_found_out(
    out: str, into: list[str], fault: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class Weak(BubblewrapBox):
        def argv(self, job: BoxJob) -> list[str]:
            argv = super().argv(job)
            if out == "--proc":
                at = next(i for i, part in enumerate(argv) if part == "--tmpfs" and argv[i + 1] == "/tmp")
                argv[at - 2 : at + 2] = []
            if out == "/proc/sys":
                at = argv.index(out) - 1
                return [*argv[:at], *argv[at + 3 :]]
            at = argv.index(out)
            return [*argv[:at], *into, *argv[at + 1 :]]

    if out == "--clearenv":
        real = __import__("subprocess").Popen

        def popen(argv: list[str], **more: Any) -> Any:
            return real(argv, **{**more, "env": {"EVOLVE_PROBE_SECRET": "x"}})

        monkeypatch.setattr("evolve.sandbox.box.subprocess.Popen", popen)
    assert fault in probe(Weak(shutil.which("bwrap") or "bwrap"))


def test_without_bubblewrap_the_fix_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    with pytest.raises(EnvironmentFault, match="not installed") as caught:
        find_box.__wrapped__()
    assert "apt install bubblewrap" in str(caught.value.hint)


def test_the_supervisor_needs_nothing_but_the_standard_library() -> None:
    source = (Path(sys.modules[BubblewrapBox.__module__].__file__ or "").parent / "inside.py").read_text()
    imports = {line.split()[1] for line in source.splitlines() if line.startswith(("import ", "from "))}
    assert imports <= {"contextlib", "ctypes", "os", "resource", "signal", "socket", "subprocess", "sys", "threading"}


def test_a_run_ends_only_when_the_first_process_inside_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with subprocess.Popen(["sleep", "60"]) as lingering:
        monkeypatch.setattr("evolve.sandbox.box._inner_process", lambda info: os.pidfd_open(lingering.pid))
        end, _ = run(tmp_path, "pass")
        ended = lingering.poll()
        lingering.kill()
    assert (end.exit_code, ended) == (0, -signal.SIGKILL)


def test_a_box_that_cannot_be_ended_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evolve.sandbox.box.GONE_S", 0.01)
    reading, writing = os.pipe()
    monkeypatch.setattr("evolve.sandbox.box._inner_process", lambda info: reading)
    monkeypatch.setattr("evolve.sandbox.box.signal.pidfd_send_signal", lambda descriptor, number: None)
    with pytest.raises(EnvironmentFault, match="could not be ended") as caught:
        run(tmp_path, "pass")
    os.close(writing)
    assert caught.value.code == "survivors"

"""Checks that execute what the agent wrote."""

from __future__ import annotations

import os
import socket
import uuid
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.errors import EnvironmentFault
from evolve.records.checks import CommandCheck, PythonCallsCheck
from evolve.sandbox.base import Completed, Job, Sandbox
from evolve.sandbox.bubblewrap import Bubblewrap
from evolve.sandbox.host import Host
from evolve.scoring import code_checks
from evolve.scoring.code_checks import same_value
from evolve.scoring.submission import Submission
from tests.builders import write_files
from tests.sandbox.test_bubblewrap import REASON, SANDBOX, WORKS, gone

CALLS = [{"args": [2], "returns": 4}, {"args": [3], "returns": 9}]


@pytest.fixture(
    params=[
        pytest.param("bubblewrap", marks=pytest.mark.skipif(not WORKS, reason=REASON)),
        "host",
    ]
)
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    return SANDBOX if request.param == "bubblewrap" else Host()


def calls_pass(check: PythonCallsCheck, submission: Submission, sandbox: Sandbox) -> bool:
    return code_checks.python_calls(check, submission, sandbox)[0]


def command_passes(check: CommandCheck, submission: Submission, sandbox: Sandbox, oracle: Path | None) -> bool:
    return code_checks.command(check, submission, sandbox, oracle)[0]


def calls_check(**fields: Any) -> PythonCallsCheck:
    value = {"id": "c", "rule": "r", "kind": "python-calls", "function": "f", "calls": CALLS, "timeout_s": 20}
    return PythonCallsCheck.model_validate({**value, **fields})


def graded(code: str, folder: Path, sandbox: Sandbox, **fields: Any) -> bool:
    submission = Submission(reply=f"```python\n{code}\n```", folder=folder)
    return calls_pass(calls_check(**fields), submission, sandbox)


def test_a_right_function_passes_whatever_it_prints(tmp_path: Path, sandbox: Sandbox) -> None:
    code = "print('noise')\nimport sys\ndef f(x):\n    print('more'); sys.stdout.flush()\n    return x * x"
    assert graded(code, tmp_path, sandbox)


def test_code_of_a_file_and_a_bare_reply_are_graded_too(tmp_path: Path, sandbox: Sandbox) -> None:
    write_files(tmp_path, {"f.py": "def f(x): return x * x"})
    assert calls_pass(calls_check(file="f.py"), Submission("", tmp_path), sandbox)
    assert calls_pass(calls_check(), Submission("def f(x): return x ** 2", tmp_path), sandbox)
    assert not calls_pass(calls_check(file="g.py"), Submission("", tmp_path), sandbox)
    assert not calls_pass(calls_check(), Submission("", tmp_path), sandbox)


FORGED = '[{"returned": 1}, {"returned": 1}]'


@pytest.mark.parametrize(
    "code",
    [
        "def f(x): return x + x",
        "def g(x): return x * x",
        "f = 4",
        "def f(x): raise ValueError",
        "def f(x): return {1, 2}",
        "def f(x): return float('nan')",
        "def f(x): return 10 ** 400",
        "def f(x): return True",
        "def f(x): return [x * x]",
        "def f(x): return str(x * x)",
        "def f(x):\n    a = []\n    a.append(a)\n    return a",
        "def f(x): return f(x)",
        "syntax error(",
        "import sys; sys.exit(0)",
        "def f(x):\n    import sys; sys.exit(0)",
        "import os; os._exit(0)",
        "def f(x):\n    import os; os._exit(0)",
        f"print('{FORGED}'); import os; os._exit(0)",
        f"import os\nfor n in range(3, 20):\n  try: os.write(n, b'{FORGED}')\n  except OSError: pass\nos._exit(0)",
        f"import __main__, os\n__main__.answer.write('{FORGED}'); __main__.answer.flush(); os._exit(0)",
        "import __main__\n__main__.json.dump = lambda *a: None\ndef f(x): return x * x",
        "import os\ndef f(x): return x * x\nos.kill(os.getpid(), 9)",
        "import os, sys\nsys.stderr.write('bwrap: no'); sys.stderr.flush(); os._exit(1)",
        "def f(x):\n    class Same(int):\n        __eq__ = lambda s, o: True\n    return Same(5)",
        "def f(x): return bytearray(3 * 1024 ** 3) and x * x",
    ],
)
def test_code_that_does_not_return_the_right_values_never_passes(tmp_path: Path, sandbox: Sandbox, code: str) -> None:
    assert graded(code, tmp_path, sandbox) is False


@pytest.mark.parametrize("code", ["while True: pass", "def f(x):\n    while True: pass", "import time; time.sleep(99)"])
def test_code_that_never_ends_fails_when_its_time_is_up(tmp_path: Path, sandbox: Sandbox, code: str) -> None:
    assert graded(code, tmp_path, sandbox, timeout_s=0.7) is False


@pytest.mark.parametrize("sandbox_name", ["bubblewrap", "host"])
def test_a_child_left_behind_does_not_outlive_the_check(tmp_path: Path, sandbox_name: str) -> None:
    if sandbox_name == "bubblewrap" and not WORKS:
        pytest.skip(REASON)
    mark = uuid.uuid4().hex
    session = sandbox_name == "bubblewrap"
    code = (
        f"import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)', '{mark}'], "
        f"start_new_session={session})\ndef f(x): return x * x"
    )
    assert graded(code, tmp_path, SANDBOX if session else Host())
    assert gone(mark)


@pytest.mark.skipif(not WORKS, reason=REASON)
def test_contained_code_reads_no_host_file_no_environment_and_no_socket_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VERY_SECRET_TOKEN", "value-of-a-secret")
    work = tmp_path / "work"
    work.mkdir()
    (tmp_path / "secret").write_text("host", encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code = f"""
import os, socket
def f(what):
    if what == "file": return os.path.exists({str(tmp_path / "secret")!r})
    if what == "environment": return "VERY_SECRET_TOKEN" in os.environ
    if what == "socket":
        try: socket.create_connection(("127.0.0.1", {port}), 1); return True
        except OSError: return False
    try: open("/work/new", "w"); return True
    except OSError: return False
"""
        calls = [{"args": [what], "returns": False} for what in ("file", "environment", "socket", "write")]
        assert graded(code, work, SANDBOX, calls=calls)
    assert os.listdir(work) == []


def test_the_expected_values_never_enter_the_process(tmp_path: Path) -> None:
    class Seen:
        name = "seen"

        def __init__(self) -> None:
            self.jobs: list[Job] = []

        def run(self, job: Job) -> Completed:
            self.jobs.append(job)
            return Completed(0, b'[{"returned": 4}, {"returned": 987654321}]', b"")

        def mounted(self, name: str, job_mounts: object) -> str:
            return name

    seen = Seen()
    calls = [{"args": [2], "returns": 4}, {"args": [3], "returns": 987654321}]
    assert graded("def f(x): ...", tmp_path, seen, calls=calls)
    job = seen.jobs[0]
    assert b"987654321" not in job.stdin + " ".join(job.argv).encode()
    assert job.mounts == {}


@pytest.mark.parametrize(
    ("exit_code", "stdout"),
    [
        (0, b""),
        (0, b"not json"),
        (0, b"[" * 100_000),
        (0, b"{}"),
        (0, b"[]"),
        (0, b'[{"returned": 4}]'),
        (0, b'[{"returned": 4}, {"returned": 9}, {"returned": 9}]'),
        (0, b'[{"returned": 4}, 9]'),
        (0, b'[{"returned": 4}, {"error": "ValueError"}]'),
        (0, b"\xff"),
        (1, b'[{"returned": 4}, {"returned": 9}]'),
        (None, b'[{"returned": 4}, {"returned": 9}]'),
    ],
)
def test_an_answer_of_another_shape_fails(tmp_path: Path, exit_code: int | None, stdout: bytes) -> None:
    class Answering(Host):
        def run(self, job: Job) -> Completed:
            return Completed(exit_code, stdout, b"")

    assert graded("def f(x): ...", tmp_path, Answering()) is False


@pytest.mark.parametrize(
    ("found", "wanted", "same"),
    [
        (1, 1, True),
        (1, 1.0, True),
        (0.1 + 0.2, 0.3, True),
        (0.3001, 0.3, False),
        (True, 1, False),
        (1, True, False),
        (True, True, True),
        (None, None, True),
        (None, 0, False),
        ("a", "a", True),
        ([1, [2.0]], (1, (2,)), True),
        ([1, 2], [1], False),
        ({"a": 1}, {"a": 1.0}, True),
        ({"a": 1}, {"b": 1}, False),
        ({}, [], False),
        (float("nan"), 1.0, False),
        (float("inf"), 1.0, False),
        (10**400, 1.0, False),
        (10**400, 10**400, True),
        (10**400, 10**400 + 1, False),
    ],
)
def test_values_are_compared_by_kind_and_within_a_tolerance(found: object, wanted: object, same: bool) -> None:
    assert same_value(found, wanted, 1e-9) is same


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=6,
)


@given(json_values, json_values)
def test_comparing_is_reflexive_symmetric_and_never_raises(one: object, two: object) -> None:
    assert same_value(one, one, 1e-9)
    assert same_value(one, two, 1e-9) == same_value(two, one, 1e-9)


def command_check(*argv: str, timeout_s: float = 20) -> CommandCheck:
    return CommandCheck(id="c", rule="r", kind="command", argv=argv, timeout_s=timeout_s)


def test_a_command_succeeds_by_its_exit_code_over_work_and_oracle(tmp_path: Path, sandbox: Sandbox) -> None:
    work = write_files(tmp_path / "work", {"a": "1"})
    oracle = write_files(tmp_path / "oracle", {"check.py": "import sys; sys.exit(open('a').read() != sys.argv[1])"})
    submission = Submission("", work)
    for wanted, passes in (("1", True), ("2", False)):
        check = command_check("{python}", "-I", "{oracle}/check.py", wanted)
        assert command_passes(check, submission, sandbox, oracle) is passes


def test_a_command_without_an_oracle_sees_none(tmp_path: Path, sandbox: Sandbox) -> None:
    submission = Submission("", tmp_path)
    assert not command_passes(command_check("/bin/ls", "{oracle}"), submission, sandbox, None)
    assert command_passes(command_check("/bin/ls"), submission, sandbox, None)


def test_a_command_that_never_ends_fails(tmp_path: Path, sandbox: Sandbox) -> None:
    check = command_check("/bin/sleep", "60", timeout_s=0.5)
    assert not command_passes(check, Submission("", tmp_path), sandbox, None)


def test_a_sandbox_that_does_not_work_is_an_environment_fault_and_no_verdict(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFault):
        graded("def f(x): return x * x", tmp_path, Bubblewrap("/nonexistent/bwrap"))

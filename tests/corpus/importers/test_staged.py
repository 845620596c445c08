"""The programs that are copied into tasks, run here as they are run there."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from evolve.corpus.importers.staged import container_script, named_tests, named_tests_plugin, standalone_checks
from tests.builders import write_files
from tests.worlds import git


def settings(**fields: Any) -> str:
    return json.dumps({"workdir": "/app", "env": {"WORD": "hello"}, "verify": None, **fields})


def stand_in(monkeypatch: pytest.MonkeyPatch, module: Any, oracle: Path, work: Path, *arguments: str) -> int:
    """Run a program's main function as if it lay in a folder, over work."""
    monkeypatch.setattr(module, "HERE", oracle)
    monkeypatch.setattr(sys, "argv", ["program", *arguments])
    monkeypatch.chdir(work)
    return int(module.main())


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ("grep -q $WORD /app/a.txt && echo 1 > /logs/verifier/reward.txt", 0),
        ("echo 0.5 > /logs/verifier/reward.txt", 1),
        ("exit 0", 1),
        ("ln -s /dev/zero /logs/verifier/reward.txt", 1),
    ],
)
def test_the_reward_of_a_container_script_is_the_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, code: int
) -> None:
    oracle = write_files(tmp_path / "oracle", {"settings.json": settings(), "tests/test.sh": script})
    work = write_files(tmp_path / "work", {"a.txt": "hello\n"})
    assert stand_in(monkeypatch, container_script, oracle, work, "verify") == code


@pytest.mark.parametrize(("name", "code"), [("/app/a.txt", 0), ("/app/b.txt", 1)])
def test_a_declared_verifier_ends_as_its_command_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, code: int
) -> None:
    oracle = write_files(tmp_path / "oracle", {"settings.json": settings(verify=["test", "-f", name])})
    work = write_files(tmp_path / "work", {"a.txt": ""})
    assert stand_in(monkeypatch, container_script, oracle, work, "verify") == code


def test_what_a_solution_made_is_told_with_the_paths_of_the_container(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    solve = "echo 'cat /app/a.txt' > /app/b.sh\nrm /app/gone.txt\nln -s a.txt /app/link\nexit 3\n"
    oracle = write_files(tmp_path / "oracle", {"settings.json": settings(), "solution/solve.sh": solve})
    work = write_files(tmp_path / "work", {"a.txt": "hello\n", "gone.txt": "", "same.sh": "ls /app\n"})
    assert stand_in(monkeypatch, container_script, oracle, work, "solve") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["exit"], told["odd"]) == (3, ["link", "gone.txt"])
    assert {path: content for path, (content, _) in told["files"].items()} == {"b.sh": "Y2F0IC9hcHAvYS50eHQK"}
    assert (work / "gone.txt").exists()


PATCH = "--- /dev/null\n+++ b/test_b.py\n@@ -0,0 +1,4 @@\n+import a\n+\n+def test_new():\n+    assert a.x == 2\n"


@pytest.mark.parametrize(
    ("content", "kept", "patch", "code"),
    [
        ("x = 2\n", ["test_a.py::test_old"], PATCH, 0),
        ("x = 1\n", ["test_a.py::test_old"], PATCH, 1),
        ("x = 2\n", ["test_a.py::test_none"], PATCH, 1),
        ("x = 2\nimport os; os._exit(0)\n", ["test_a.py::test_old"], PATCH, 1),
        ("x = 2\n", ["test_a.py::test_old"], "--- a/no.py\n+++ b/no.py\n@@ -1 +1 @@\n-a\n+b\n", 1),
    ],
)
def test_named_tests_must_all_be_run_and_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str, kept: list[str], patch: str, code: int
) -> None:
    tests = {"fail_to_pass": ["test_b.py::test_new"], "pass_to_pass": kept, "files": ["test_b.py", "test_a.py"]}
    plugin = Path(named_tests_plugin.__file__).read_bytes()
    files: dict[str, str | bytes] = {
        "tests.json": json.dumps(tests),
        "test.patch": patch,
        "named_tests_plugin.py": plugin,
    }
    work = write_files(tmp_path / "work", {"a.py": content, "test_a.py": "def test_old(): pass\n"})
    git(work, "init", "--quiet")
    git(work, "add", "--all")
    git(work, "commit", "--quiet", "--message", "Start")
    write_files(work, {"test_a.py": "spoilt"})
    (work / ".venv").symlink_to(sys.prefix)
    assert stand_in(monkeypatch, named_tests, write_files(tmp_path / "oracle", files), work) == code


def test_the_plugin_leaves_out_what_was_not_named_and_keeps_the_worst_outcome(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(tmp_path, {"tests.json": json.dumps({"fail_to_pass": ["a"], "pass_to_pass": ["b"]})})
    monkeypatch.setattr(named_tests_plugin, "HERE", tmp_path)
    monkeypatch.setenv("NAMED_TESTS_OUTCOMES", str(tmp_path / "out.json"))
    monkeypatch.setattr(named_tests_plugin, "_ENDED", {})
    items, left = [SimpleNamespace(nodeid=name) for name in "abc"], []
    config = SimpleNamespace(hook=SimpleNamespace(pytest_deselected=lambda items: left.extend(items)))
    named_tests_plugin.pytest_collection_modifyitems(config, items)
    assert ([item.nodeid for item in items], [item.nodeid for item in left]) == (["a", "b"], ["c"])
    for name, outcome, more in (
        ("a", "passed", {}),
        ("a", "failed", {}),
        ("a", "passed", {}),
        ("b", "skipped", {"wasxfail": ""}),
        ("c", "skipped", {}),
    ):
        report = SimpleNamespace(nodeid=name, outcome=outcome, skipped=outcome == "skipped", **more)
        named_tests_plugin.pytest_runtest_logreport(report)
    named_tests_plugin.pytest_sessionfinish()
    assert json.loads((tmp_path / "out.json").read_text()) == {"a": "failed", "b": "passed", "c": "skipped"}


@pytest.mark.parametrize(("reply", "reward"), [("yes", "1\n"), ("no", "0\n"), (None, "0\n")])
def test_the_exported_checks_write_the_reward(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reply: str | None, reward: str
) -> None:
    spec = {"answer_file": "answer.md", "checks": [{"id": "a", "kind": "equals", "any_of": ["yes"]}]}
    oracle = write_files(tmp_path / "tests", {"checks.json": json.dumps(spec)})
    work = write_files(tmp_path / "work", {"other": ""} if reply is None else {"answer.md": reply})
    written = tmp_path / "logs/verifier/reward.txt"
    assert stand_in(monkeypatch, standalone_checks, oracle, work, str(work), str(written)) == 0
    assert written.read_text() == reward


def test_an_exported_check_reads_no_link_and_waits_for_nobody(tmp_path: Path) -> None:
    write_files(tmp_path, {"real/a.ini": "[a]\nb = 1\n"})
    (tmp_path / "a.ini").symlink_to("real/a.ini")
    (tmp_path / "linked").symlink_to("real")
    graded = standalone_checks.Graded("", tmp_path)
    ini = {"id": "i", "kind": "ini-options", "options": {"a.b": "1"}}
    for name, passes in (("real/a.ini", True), ("a.ini", False), ("linked/a.ini", False), ("none.ini", False)):
        assert standalone_checks.ini_options({**ini, "file": name}, graded) is passes
    slow = {"argv": ["{python}", "-c", "import time; time.sleep(60)"], "timeout_s": 0.2}
    assert standalone_checks.command(slow, graded) is False
    assert standalone_checks.command({"argv": ["/no/such"], "timeout_s": 1}, graded) is False

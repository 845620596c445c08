"""Instruments that lie are caught; honest ones leave everything as it was, and cells never share a module."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from evolve.corpus.loading import LoadedTask
from evolve.corpus.selftest import check_task
from evolve.scoring import verify
from evolve.scoring.submission import Submission
from evolve.scoring.verify import Verdict, judge
from tests.builders import make_task
from tests.conftest import CommandLine
from tests.corpus.test_hostile_corpora import tree
from tests.sandbox.test_bubblewrap import REASON, SANDBOX, WORKS

pytestmark = pytest.mark.skipif(not WORKS, reason=REASON)
SAFE = 'test "$(cat out.txt)" = safe'


def axes(safe: str = SAFE, **fields: Any) -> LoadedTask:
    """Return an edit task with a check of each axis; its bad reference is right and unsafe."""
    checks = [
        {"id": "right", "rule": "Write.", "kind": "command", "argv": ["/bin/sh", "-c", "test -s out.txt"]},
        {"id": "safe", "rule": "Be safe.", "axis": "safe", "kind": "command", "argv": ["/bin/sh", "-c", safe]},
    ]
    files = {"seed": {"in.txt": "x"}, "good": {"out.txt": "safe"}, "bad": {"out.txt": "danger"}}
    return make_task(kind="edit", checks=checks, **{**files, "bad_fails": "safe", **fields})


def codes(task: LoadedTask) -> list[str]:
    return [fault.code for fault in check_task(task, SANDBOX)]


@pytest.mark.parametrize(("lie", "caught"), [(True, "bad-passes"), (False, "good-fails")])
def test_a_scorer_that_always_says_the_same_is_caught(lie: bool, caught: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert codes(axes()) == []
    monkeypatch.setattr(verify, "verdict_of", lambda *_: Verdict(lie, float(lie)))
    assert caught in codes(axes())
    assert caught in codes(make_task())


def test_a_bad_reference_fails_on_the_axis_that_it_is_about() -> None:
    assert codes(axes()) == []
    assert codes(axes(bad_fails="correct")) == ["bad-passes-axis"]
    assert codes(axes(bad={"out.txt": ""})) == ["bad-is-wrong"]
    assert codes(axes(bad={"out.txt": "safe"})) == ["bad-passes"]


def test_an_empty_workspace_and_the_untouched_seed_must_fail() -> None:
    always = [{"id": "c", "rule": "r", "kind": "command", "argv": ["/bin/sh", "-c", "! test -e bad.txt"]}]
    task = make_task(kind="edit", checks=always, seed={"in.txt": "x"}, good={"a": "1"}, bad={"bad.txt": "1"})
    assert codes(task) == ["idle-passes", "empty-passes"]


def test_a_fault_names_the_task_the_check_and_what_it_said() -> None:
    fault = check_task(axes("echo out.txt is not what it should be >&2; exit 1"), SANDBOX)[0]
    assert (fault.task, fault.code) == ("task-1", "good-fails")
    assert fault.text == "the good reference fails oracle: safe (exit 1: out.txt is not what it should be)"


def test_checking_leaves_files_and_environment_as_they_were(workspace: Path, evolve: CommandLine) -> None:
    before, environment = tree(workspace), dict(os.environ)
    assert evolve("check").code == 0
    assert (tree(workspace), dict(os.environ)) == (before, environment)


def counts() -> LoadedTask:
    """Return a task whose function must be the submission's own."""
    calls = [{"args": [], "returns": 1}, {"args": [], "returns": 2}]
    check = {"id": "c", "rule": "r", "kind": "python-calls", "function": "count", "calls": calls}
    return make_task(checks=[check])


def test_cells_that_are_scored_at_once_never_share_a_module(tmp_path: Path) -> None:
    right = "state = []\ndef count():\n    state.append(1)\n    return len(state)\n"
    wrong = "import sys\nsys.modules['state'] = 7\ndef count():\n    return 7\n"
    task = counts()

    def score(number: int) -> bool:
        folder = tmp_path / str(number)
        folder.mkdir()
        return judge(task, Submission(right if number % 2 else wrong, folder), SANDBOX).passed

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(score, range(16))) == [bool(number % 2) for number in range(16)]


PLANTS = {
    "conftest.py": "def pytest_collection_modifyitems(items):\n    items.clear()\n",
    "pytest.ini": "[pytest]\naddopts = --collect-only\n",
    "sitecustomize.py": "import os\nos._exit(0)\n",
    "usercustomize.py": "import os\nos._exit(0)\n",
    "unittest.py": "import os\nos._exit(0)\n",
    "json.py": "import os\nos._exit(0)\n",
    "setup.cfg": "[tool:pytest]\naddopts = --collect-only\n",
    "package.json": '{"scripts": {"test": "exit 0"}}',
    ".pythonrc": "import os\nos._exit(0)\n",
}
CHECKER = """
import importlib.util, json, sys, unittest
spec = importlib.util.spec_from_file_location("work_app", "app.py")
app = importlib.util.module_from_spec(spec)
spec.loader.exec_module(app)

class Checks(unittest.TestCase):
    def test_it(self):
        self.assertEqual(app.double(3), 6)

unittest.main(argv=["x"])
"""


@pytest.mark.parametrize("plant", PLANTS)
def test_what_an_agent_plants_does_not_turn_a_hidden_check(plant: str) -> None:
    check = {"id": "c", "rule": "r", "kind": "command", "argv": ["{python}", "-I", "-B", "{oracle}/check.py"]}
    wrong = {"app.py": "def double(x):\n    return x\n", plant: PLANTS[plant]}
    right = {"app.py": "def double(x):\n    return 2 * x\n", plant: PLANTS[plant]}
    task = make_task(
        kind="edit", checks=[check], oracle_files={"check.py": CHECKER}, seed={"app.py": ""}, good=right, bad=wrong
    )
    assert codes(task) == []

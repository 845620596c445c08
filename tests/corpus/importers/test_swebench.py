"""Importing SWE-bench instances."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from evolve.corpus.loading import load_task
from tests.builders import write_files
from tests.conftest import CommandLine
from tests.worlds import git

OLD = "def mean(values):\n    return sum(values) / len(values)\n"
NEW = "def mean(values):\n    return sum(values) / len(values) if values else 0\n"
TESTS = "from stats import mean\n\n\ndef test_mean():\n    assert mean([1, 3]) == 2\n"
MORE = TESTS + "\n\ndef test_nothing():\n    assert mean([]) == 0\n\n\ndef test_other():\n    assert False\n"


@pytest.fixture
def clones(tmp_path: Path) -> Path:
    root = tmp_path / "clones"
    write_files(root / "acme__stats", {"stats.py": OLD, "tests/test_stats.py": TESTS, "conftest.py": ""})
    git(root / "acme__stats", "init", "--quiet", "--initial-branch", "main")
    git(root / "acme__stats", "add", "--all")
    git(root / "acme__stats", "commit", "--quiet", "--message", "Start")
    return root


@pytest.fixture
def venv(tmp_path: Path) -> str:
    """Make a virtual environment that holds pytest and nothing else."""
    made = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(made)], check=True)
    target = next(made.glob("lib/python*/site-packages"))
    for name in ("_pytest", "pytest", "pluggy", "iniconfig", "packaging", "pygments"):
        shutil.copytree(Path(pytest.__file__).parent.parent / name, target / name)
    shutil.copy(Path(pytest.__file__).parent.parent / "py.py", target)
    return str(made)


def patch_of(clone: Path, files: Mapping[str, str]) -> str:
    """Return the patch that makes files of what a clone holds, and leave the clone as it was."""
    write_files(clone, files)
    git(clone, "add", "--all")
    made = git(clone, "diff", "--cached", "--binary") + "\n"
    git(clone, "reset", "--quiet", "--hard")
    return made


def instance(clones: Path, **fields: Any) -> dict[str, Any]:
    clone = clones / "acme__stats"
    value = {
        "instance_id": "acme__stats-17",
        "repo": "acme/stats",
        "base_commit": git(clone, "rev-parse", "HEAD"),
        "problem_statement": "mean([]) should be 0, and divides by zero.",
        "hints_text": "not read",
        "version": "1.2",
        "patch": patch_of(clone, {"stats.py": NEW}),
        "test_patch": patch_of(clone, {"tests/test_stats.py": MORE}),
        "FAIL_TO_PASS": json.dumps(["tests/test_stats.py::test_nothing"]),
        "PASS_TO_PASS": ["tests/test_stats.py::test_mean"],
    }
    return {**value, **fields}


def write_lines(path: Path, *values: Any) -> str:
    path.write_text("".join(json.dumps(value) + "\n" for value in values))
    return str(path)


def test_with_a_clone_an_instance_becomes_a_task_whose_references_pass_and_fail(
    workspace: Path, tmp_path: Path, clones: Path, venv: str, evolve: CommandLine
) -> None:
    file = write_lines(tmp_path / "some.jsonl", instance(clones))
    ran = evolve("corpus", "import", "swebench", file, "--repository-root", str(clones), "--venv", venv)
    assert ran.code == 0, ran.err
    task = load_task(workspace / "corpus/acme-stats-17")
    assert task.task.repository is not None and task.task.repository.path == str(clones / "acme__stats")
    assert dict(task.good.texts()) == {"stats.py": NEW}
    assert dict(task.bad.texts()) == {"stats.py": OLD}
    assert task.task.tags == ("acme/stats", "1.2")
    assert [(one.path, one.source) for one in task.task.dependencies] == [(".venv", venv)]
    assert git(clones / "acme__stats", "status", "--porcelain") == ""
    ran = evolve("check")
    assert ran.code == 0, ran.err + ran.out
    assert ", 0 faults" in ran.out


def test_without_a_clone_a_task_names_the_address_and_what_is_left_to_be_done(
    workspace: Path, tmp_path: Path, clones: Path, evolve: CommandLine
) -> None:
    many = [instance(clones, instance_id=f"acme__stats-{number}") for number in range(3)]
    ran = evolve("corpus", "import", "swebench", write_lines(tmp_path / "s.jsonl", *many), "--limit", "2", "--json")
    assert ran.code == 0
    assert [item["id"] for item in ran.json()["imported"]] == ["acme-stats-0", "acme-stats-1"]
    assert "--repository-root" in ran.json()["imported"][0]["notes"][0]
    task = load_task(workspace / "corpus/acme-stats-0")
    assert task.task.repository is not None and task.task.repository.url == "https://github.com/acme/stats"
    assert sorted(task.oracle_files.files) == [
        "named_tests.py",
        "named_tests_plugin.py",
        "oracle.yaml",
        "test.patch",
        "tests.json",
    ]
    assert (task.good.files, task.bad.files) == ({}, {})
    assert "# references are missing" in (workspace / "corpus/acme-stats-0/task.yaml").read_text()


def test_a_change_of_new_and_removed_files_has_references_too(
    workspace: Path, tmp_path: Path, clones: Path, evolve: CommandLine
) -> None:
    clone = clones / "acme__stats"
    git(clone, "rm", "--quiet", "stats.py")
    write_files(clone, {"stats/__init__.py": NEW})
    git(clone, "add", "--all")
    patch = git(clone, "diff", "--cached") + "\n"
    git(clone, "reset", "--quiet", "--hard")
    file = write_lines(tmp_path / "s.jsonl", instance(clones, patch=patch))
    ran = evolve("corpus", "import", "swebench", file, "--repository-root", str(clones))
    assert ran.code == 0 and "the patch removes stats.py" in ran.out
    task = load_task(workspace / "corpus/acme-stats-17")
    assert (dict(task.good.texts()), dict(task.bad.texts())) == ({"stats/__init__.py": NEW}, {"stats/__init__.py": ""})


LINK = (
    "diff --git a/x b/x\nnew file mode 120000\n--- /dev/null\n+++ b/x\n"
    "@@ -0,0 +1 @@\n+/etc/passwd\n\\ No newline at end of file\n"
)
OUTSIDE = "--- a/../../x\n+++ b/../../x\n@@ -0,0 +1 @@\n+x\n"


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"repo": "../etc"}, "s.jsonl:1: repo: "),
        ({"repo": "a/b/c"}, "s.jsonl:1: repo: "),
        ({"base_commit": "main"}, "s.jsonl:1: base_commit: "),
        ({"base_commit": "0" * 40}, "has no commit 000000000000"),
        ({"repo": "acme/none"}, "has no clone of acme/none"),
        ({"problem_statement": ""}, "s.jsonl:1: problem_statement: "),
        ({"problem_statement": None}, "s.jsonl:1: problem_statement: must be text"),
        ({"problem_statement": "x" * 70_000}, "prompt: "),
        ({"problem_statement": "a\0b"}, "s.jsonl:1: problem_statement: holds a NUL"),
        ({"problem_statement": "\ud800"}, "s.jsonl:1: problem_statement: holds a NUL or half a character"),
        ({"instance_id": "///"}, "is not an id for a task"),
        ({"instance_id": "x" * 100}, "is not an id for a task"),
        ({"FAIL_TO_PASS": "[]"}, "s.jsonl:1: FAIL_TO_PASS: names no test"),
        ({"FAIL_TO_PASS": "["}, "s.jsonl:1: FAIL_TO_PASS: must be a list of texts"),
        ({"FAIL_TO_PASS": [1]}, "s.jsonl:1: FAIL_TO_PASS: must be a list of texts"),
        ({"PASS_TO_PASS": {}}, "s.jsonl:1: PASS_TO_PASS: must be a list of texts"),
        ({"FAIL_TO_PASS": ["test_x (app.tests)"]}, "FAIL_TO_PASS[0]: 'test_x (app.tests)' is no test id of pytest"),
        ({"FAIL_TO_PASS": ["../x.py::test"]}, "FAIL_TO_PASS[0]: '../x.py' is not a path inside"),
        ({"FAIL_TO_PASS": ["/x.py::test"]}, "FAIL_TO_PASS[0]: '/x.py' is not a path inside"),
        ({"patch": "nonsense"}, "patch: not a patch"),
        ({"patch": OUTSIDE}, "patch: "),
        ({"test_patch": OUTSIDE}, "test_patch: "),
        ({"patch": LINK}, "patch: makes x a link"),
        ({"test_patch": "--- a/stats.py\n+++ b/stats.py\n@@ -1 +1 @@\n-no\n+yes\n"}, "test_patch: does not apply"),
    ],
)
def test_an_instance_that_cannot_be_meant_is_refused_with_its_field_and_nothing_is_written(
    workspace: Path, tmp_path: Path, clones: Path, evolve: CommandLine, fields: dict[str, Any], reason: str
) -> None:
    before = sorted(path.name for path in (workspace / "corpus").iterdir())
    file = write_lines(tmp_path / "s.jsonl", instance(clones, **fields))
    ran = evolve("corpus", "import", "swebench", file, "--repository-root", str(clones))
    assert ran.code == 2
    assert reason in ran.err
    assert sorted(path.name for path in (workspace / "corpus").iterdir()) == before


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\xff\n", "s.jsonl:1: not UTF-8 (byte 0)"),
        (b"{\n", "s.jsonl:1: not JSON"),
        (b"[" * 100_000 + b"\n", "s.jsonl:1: not JSON"),
        (b"[]\n", "s.jsonl:1: must be an object"),
        (b'{"repo": "a/b"}\n', "s.jsonl:1: base_commit: is missing"),
        (b"x" * (16 * 1024 * 1024 + 1), "more than 16777216 bytes in a line"),
        (b"", "no task could be imported"),
    ],
)
def test_a_file_that_is_none_is_refused(
    workspace: Path, tmp_path: Path, evolve: CommandLine, content: bytes, reason: str
) -> None:
    (tmp_path / "s.jsonl").write_bytes(content)
    ran = evolve("corpus", "import", "swebench", str(tmp_path / "s.jsonl"))
    assert ran.code == 2 and reason in ran.err
    assert evolve("corpus", "import", "swebench", str(tmp_path / "none.jsonl")).code == 2


def test_two_instances_of_one_name_are_one_task_and_a_refusal(
    workspace: Path, tmp_path: Path, clones: Path, evolve: CommandLine
) -> None:
    file = write_lines(tmp_path / "s.jsonl", instance(clones), instance(clones, instance_id="ACME--stats-17"))
    ran = evolve("corpus", "import", "swebench", file, "--json")
    assert ran.code == 0
    assert "which s.jsonl:1 has" in ran.json()["refused"][0]["reason"]

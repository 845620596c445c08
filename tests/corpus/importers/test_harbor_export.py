"""Exporting tasks as Harbor folders."""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from evolve.corpus.importers.harbor_export import export_harbor
from evolve.corpus.importers.staged import standalone_checks
from evolve.corpus.importers.staged.standalone_checks import Graded, failed
from evolve.corpus.loading import LoadedTask, load_corpus, load_task
from evolve.corpus.selftest import check_task
from evolve.errors import InputError
from evolve.records.task import ANSWER_FILE
from evolve.sandbox.choose import choose_sandbox
from evolve.snapshot import Snapshot
from tests.builders import make_task, oracle_value, write_task
from tests.conftest import CommandLine

ROOT = Path(__file__).parents[3]
SHIPPED = load_corpus(ROOT / "corpus").tasks
EXPORTED = [task for task in SHIPPED if task.task.kind != "review"]
RULE = "Do it right."


def write_kinds(corpus: Path) -> None:
    """Write a task of each kind of check that code is run for, and one of two files."""
    calls = {"id": "f", "rule": RULE, "kind": "python-calls", "function": "f", "calls": [{"args": [2], "returns": 4}]}
    script = "import pathlib, sys\nsys.exit(pathlib.Path('a/b.txt').read_text() != 'new\\n')\n"
    command = {"id": "c", "rule": RULE, "kind": "command", "argv": ["{python}", "{oracle}/check.py"]}
    write_task(
        corpus,
        "ran-calls",
        prompt="Reply with a function f that doubles.",
        skills=["bracket"],
        oracle=oracle_value(calls),
        files={
            "reference/good/answer.md": "```python\ndef f(x):\n    return 2 * x\n```\n",
            "reference/bad/answer.md": "```python\ndef f(x):\n    return x\n```\n",
        },
    )
    write_task(
        corpus,
        "ran-command",
        prompt="Make a/b.txt new.",
        skills=["bracket"],
        kind="edit",
        oracle=oracle_value(command),
        files={
            "seed/a/b.txt": "old\n",
            "seed/Dockerfile": "FROM nowhere\n",
            "oracle/check.py": script,
            "reference/good/a/b.txt": "new\n",
            "reference/bad/a/b.txt": "other\n",
        },
    )
    for task in ("ran-calls", "ran-command"):
        for part in ("good", "bad"):
            if task == "ran-command":
                (corpus / task / "reference" / part / ANSWER_FILE).unlink()


def test_what_was_exported_is_imported_again_and_passes_the_check(
    workspace: Path, tmp_path: Path, evolve: CommandLine
) -> None:
    write_kinds(workspace / "corpus")
    ran = evolve("corpus", "export", "harbor", str(tmp_path / "out"), "--split", "train")
    assert ran.code == 0, ran.err
    assert "5 exported, 0 refused" in ran.out
    assert not list(tmp_path.glob(".*"))
    back = evolve("corpus", "import", "harbor", str(tmp_path / "out"), "--prefix", "back", "--json")
    assert back.code == 0, back.out
    assert (len(back.json()["imported"]), back.json()["refused"]) == (5, [])
    task = load_task(workspace / "corpus/back-ran-command")
    assert dict(task.seed.texts()) == {"a/b.txt": "old\n", "Dockerfile": "FROM nowhere\n"}
    assert dict(task.good.texts()) == {"a/b.txt": "new\n"}
    assert "answer.md" in load_task(workspace / "corpus/back-ran-calls").task.prompt
    for item in back.json()["imported"]:
        assert item["notes"] == []
        assert check_task(load_task(workspace / "corpus" / item["id"]), choose_sandbox()) == []
    shutil.rmtree(workspace / "corpus/ran-command")  # the imported one asks the same
    assert evolve("check").code == 0


def checks_of(task: LoadedTask) -> list[dict[str, Any]]:
    return [check.json_value() for check in (*task.task.verify, *task.oracle.checks)]


@pytest.mark.parametrize("task", EXPORTED[::4], ids=lambda task: task.id)
def test_the_exported_checks_say_of_references_what_the_task_itself_says(
    task: LoadedTask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export_harbor([task], tmp_path / "out")
    monkeypatch.setattr(standalone_checks, "HERE", tmp_path / "out" / task.id / "tests")
    for name, files in (("good", task.good), ("bad", task.bad)):
        work = tmp_path / name
        task.seed.write_scratch(work)
        files.write_scratch(work)
        reply = files.text(ANSWER_FILE).strip() if ANSWER_FILE in files.files else ""
        assert bool(failed(checks_of(task), Graded(reply, work))) is (name == "bad")


CASES: list[tuple[dict[str, Any], Mapping[str, bool]]] = [
    ({"kind": "contains", "all_of": ["A"], "any_of": ["b", "c"], "ignore_case": True}, {"a b": True, "a": False}),
    ({"kind": "regex", "pattern": "^x\\d+$", "ignore_case": True}, {" X12 ": True, "x": False}),
    ({"kind": "json"}, {"[1]": True, "NaN": False}),
    ({"kind": "json-object", "keys": ["a"]}, {'{"a": 1}': True, "[]": False}),
    ({"kind": "json-value", "key": "a", "any_of": [1, "x", None]}, {'{"a": "X "}': True, '{"a": true}': False}),
    ({"kind": "code-block", "language": "py"}, {"```py\nx\n```": True, "x\n```py\nx\n```": False}),
    ({"kind": "line", "pattern": "a+", "max_chars": 3}, {"aaa": True, "aaaa": False, "a\na": False}),
    ({"kind": "equals", "any_of": ["a"]}, {"`a`": True, "b": False}),
]


@pytest.mark.parametrize(("check", "replies"), CASES, ids=lambda value: value.get("kind", ""))
def test_every_kind_of_text_check_is_exported(check: dict[str, Any], replies: Mapping[str, bool]) -> None:
    value = checks_of(make_task(checks=[{"id": "c", "rule": RULE, **check}]))
    for reply, passes in replies.items():
        assert (not failed(value, Graded(reply, Path("/nonexistent")))) is passes, reply


def test_the_folder_holds_what_the_format_asks_for(tmp_path: Path) -> None:
    task = make_task("one", good={ANSWER_FILE: "yes\n"}, tags=['a"b', "ü\x7f"])
    export_harbor([task], tmp_path / "out")
    files = Snapshot.read(tmp_path / "out/one")
    config = tomllib.loads(files.text("task.toml"))
    assert config["metadata"]["tags"] == ['a"b', "ü\x7f"]
    assert config["metadata"]["evolve"] == {"task": "one", "split": "train", "skills": ["greeter"]}
    assert files.text("environment/Dockerfile") == "FROM python:3.12-slim\nWORKDIR /app\n"
    assert files.files["tests/test.sh"].executable and files.files["solution/solve.sh"].executable
    assert "import evolve" not in files.text("tests/standalone_checks.py")
    assert files.text("solution/files/answer.md") == "yes\n"


def test_what_needs_more_than_files_is_refused_and_a_folder_in_use_too(
    workspace: Path, tmp_path: Path, evolve: CommandLine
) -> None:
    for kind in ("review", "repository"):
        evolve("corpus", "new", kind, f"new-{kind}", "--skill", "bracket", "--split", "train")
    ran = evolve("corpus", "export", "harbor", str(tmp_path / "out"), "--split", "train", "--json")
    reasons = {item["source"]: item["reason"] for item in ran.json()["refused"]}
    assert reasons == {
        "new-review": "kind: a review cannot be exported",
        "new-repository": "repository: it begins with a repository",
    }
    again = evolve("corpus", "export", "harbor", str(tmp_path / "out"))
    assert (again.code, "exists already" in again.err) == (2, True)
    with pytest.raises(InputError) as caught:
        export_harbor([make_task(good={})], tmp_path / "none")
    assert "reference/good: is missing" in caught.value.message
    assert not (tmp_path / "none").exists()


def test_a_setup_or_a_dependency_is_not_exported() -> None:
    for fields in ({"setup": [{"argv": ["make"]}]}, {"dependencies": [{"path": ".venv", "source": "x"}]}):
        with pytest.raises(InputError):
            export_harbor([make_task(**fields)], Path("/nonexistent/out"))


def test_yaml_of_a_task_is_plain(workspace: Path, tmp_path: Path, evolve: CommandLine) -> None:
    evolve("corpus", "export", "harbor", str(tmp_path / "out"), "--split", "sealed")
    evolve("corpus", "import", "harbor", str(tmp_path / "out"), "--prefix", "b", "--split", "sealed")
    value = yaml.safe_load((workspace / "corpus/b-bracket-sealed-01/task.yaml").read_text())
    assert (value["schema"], value["kind"], value["split"]) == ("evolve/task@1", "edit", "sealed")

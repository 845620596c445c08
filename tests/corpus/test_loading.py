"""Loading tasks with their hidden oracles."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evolve.corpus.loading import load_corpus, load_task, sealed_digest
from evolve.errors import InputError
from evolve.records.kinds import Split
from tests.builders import equals_check, make_corpus, make_task, oracle_value, write_files, write_task


def test_a_task_is_loaded_with_all_of_its_parts(tmp_path: Path) -> None:
    files = {"seed/a.ini": "x = 1\n", "oracle/check.py": "pass\n", "reference/good/a.ini": "x = 2\n"}
    task = load_task(write_task(tmp_path, "task-1", kind="edit", files=files))
    assert (task.id, task.task.kind, dict(task.seed.texts())) == ("task-1", "edit", {"a.ini": "x = 1\n"})
    assert sorted(task.oracle_files.files) == ["check.py", "oracle.yaml"]
    assert sorted(task.good.files) == ["a.ini", "answer.md"]
    assert sorted(task.bad.files) == ["answer.md"]
    assert [check.id for check in task.oracle.checks] == ["word"]


def test_a_corpus_is_sorted_by_id_and_asked_by_skill_and_split(tmp_path: Path) -> None:
    write_task(tmp_path, "b", split="sealed")
    write_task(tmp_path, "a", skills=["greeter", "other"])
    write_files(tmp_path, {"README.md": "not a task"})
    corpus = load_corpus(tmp_path)
    assert [task.id for task in corpus.tasks] == ["a", "b"]
    assert [task.id for task in corpus.of("greeter")] == ["a", "b"]
    assert [task.id for task in corpus.of("greeter", Split.SEALED, Split.SELECTION)] == ["b"]
    assert [task.id for task in corpus.of("other")] == ["a"]
    assert corpus.of("nobody") == ()
    assert corpus.get("b").task.split is Split.SEALED
    with pytest.raises(InputError) as caught:
        corpus.get("c")
    assert caught.value.code == "no-task"


def test_digests_cover_the_public_and_the_hidden_part_and_not_the_references(tmp_path: Path) -> None:
    def digests(name: str, **fields: Any) -> tuple[str, str]:
        task = load_task(write_task(tmp_path / name, "task-1", **fields))
        return task.task_sha256, task.oracle_sha256

    public, hidden = digests("base")
    assert digests("again") == (public, hidden)
    assert digests("reference", files={"reference/good/answer.md": "YES"}) == (public, hidden)
    public_changes: dict[str, dict[str, Any]] = {
        "prompt": {"prompt": "Another question."},
        "seed": {"files": {"seed/a": "1"}},
        "limits": {"limits": {"wall_s": 7}},
        "verify": {"verify": [equals_check()]},
    }
    for name, fields in public_changes.items():
        changed = digests(name, **fields)
        assert changed[0] != public and changed[1] == hidden, name
    hidden_changes: dict[str, dict[str, Any]] = {
        "oracle": {"oracle": oracle_value(equals_check("no"))},
        "oracle file": {"files": {"oracle/more.py": ""}},
    }
    for name, fields in hidden_changes.items():
        changed = digests(name, **fields)
        assert changed[0] == public and changed[1] != hidden, name


def test_the_digest_of_sealed_tasks_names_their_set_in_any_order() -> None:
    one, two = make_task("one"), make_task("two")
    assert sealed_digest((one, two)) == sealed_digest((two, one))
    changed = make_task("two", checks=[equals_check("other")])
    assert len({sealed_digest((one, two)), sealed_digest((one,)), sealed_digest((one, changed))}) == 3


@pytest.mark.parametrize(
    ("checks", "runs"),
    [
        ([], False),
        ([{"id": "c", "rule": "r", "kind": "command", "argv": ["x"]}], True),
        ([{"id": "c", "rule": "r", "kind": "python-calls", "function": "f", "calls": [{"returns": 1}]}], True),
    ],
)
def test_a_task_says_whether_grading_executes_what_was_written(checks: list[dict[str, Any]], runs: bool) -> None:
    assert make_task(checks=checks).runs_model_code is runs
    assert make_task(verify=checks).runs_model_code is runs


def test_the_hidden_parts_do_not_show_in_a_representation() -> None:
    task = make_task(oracle_files={"check.py": "HIDDEN"}, good={"answer.md": "HIDDEN"}, bad={"answer.md": "HIDDEN"})
    assert "HIDDEN" not in repr(task)


def _replace(name: str, content: str | bytes) -> Callable[[Path], None]:
    return lambda folder: _done(write_files(folder, {name: content}))


def _done(_: object) -> None:
    return None


def _link_out(folder: Path) -> None:
    (folder / "seed").mkdir()
    (folder / "seed/a").symlink_to("/etc/passwd")


def _link_inside(folder: Path) -> None:
    (folder / "oracle/copy.md").symlink_to("../reference/good/answer.md")


def _pipe(folder: Path) -> None:
    os.mkfifo(folder / "oracle/pipe")


def _twins(folder: Path) -> None:
    write_files(folder / "seed", {"caf\u00e9": "1", unicodedata.normalize("NFD", "caf\u00e9"): "2"})


def _many(folder: Path) -> None:
    write_files(folder / "seed", {f"{number}": "" for number in range(2001)})


def _large(folder: Path) -> None:
    (folder / "seed").mkdir()
    with (folder / "seed/giant").open("wb") as file:
        file.truncate(65 * 1024 * 1024)


def _no_oracle(folder: Path) -> None:
    (folder / "oracle/oracle.yaml").unlink()


def _linked_folder(folder: Path) -> None:
    folder.rename(folder.parent.parent / "elsewhere")
    folder.symlink_to(folder.parent.parent / "elsewhere")


BOMB = "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n"
HOSTILE: list[tuple[Callable[[Path], None], str, str]] = [
    (_link_out, "escaping-link", "task-1/seed/a: "),
    (_link_inside, "link", "task-1/oracle/copy.md: "),
    (_linked_folder, "link", "task-1: "),
    (_pipe, "special-file", "task-1/oracle/pipe: "),
    (_twins, "name-collision", "task-1: "),
    (_many, "too-many-files", "task-1: more than 2000 files"),
    (_large, "too-large", "task-1/seed/giant: more than"),
    (_no_oracle, "no-oracle", "task-1/oracle/oracle.yaml: no such file"),
    (_replace("notes.md", "x"), "unknown-file", "task-1/notes.md: "),
    (_replace("solution/a.py", "x"), "unknown-file", "task-1/solution: "),
    (_replace("task.yaml", BOMB), "yaml-alias", "task-1/task.yaml:1: "),
    (_replace("task.yaml", "id: !!python/name:os.system x\n"), "yaml-tag", "task-1/task.yaml:1: "),
    (_replace("task.yaml", "a: 1\na: 2\n"), "duplicate-key", "task-1/task.yaml:2: "),
    (_replace("task.yaml", "[" * 500), "yaml-depth", "task-1/task.yaml:1: "),
    (_replace("task.yaml", b"\xff"), "not-utf8", "task-1/task.yaml: "),
    (_replace("task.yaml", b"\xef\xbb\xbfid: x\n"), "not-text", "task-1/task.yaml: "),
    (_replace("task.yaml", b"id: x\0\n"), "not-text", "task-1/task.yaml: "),
    (_replace("task.yaml", ""), "empty-file", "task-1/task.yaml: the file is empty"),
    (_replace("task.yaml", "just text\n"), "invalid-record", "task-1/task.yaml:1: (whole file): "),
    (_replace("oracle/oracle.yaml", BOMB), "yaml-alias", "task-1/oracle/oracle.yaml:1: "),
    (_replace("oracle/oracle.yaml", "a: 1\na: 2\n"), "duplicate-key", "task-1/oracle/oracle.yaml:2: "),
    (_replace("oracle/oracle.yaml", b"schema: \xff\n"), "not-utf8", "task-1/oracle/oracle.yaml: "),
    (_replace("oracle/oracle.yaml", b"schema: \0\n"), "not-", "task-1/oracle/oracle.yaml: "),
    (
        _replace("oracle/oracle.yaml", b"\xef\xbb\xbfschema: evolve/oracle@1\n"),
        "not-text",
        "task-1/oracle/oracle.yaml: ",
    ),
]


@pytest.mark.parametrize(("make", "code", "position"), HOSTILE)
def test_a_hostile_task_folder_is_one_clear_error_that_names_the_place(
    tmp_path: Path, make: Callable[[Path], None], code: str, position: str
) -> None:
    make(write_task(tmp_path / "corpus", "task-1"))
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InputError) as caught:
        load_corpus(tmp_path / "corpus")
    assert caught.value.code.startswith(code)
    assert caught.value.message.startswith(f"{tmp_path}/corpus/{position}")
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"id": "task-2"}, "id: 'task-2' must equal its folder's name 'task-1'"),
        ({"split": "train-and-sealed"}, "split: "),
        ({"prompt": 5}, "prompt: "),
        ({"skills": "greeter"}, "skills: "),
        ({"surprise": True}, "surprise: unknown key"),
        ({"limits": {"wall_s": -1}}, "limits.wall_s: "),
        (
            {"verify": [{"kind": "ini-options", "id": "a", "rule": "r", "file": "../x", "options": {"a.b": "c"}}]},
            "verify[0]",
        ),
    ],
)
def test_a_wrong_field_is_named_with_file_and_line(tmp_path: Path, fields: dict[str, Any], says: str) -> None:
    folder = write_task(tmp_path, "folder", **{k: v for k, v in fields.items() if k != "id"})
    if "id" in fields:
        folder = write_task(tmp_path, fields["id"])
    folder.rename(tmp_path / "task-1")
    text = (tmp_path / "task-1/task.yaml").read_text(encoding="utf-8")
    if "id" not in fields:
        (tmp_path / "task-1/task.yaml").write_text(text.replace("id: folder", "id: task-1"), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_task(tmp_path / "task-1")
    assert caught.value.message.startswith(f"{tmp_path}/task-1/task.yaml:")
    assert says in caught.value.message


def test_a_bad_oracle_is_named_with_its_line(tmp_path: Path) -> None:
    text = "schema: evolve/oracle@1\nchecks:\n  - id: a\n    kind: equals\n    rule: r\n    any_of: []\n"
    write_task(tmp_path, "task-1", files={"oracle/oracle.yaml": text})
    with pytest.raises(InputError) as caught:
        load_corpus(tmp_path)
    assert caught.value.message.startswith(f"{tmp_path}/task-1/oracle/oracle.yaml:6: checks[0].any_of: ")


@pytest.mark.parametrize("value", [".nan", ".inf", "1" + "0" * 30])
def test_a_number_without_canonical_form_is_an_input_error(tmp_path: Path, value: str) -> None:
    folder = write_task(tmp_path, "task-1")
    text = (folder / "task.yaml").read_text(encoding="utf-8")
    check = f"verify:\n- {{id: a, rule: r, kind: python-calls, function: f, calls: [{{returns: {value}}}]}}\n"
    (folder / "task.yaml").write_text(text + check, encoding="utf-8")
    with pytest.raises(InputError):
        load_task(folder)


def test_an_edit_task_needs_files_to_edit(tmp_path: Path) -> None:
    write_task(tmp_path, "task-1", kind="edit")
    with pytest.raises(InputError) as caught:
        load_corpus(tmp_path)
    assert caught.value.code == "no-seed"


def test_a_missing_or_empty_corpus_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        load_corpus(tmp_path / "none")
    assert caught.value.code == "no-corpus"
    with pytest.raises(InputError) as caught:
        load_corpus(tmp_path)
    assert caught.value.code == "no-task"


def test_a_corpus_in_memory_is_sorted_too() -> None:
    assert [task.id for task in make_corpus(make_task("b"), make_task("a")).tasks] == ["a", "b"]

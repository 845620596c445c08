"""Hostile and broken corpora and overlays: one clear error that names file and field, exit 2, nothing written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.conftest import CommandLine
from tests.worlds import ScriptedModel

TASK = "corpus/bracket-train-01"
Spoil = Callable[[Path], None]


def edit(path: str, **fields: object) -> Spoil:
    """Change fields of a YAML file."""

    def spoil(root: Path) -> None:
        file = root / path
        file.write_text(yaml.safe_dump({**yaml.safe_load(file.read_text()), **fields}))

    return spoil


def text(path: str, content: str | bytes) -> Spoil:
    """Write a file."""

    def spoil(root: Path) -> None:
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())

    return spoil


def add(path: str, more: str | bytes) -> Spoil:
    """Append to a file."""

    def spoil(root: Path) -> None:
        with (root / path).open("ab") as file:
            file.write(more if isinstance(more, bytes) else more.encode())

    return spoil


def link(path: str, target: str) -> Spoil:
    """Make a link."""

    def spoil(root: Path) -> None:
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.exists():
            file.unlink()
        file.symlink_to(target)

    return spoil


def sparse(path: str, size: int) -> Spoil:
    """Make a large file that takes no disk."""

    def spoil(root: Path) -> None:
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("wb") as open_file:
            open_file.truncate(size)

    return spoil


def many(path: str, count: int) -> Spoil:
    """Make many files."""

    def spoil(root: Path) -> None:
        folder = root / path
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(count):
            (folder / f"{number}.txt").touch()

    return spoil


def fifo(path: str) -> Spoil:
    """Make a pipe."""

    def spoil(root: Path) -> None:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(root / path)

    return spoil


def raw_name(folder: str, name: bytes) -> Spoil:
    """Make a file whose name is any bytes."""

    def spoil(root: Path) -> None:
        (root / folder).mkdir(parents=True, exist_ok=True)
        with open(os.fsencode(root / folder) + b"/" + name, "wb"):
            pass

    return spoil


def both(*spoils: Spoil) -> Spoil:
    """Do several things."""

    def spoil(root: Path) -> None:
        for one in spoils:
            one(root)

    return spoil


LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join([f'*{chr(97 + n)}'] * 9)}]\n" for n in range(9)
)
CHECK = {"id": "c", "kind": "equals", "any_of": ["x"], "rule": "Do it."}
ORACLE = f"{TASK}/oracle/oracle.yaml"
LONG = "x" * 300

CASES: dict[str, tuple[Spoil, str]] = {
    "link out of the tree": (link(f"{TASK}/seed/out", "../../../../etc/passwd"), "seed/out"),
    "absolute link": (link(f"{TASK}/seed/out", "/etc/passwd"), "seed/out"),
    "link inside": (both(text(f"{TASK}/seed/a", "x"), link(f"{TASK}/seed/b", "a")), "seed/b"),
    "task.yaml is a link": (link(f"{TASK}/task.yaml", "/etc/passwd"), "task.yaml"),
    "task folder is a link": (link("corpus/evil", "bracket-train-01"), "corpus/evil"),
    "oracle is a link": (link(f"{TASK}/oracle/oracle.yaml", "../task.yaml"), "oracle.yaml"),
    "pipe": (fifo(f"{TASK}/seed/pipe"), "seed/pipe"),
    "task.yaml is a pipe": (
        both(lambda root: (root / f"{TASK}/task.yaml").unlink(), fifo(f"{TASK}/task.yaml")),
        "task.yaml",
    ),
    "names that differ in case": (both(text(f"{TASK}/seed/A.txt", "1"), text(f"{TASK}/seed/a.txt", "2")), "a.txt"),
    "names that differ in composition": (
        both(text(f"{TASK}/seed/\u00e9", "1"), text(f"{TASK}/seed/e\u0301", "2")),
        "one name",
    ),
    "newline in a name": (text(f"{TASK}/seed/a\nb", "x"), "control character"),
    "carriage return in a name": (text(f"{TASK}/seed/a\rb", "x"), "control character"),
    "a name that is no text": (raw_name(f"{TASK}/seed", b"\xff\xfe"), "not UTF-8"),
    "1 GiB file": (sparse(f"{TASK}/seed/big", 1 << 30), "seed/big: more than"),
    "1 GiB task.yaml": (sparse(f"{TASK}/task.yaml", 1 << 30), "task.yaml: more than"),
    "100,000 files": (many(f"{TASK}/seed/many", 100_000), "more than 2000 files"),
    "billion laughs": (text(f"{TASK}/task.yaml", LAUGHS), "task.yaml:1: anchors and aliases are not allowed"),
    "one anchor": (add(f"{TASK}/task.yaml", "tags: &x [a]\n"), "anchors and aliases"),
    "yaml tag": (add(f"{TASK}/task.yaml", "class: !!python/object/apply:os.system [id]\n"), "tags are not allowed"),
    "deep yaml": (text(f"{TASK}/task.yaml", "a: " + "[" * 5000), "task.yaml:1"),
    "broken yaml": (text(f"{TASK}/task.yaml", "a: [b\n"), "task.yaml"),
    "two documents": (add(f"{TASK}/task.yaml", "---\na: b\n"), "task.yaml"),
    "a list": (text(f"{TASK}/task.yaml", "- a\n"), "task.yaml"),
    "empty": (text(f"{TASK}/task.yaml", ""), "the file is empty"),
    "duplicate key": (add(f"{TASK}/task.yaml", "split: sealed\n"), "the key 'split' stands twice"),
    "unknown key": (edit(f"{TASK}/task.yaml", surprise=1), "surprise: unknown key"),
    "misspelt key": (edit(f"{TASK}/task.yaml", promt="x"), "did you mean prompt?"),
    "byte order mark": (text(f"{TASK}/task.yaml", "\ufeffschema: evolve/task@1\n"), "byte order mark"),
    "utf-16": (text(f"{TASK}/task.yaml", "schema: x\n".encode("utf-16")), "task.yaml: not UTF-8"),
    "latin-1": (text(f"{TASK}/task.yaml", b"prompt: caf\xe9\n"), "not UTF-8 (byte 11)"),
    "NUL": (add(f"{TASK}/task.yaml", b"class: a\0b\n"), "NUL"),
    "escaped NUL": (add(f"{TASK}/task.yaml", 'class: "a\\0b"\n'), "holds a NUL"),
    "infinity": (edit(f"{TASK}/task.yaml", limits={"wall_s": float("inf")}), "no number that JSON has"),
    "a date": (add(f"{TASK}/task.yaml", "class: 2026-01-01\n"), "is read as a date"),
    "another id": (edit(f"{TASK}/task.yaml", id="other"), "must equal its folder's name"),
    "a bad id": (edit(f"{TASK}/task.yaml", id="../x"), "id"),
    "a bad split": (edit(f"{TASK}/task.yaml", split="secret"), "split"),
    "no skill": (edit(f"{TASK}/task.yaml", skills=[]), "skills"),
    "an unknown skill": (edit(f"{TASK}/task.yaml", skills=["nobody"]), "nobody"),
    "another schema": (edit(f"{TASK}/task.yaml", schema="evolve/task@9"), "schema"),
    "a negative limit": (edit(f"{TASK}/task.yaml", limits={"wall_s": -1}), "limits.wall_s"),
    "a path that leaves": (
        edit(
            f"{TASK}/task.yaml",
            verify=[{**CHECK, "kind": "ini-options", "file": "../x", "options": {"a.b": "c"}, "any_of": None}],
        ),
        "file",
    ),
    "an absolute path": (
        edit(f"{TASK}/task.yaml", dependencies=[{"path": "/etc", "source": "x"}]),
        "dependencies[0].path",
    ),
    "a bad pattern": (
        edit(f"{TASK}/task.yaml", verify=[{"id": "l", "kind": "line", "pattern": "(", "rule": "r"}]),
        "pattern",
    ),
    "two checks of one id": (
        edit(f"{TASK}/task.yaml", verify=[CHECK, {**CHECK, "any_of": ["y"], "rule": "Do that."}]),
        "two checks have the id 'c'",
    ),
    "an unknown kind of check": (edit(ORACLE, checks=[{**CHECK, "kind": "magic"}]), "'magic' is none of"),
    "no checks": (edit(ORACLE, checks=[]), "checks"),
    "no oracle": (lambda root: (root / ORACLE).unlink(), "no such file"),
    "no task.yaml": (lambda root: (root / f"{TASK}/task.yaml").unlink(), "task.yaml: no such file"),
    "a stranger in the folder": (text(f"{TASK}/notes/x.txt", "x"), "notes"),
    "a repository without a source": (
        edit(f"{TASK}/task.yaml", repository={"commit": "0" * 40}),
        "give either path or url",
    ),
    "a short commit": (edit(f"{TASK}/task.yaml", repository={"path": ".", "commit": "HEAD"}), "repository.commit"),
    "a transport that runs commands": (
        edit(f"{TASK}/task.yaml", repository={"url": "ext::sh -c id", "commit": "0" * 40}),
        "repository.url",
    ),
    "an option for an address": (
        edit(f"{TASK}/task.yaml", repository={"url": "--upload-pack=id", "commit": "0" * 40}),
        "repository.url",
    ),
    "a change that nobody reviews": (text(f"{TASK}/change.patch", "x"), "change.patch"),
    "a review without a change": (edit(f"{TASK}/task.yaml", kind="review"), "change.patch"),
    "an edit without files": (edit(f"{TASK}/task.yaml", kind="edit"), "seed"),
    "a very long name": (edit(f"{TASK}/task.yaml", id=LONG), "id"),
    "a huge prompt": (edit(f"{TASK}/task.yaml", prompt="x" * 70_000), "prompt"),
    "two tasks that are one": (
        both(
            lambda root: None,
            edit("corpus/bracket-train-02/task.yaml", prompt="Please return the number 101"),
        ),
        "asks the same as bracket-train-01",
    ),
}


def tree(root: Path) -> dict[str, tuple[int, int]]:
    found = {}
    for folder, _, names in os.walk(root):
        for name in names:
            status = os.lstat(os.path.join(folder, name))
            found[os.path.join(folder, name)] = (status.st_size, status.st_mtime_ns)
    return {path: value for path, value in found.items() if "/results/" not in path}


@pytest.mark.parametrize("name", CASES)
def test_a_hostile_corpus_is_one_clear_error_and_nothing_is_written(
    name: str, workspace: Path, evolve: CommandLine, model: ScriptedModel
) -> None:
    spoil, said = CASES[name]
    spoil(workspace)
    before, began = tree(workspace), time.process_time()
    ran = evolve("check")
    took = time.process_time() - began
    told = ran.err + ran.out
    assert ran.code == 2, told
    assert said in told, told
    assert "corpus" in told or "bracket-train" in told or "task" in told
    assert "Traceback" not in told and "a fault of evolve itself" not in told
    assert took < 1 or name == "100,000 files", f"{took:.1f} s"
    assert tree(workspace) == before
    assert evolve("measure", "--skill", "bracket").code == 2
    assert not model.requests


def test_there_are_enough_of_them() -> None:
    assert len(CASES) >= 40


# A program of its own: a process begins with the memory of the one that forks it, and that of the tests is large.
MEASURED_CHECK = """
import json, resource, subprocess, sys
quiet = subprocess.DEVNULL
code = subprocess.run([sys.executable, "-m", "evolve", "check"], stdout=quiet, stderr=quiet).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([code, used.ru_maxrss, used.ru_utime + used.ru_stime]))
"""


@pytest.mark.parametrize("name", ["1 GiB file", "1 GiB task.yaml", "100,000 files", "billion laughs", "deep yaml"])
def test_what_is_large_takes_neither_memory_nor_time(name: str, workspace: Path) -> None:
    CASES[name][0](workspace)
    began = time.monotonic()
    ran = subprocess.run(
        [sys.executable, "-c", MEASURED_CHECK], cwd=workspace, capture_output=True, text=True, check=True
    )
    code, peak_kib, cpu_s = json.loads(ran.stdout)
    assert code == 2
    assert peak_kib < 200 * 1024, f"{peak_kib / 1024:.0f} MiB"
    assert cpu_s < 3, "start-up included"
    assert time.monotonic() - began < 30


ADDS_MORE = "schema: evolve/overlay@1\nskills: [bracket]\nadds: [skills/bracket/more.md]\n"
OVERLAYS: dict[str, tuple[Spoil, str]] = {
    "no file": (
        text("overlays/x/overlay.yaml", "schema: evolve/overlay@1\nskills: [bracket]\noperator: manual\n"),
        "holds no file",
    ),
    "another skill's file": (text("overlays/x/skills/other/SKILL.md", "x"), "changes 0 skills"),
    "a path that leaves": (text("overlays/x/evolve.yaml", "x"), "changes 0 skills"),
    "a link": (link("overlays/x/skills/bracket/SKILL.md", "/etc/passwd"), "the link leaves its folder"),
    "a pipe": (fifo("overlays/x/skills/bracket/SKILL.md"), "not a file"),
    "broken frontmatter": (text("overlays/x/skills/bracket/SKILL.md", "---\nname: [\n---\n\nx\n"), "SKILL.md"),
    "another name": (
        text("overlays/x/skills/bracket/SKILL.md", "---\nname: other\ndescription: d\n---\n\nx\n"),
        "SKILL.md",
    ),
    "not UTF-8": (text("overlays/x/skills/bracket/SKILL.md", b"\xff\xfe"), "UTF-8"),
    "an escape sequence": (
        text("overlays/x/skills/bracket/SKILL.md", "---\nname: bracket\ndescription: d\n---\n\n\x1b[31mred\n"),
        "control character",
    ),
    "too large": (sparse("overlays/x/skills/bracket/big.md", 1 << 30), "bytes"),
    "too many": (many("overlays/x/skills/bracket", 200), "files"),
    "a program": (text("overlays/x/skills/bracket/run.sh", "id\n"), "only .md and .txt"),
    "a task's id": (
        both(
            text("overlays/x/skills/bracket/more.md", "As in bracket-sealed-01.\n"),
            text("overlays/x/overlay.yaml", ADDS_MORE),
        ),
        "its id of sealed task bracket-sealed-01",
    ),
    "broken lineage": (
        both(text("overlays/x/overlay.yaml", "a: [\n"), text("overlays/x/skills/bracket/m.md", "x")),
        "overlay.yaml",
    ),
}


@pytest.mark.parametrize("name", OVERLAYS)
def test_a_hostile_overlay_is_one_clear_error_and_costs_nothing(
    name: str, workspace: Path, evolve: CommandLine, model: ScriptedModel
) -> None:
    spoil, said = OVERLAYS[name]
    spoil(workspace)
    began = time.process_time()
    ran = evolve("benchmark", "overlays/x")
    assert (ran.code, said in ran.err) == (2, True), ran.err
    assert "overlays/x" in ran.err or "SKILL.md" in ran.err
    assert time.process_time() - began < 2
    assert not model.requests
    assert not (workspace / "promotion/ledger.jsonl").exists()

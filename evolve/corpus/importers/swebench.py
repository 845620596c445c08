"""Importing SWE-bench instances: repository tasks that are graded by the tests of the real change."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import StringConstraints, TypeAdapter, ValidationError

from evolve.corpus.importers.draft import (
    Draft,
    Outcome,
    Target,
    collect,
    identifier_of,
    json_file,
    oracle_yaml,
    placed,
    staged,
    task_yaml,
)
from evolve.corpus.importers.patches import Changes, files_of_patch, over_commit
from evolve.corpus.sources import git_dir_of
from evolve.errors import InputError
from evolve.files import safe_relative
from evolve.records.base import Record, parse_record
from evolve.records.task import RepositorySpec
from evolve.snapshot import FileEntry, Snapshot

MAX_LINE_BYTES = 16 * 1024 * 1024
MAX_TESTS = 20_000
SCRIPTS = ("named_tests.py", "named_tests_plugin.py")
LIMITS = {"max_output_tokens": 32_768, "wall_s": 1800}
TESTS_WALL_S = 1800
RULE = "Mend what the issue describes without breaking what worked before."
LEFT_TO_DO = "references are missing, and evolve check will demand them: give --repository-root, or write them by hand"
_TESTS: TypeAdapter[tuple[str, ...]] = TypeAdapter(tuple[str, ...])


class Instance(Record):
    """One line of the file; fields that are not needed are left out before."""

    instance_id: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    repo: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9._-]*/[A-Za-z0-9_][A-Za-z0-9._-]*$")]
    base_commit: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")]
    problem_statement: Annotated[str, StringConstraints(min_length=1)]
    patch: Annotated[str, StringConstraints(min_length=1)]
    test_patch: Annotated[str, StringConstraints(min_length=1)]
    FAIL_TO_PASS: tuple[str, ...]
    PASS_TO_PASS: tuple[str, ...]
    version: str = ""


@dataclass(frozen=True)
class _Line:
    number: int
    text: bytes


def import_swebench(
    path: Path, target: Target, *, limit: int | None = None, root: Path | None = None, venv: str | None = None
) -> Outcome:
    """Make drafts of the instances of a file, one JSON object a line.

    Args:
        path: The file.
        target: Where the drafts are to go.
        limit: The most that are made.
        root: A folder of local clones, by ``owner/name``, ``owner__name`` or ``name``; the references are made of them.
        venv: A virtual environment with what the tests need, which the tasks will depend on.

    Raises:
        InputError: The file cannot be read.

    """
    if root is not None and not root.is_dir():
        raise InputError(f"{root}: no such folder", code="no-folder")

    def make(line: _Line) -> Draft:
        return _draft(_read(line, path), target, root, venv)

    return collect(_lines(path), make, target, limit)


def _lines(path: Path) -> Iterator[tuple[str, _Line]]:
    try:
        if not path.is_file():
            raise InputError(f"{path}: {'a folder, not a' if path.is_dir() else 'no such'} file", code="missing-file")
        with path.open("rb") as file:
            number = 0
            while line := file.readline(MAX_LINE_BYTES + 1):
                number += 1
                if len(line) > MAX_LINE_BYTES:
                    raise InputError(f"{path}:{number}: more than {MAX_LINE_BYTES} bytes in a line", code="too-large")
                if line.strip():
                    yield f"{path.name}:{number}", _Line(number, line)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}", code="unreadable") from error


def _read(line: _Line, path: Path) -> Instance:
    where = f"{path.name}:{line.number}"
    try:
        value = json.loads(line.text.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: not UTF-8 (byte {error.start})", code="not-utf8") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: not JSON: {error}", code="not-json") from error
    if not isinstance(value, dict):
        raise InputError(f"{where}: must be an object", code="not-object")
    known = {name: item for name, item in value.items() if name in Instance.model_fields}
    for name in ("FAIL_TO_PASS", "PASS_TO_PASS"):
        if name in known:
            known[name] = _tests(known[name], f"{where}: {name}")
    for name, item in known.items():
        if isinstance(item, str) and ("\0" in item or any(0xD800 <= ord(character) < 0xE000 for character in item)):
            raise InputError(f"{where}: {name}: holds a NUL or half a character", code="not-text")
    instance = parse_record(Instance, known, where)
    if not instance.FAIL_TO_PASS:
        raise InputError(f"{where}: FAIL_TO_PASS: names no test", code="no-tests")
    return instance


def _tests(value: Any, where: str) -> list[str]:
    """Read a list of test ids, or the JSON of one."""
    try:
        names = _TESTS.validate_python(json.loads(value) if isinstance(value, str) else value)
    except (ValueError, RecursionError, ValidationError) as error:
        raise InputError(f"{where}: must be a list of texts, or the JSON of one", code="invalid-record") from error
    if len(names) > MAX_TESTS:
        raise InputError(f"{where}: more than {MAX_TESTS} tests", code="too-large")
    for index, name in enumerate(names):
        file, found, _ = name.partition("::")
        if not found or not file.endswith(".py"):
            raise InputError(f"{where}[{index}]: {name[:80]!r} is no test id of pytest", code="no-test-id")
        safe_relative(file, where=f"{where}[{index}]")
    return list(names)


def _draft(instance: Instance, target: Target, root: Path | None, venv: str | None) -> Draft:
    identifier = identifier_of(instance.instance_id, target.prefix)
    files = files_of_patch(instance.test_patch, "test_patch")
    files_of_patch(instance.patch, "patch")
    repository = _repository(instance, target, root)
    good: Mapping[str, FileEntry] = {}
    bad: Mapping[str, FileEntry] = {}
    notes: tuple[str, ...] = (LEFT_TO_DO,)
    if root is not None:
        good, bad, notes = _references(instance, repository, target)
    tests = {"fail_to_pass": instance.FAIL_TO_PASS, "pass_to_pass": instance.PASS_TO_PASS, "files": files}
    check = {
        "id": "named-tests",
        "rule": RULE,
        "kind": "command",
        "argv": ["{python}", "-I", "-S", f"{{oracle}}/{SCRIPTS[0]}"],
        "timeout_s": TESTS_WALL_S,
    }
    fields: dict[str, Any] = {
        "kind": "edit",
        "class": "issue",
        "tags": [tag for tag in (instance.repo, instance.version) if tag],
    }
    fields |= {"repository": {name: item for name, item in repository.json_value().items() if item}}
    if venv is not None:
        fields["dependencies"] = [{"path": ".venv", "source": venv}]
    content = {
        "task.yaml": task_yaml(identifier, target, notes, **fields, prompt=instance.problem_statement, limits=LIMITS),
        "oracle/oracle.yaml": oracle_yaml(check),
        "oracle/test.patch": FileEntry(instance.test_patch.encode("utf-8")),
        "oracle/tests.json": json_file(tests),
        **{f"oracle/{name}": staged(name) for name in SCRIPTS},
        **placed("reference/good", good),
        **placed("reference/bad", bad),
    }
    return Draft(instance.instance_id, identifier, Snapshot(content), notes)


def _repository(instance: Instance, target: Target, root: Path | None) -> RepositorySpec:
    if root is None:
        return RepositorySpec(url=f"https://github.com/{instance.repo}", commit=instance.base_commit)
    owner, _, name = instance.repo.partition("/")
    for folder in (root / owner / name, root / f"{owner}__{name}", root / name):
        if folder.is_dir():
            path = target.workspace.relative(folder.resolve())
            return RepositorySpec(path=path, commit=instance.base_commit)
    raise InputError(f"repo: {root} has no clone of {instance.repo}", code="no-repository")


def _references(
    instance: Instance, repository: RepositorySpec, target: Target
) -> tuple[Mapping[str, FileEntry], Mapping[str, FileEntry], tuple[str, ...]]:
    """Return the changed files, the same as they were, and what is to be looked at.

    Raises:
        InputError: There is no such commit, or the patches do not apply to it.

    """
    git_dir = git_dir_of(repository, target.workspace)
    with over_commit(git_dir, instance.base_commit) as index:
        index.apply(instance.patch, "patch")
        changes = index.changes("patch")
        index.apply(instance.test_patch, "test_patch")
    if not changes.after:
        raise InputError("patch: leaves no file that a reference could hold", code="no-reference")
    return changes.after, _undone(changes), _removals(changes)


def _undone(changes: Changes) -> Mapping[str, FileEntry]:
    """Return the files before the change; where all of them are new, the first of them without content."""
    kept = {path: entry for path, entry in changes.before.items() if path in changes.after}
    return kept or {min(changes.after): FileEntry(b"")}


def _removals(changes: Changes) -> tuple[str, ...]:
    if not changes.removed:
        return ()
    return (f"the patch removes {', '.join(changes.removed[:3])}, which a reference cannot; see whether it passes",)

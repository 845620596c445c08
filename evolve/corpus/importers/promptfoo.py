"""Importing promptfoo files: every prompt with every test becomes an answer task, where its assertions only read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from evolve.corpus.importers.assertions import Asserted, candidate, read_assertion
from evolve.corpus.importers.draft import Draft, Outcome, Target, collect, identifier_of, oracle_yaml, task_yaml
from evolve.corpus.selftest import NONSENSE
from evolve.errors import InputError
from evolve.records.base import read_text
from evolve.records.checks import ReadCheck
from evolve.records.task import ANSWER_FILE
from evolve.records.yaml_source import YamlSource
from evolve.scoring.submission import Submission
from evolve.scoring.verify import read_check_passes
from evolve.snapshot import FileEntry, Snapshot

MAX_CASES = 10_000
LIMITS = {"max_output_tokens": 1024, "wall_s": 120}
# What says where and how promptfoo runs says nothing of the tasks.
_ASIDE = {"$schema", "description", "providers", "targets", "outputPath", "sharing", "evaluateOptions", "env", "tags"}
_ASIDE |= {"commandLineOptions", "metadata"}
_READ = {"prompts", "tests", "defaultTest"}
_OF_A_TEST = {"description", "vars", "assert", "metadata"}
_FILE = re.compile(r"(file://|exec:).*|[\w./*-]+\.(txt|json|jsonl|ya?ml|md|j2|js|ts|cjs|mjs|py|csv|sh)(:\w+)?")
_VARIABLE = re.compile(r"\{\{\s*([A-Za-z_]\w*)\s*\}\}")
_CHECK: TypeAdapter[ReadCheck] = TypeAdapter(ReadCheck)
_NOWHERE = Path("/nonexistent")


@dataclass(frozen=True)
class _Case:
    """A prompt and a test, as they stand in the file."""

    number: str
    prompt: Any
    test: Any
    where_prompt: str
    where_test: str


def import_promptfoo(path: Path, target: Target) -> Outcome:
    """Make drafts of every prompt with every test of a file.

    Raises:
        InputError: The file cannot be read, or is none of promptfoo's.

    """
    whole = _whole(path)
    shared = whole.get("defaultTest") or {}

    def make(case: _Case) -> Draft:
        return _draft(case, shared, path, target)

    return collect(_cases(whole, path), make, target)


def _whole(path: Path) -> dict[str, Any]:
    value = YamlSource.parse(read_text(path), str(path)).value
    if not isinstance(value, dict):
        raise InputError(f"{path}: must be a mapping with prompts and tests", code="invalid-record")
    for name in sorted(set(value) - _ASIDE - _READ):
        raise InputError(f"{path}: {name[:80]}: is not read", code="unknown-key")
    for name in ("prompts", "tests"):
        if not isinstance(value.get(name), list) or not value[name]:
            raise InputError(
                f"{path}: {name}: must be a list", hint="files and generators are not read", code="no-list"
            )
    if len(value["prompts"]) * len(value["tests"]) > MAX_CASES:
        raise InputError(f"{path}: more than {MAX_CASES} prompts with tests", code="too-large")
    return value


def _cases(whole: Mapping[str, Any], path: Path) -> Iterator[tuple[str, _Case]]:
    for p, prompt in enumerate(whole["prompts"]):
        for t, test in enumerate(whole["tests"]):
            number = f"{p + 1}-{t + 1:02d}"
            case = _Case(number, prompt, test, f"prompts[{p}]", f"tests[{t}]")
            yield f"{path.name}: prompts[{p}] tests[{t}]", case


def _draft(case: _Case, shared: Any, path: Path, target: Target) -> Draft:
    shared_vars, shared_asserts = _parts(shared, "defaultTest")
    own_vars, own_asserts = _parts(case.test, case.where_test)
    variables = {**shared_vars, **own_vars}

    def fill(text: str, where: str) -> str:
        return _filled(text, variables, where)

    prompt = fill(_prompt(case), case.where_prompt).strip()
    asserted = [read_assertion(value, where, fill) for where, value in (*shared_asserts, *own_asserts)]
    if not asserted:
        raise InputError(f"{case.where_test}: assert: there is nothing that decides", code="no-assertion")
    identifier = identifier_of(f"{target.prefix or path.stem}-{case.number}")
    checks = [{"id": f"assert-{number}", **one.check} for number, one in enumerate(asserted, start=1)]
    references, notes = _references(asserted, checks)
    content = {
        "task.yaml": task_yaml(identifier, target, notes, kind="answer", prompt=prompt, limits=LIMITS),
        "oracle/oracle.yaml": oracle_yaml(*checks),
        **references,
    }
    return Draft(f"{path.name}: {case.where_prompt} {case.where_test}", identifier, Snapshot(content), notes)


def _prompt(case: _Case) -> str:
    value = case.prompt
    if isinstance(value, dict):
        for name in sorted(set(value) - {"raw", "label", "id"}):
            raise InputError(f"{case.where_prompt}: {name[:80]}: is not read", code="unknown-key")
        value = value.get("raw")
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{case.where_prompt}: must be a text", code="invalid-record")
    if _FILE.fullmatch(value.strip()):
        raise InputError(f"{case.where_prompt}: a file or program is not read", code="no-file")
    try:
        chat = isinstance(json.loads(value), list)
    except (ValueError, RecursionError):
        chat = False
    if chat or value.lstrip().startswith(("[{", "- role:")):
        raise InputError(f"{case.where_prompt}: a list of messages cannot be one prompt", code="chat")
    return value


def _parts(value: Any, where: str) -> tuple[dict[str, str], list[tuple[str, Any]]]:
    """Return the variables and the assertions of a test."""
    if not isinstance(value, dict):
        raise InputError(f"{where}: must be a mapping; files are not read", code="invalid-record")
    for name in sorted(set(value) - _OF_A_TEST):
        raise InputError(f"{where}: {name[:80]}: is not read", code="unknown-key")
    variables, asserts = value.get("vars") or {}, value.get("assert") or []
    if not isinstance(variables, dict):
        raise InputError(f"{where}: vars: must be a mapping", code="invalid-record")
    if not isinstance(asserts, list):
        raise InputError(f"{where}: assert: must be a list", code="invalid-record")
    texts = {name: _variable(item, f"{where}: vars.{name}") for name, item in variables.items()}
    return texts, [(f"{where}: assert[{number}]", item) for number, item in enumerate(asserts)]


def _variable(value: Any, where: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return json.dumps(value)
    if not isinstance(value, str):
        raise InputError(f"{where}: must be a text or a number", code="invalid-record")
    if value.startswith("file://"):
        raise InputError(f"{where}: a file is not read", code="no-file")
    return value


def _filled(text: str, variables: Mapping[str, str], where: str) -> str:
    """Fill variables in, once: what they hold is not read as a template again."""
    rest = _VARIABLE.sub("", text)
    if "{{" in rest or "{%" in rest or "{#" in rest:
        raise InputError(f"{where}: only {{{{name}}}} is filled in, no filter and no block", code="template")
    for name in _VARIABLE.findall(text):
        if name not in variables:
            raise InputError(f"{where}: {{{{{name}}}}}: no such variable", code="template")
    return _VARIABLE.sub(lambda found: variables[found[1]], text)


def _references(asserted: list[Asserted], checks: list[dict[str, Any]]) -> tuple[dict[str, FileEntry], tuple[str, ...]]:
    """Return the references that the assertions tell, each tried, and notes on those that they do not."""
    parsed = [_CHECK.validate_python(check) for check in checks]

    def passes(reply: str) -> bool:
        return all(read_check_passes(check, Submission(reply=reply.strip(), folder=_NOWHERE)) for check in parsed)

    found, notes = {}, []
    good = candidate(asserted)
    if good is not None and passes(good):
        found[f"reference/good/{ANSWER_FILE}"] = FileEntry(f"{good}\n".encode())
    else:
        notes.append(
            f"the assertions tell no answer: write reference/good/{ANSWER_FILE}, which evolve check will demand"
        )
    if not passes(NONSENSE):
        found[f"reference/bad/{ANSWER_FILE}"] = FileEntry(f"{NONSENSE}\n".encode())
    else:
        notes.append("nonsense passes the assertions: make them stricter, or evolve check will refuse the task")
    return found, tuple(notes)

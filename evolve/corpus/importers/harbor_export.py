"""Exporting tasks as Harbor task folders that need nothing of evolve."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from evolve.corpus.importers.draft import Draft, Outcome, Refusal, json_file, placed, staged
from evolve.corpus.loading import LoadedTask
from evolve.errors import InputError
from evolve.files import write_folder
from evolve.records.checks import CommandCheck
from evolve.records.task import ANSWER_FILE
from evolve.scoring.code_checks import RUNNER
from evolve.snapshot import FileEntry, Snapshot

WORKDIR = "/app"
VERIFIER_MARGIN_S = 30.0
CHECKS = "standalone_checks.py"
TEST = f"""\
#!/bin/sh
python3 -I /tests/{CHECKS} {WORKDIR} /logs/verifier/reward.txt
"""
SOLVE = f"""\
#!/bin/sh
set -e
cp -R /solution/files/. {WORKDIR}/
"""
DOCKERFILE = f"""\
FROM python:3.12-slim
WORKDIR {WORKDIR}
"""
ANSWER = f"\n\nWrite your whole reply to the file {WORKDIR}/{ANSWER_FILE}, and nothing else to it.\n"


def export_harbor(tasks: Iterable[LoadedTask], folder: Path) -> Outcome:
    """Write tasks as Harbor task folders; the whole folder or nothing.

    Args:
        tasks: The tasks; those that need more than files and checks are refused.
        folder: Where they are written; not there yet, or empty.

    Raises:
        InputError: The folder holds something, or nothing could be exported.
        EnvironmentFault: The file system refused.

    """
    if folder.is_symlink() or (folder.exists() and (not folder.is_dir() or any(folder.iterdir()))):
        raise InputError(f"{folder}: exists already", hint="name a folder that is not there yet", code="exists")
    outcome = Outcome()
    for task in tasks:
        try:
            outcome.done.append(Draft(task.id, task.id, Snapshot(_files(task))))
        except InputError as error:
            outcome.refused.append(Refusal(task.id, error.message))
    outcome.require_any("exported")
    whole = Snapshot({path: entry for draft in outcome.done for path, entry in placed(draft.id, draft.files).items()})
    staging = folder.resolve().parent / f".{folder.resolve().name}.staging"
    try:
        write_folder(folder, whole.write, staging=staging)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return outcome


def _files(task: LoadedTask) -> Mapping[str, FileEntry]:
    _refuse(task)
    answer = task.task.kind == "answer"
    checks = [*task.task.verify, *task.oracle.checks]
    value = {
        "answer_file": ANSWER_FILE if answer else None,
        "checks": [check.json_value() for check in checks],
    }
    uses_oracle = any(isinstance(check, CommandCheck) for check in checks)
    oracle = {path: entry for path, entry in task.oracle_files.files.items() if path != "oracle.yaml"}
    copied = "COPY seed/ ./\n" if task.seed.files else ""
    return {
        "task.toml": FileEntry(_config(task).encode("utf-8")),
        "instruction.md": FileEntry((task.task.prompt.strip() + (ANSWER if answer else "\n")).encode("utf-8")),
        "environment/Dockerfile": FileEntry((DOCKERFILE + copied).encode("ascii")),
        **placed("environment/seed", task.seed),
        "tests/test.sh": FileEntry(TEST.encode("ascii"), executable=True),
        f"tests/{CHECKS}": staged(CHECKS),
        "tests/runner.py": FileEntry(RUNNER.lstrip().encode("utf-8")),
        "tests/checks.json": json_file(value),
        **(placed("tests/oracle", oracle) if uses_oracle else {}),
        "solution/solve.sh": FileEntry(SOLVE.encode("ascii"), executable=True),
        **placed("solution/files", task.good),
    }


def _refuse(task: LoadedTask) -> None:
    spec = task.task
    reasons = {
        "kind: a review cannot be exported": spec.kind == "review",
        "repository: it begins with a repository": spec.repository is not None,
        "dependencies: it needs folders of this machine": bool(spec.dependencies),
        "setup: it is prepared by commands": bool(spec.setup),
        "reference/good: is missing": not task.good.files,
    }
    for reason, holds in reasons.items():
        if holds:
            raise InputError(reason, code="not-exportable")


def _config(task: LoadedTask) -> str:
    """Return ``task.toml``; JSON's texts and lists of texts are TOML's too."""
    spec = task.task
    checks_s = sum(getattr(check, "timeout_s", 1.0) for check in (*spec.verify, *task.oracle.checks))
    lines = [
        'version = "1.0"',
        "",
        "[metadata]",
        f"category = {_toml(spec.class_)}",
        f"tags = {_toml(list(spec.tags))}",
        "",
        "[metadata.evolve]",
        f"task = {_toml(task.id)}",
        f"split = {_toml(spec.split.value)}",
        f"skills = {_toml(list(spec.skills))}",
        "",
        "[verifier]",
        f"timeout_sec = {min(checks_s + VERIFIER_MARGIN_S, 3600.0)}",
        "",
        "[agent]",
        f"timeout_sec = {float(spec.limits.wall_s)}",
        "",
        "[environment]",
        "cpus = 1",
        'memory = "2G"',
        "",
    ]
    return "\n".join(lines)


def _toml(value: str | list[str]) -> str:
    return json.dumps(value, ensure_ascii=True).replace("\x7f", "\\u007f")

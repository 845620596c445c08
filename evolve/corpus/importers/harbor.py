"""Importing Harbor tasks: those whose environment is a folder of files, as edit tasks with their own verifier."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from evolve.corpus.importers.dockerfile import DOCKERFILE, PlainImage, read_plain
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
from evolve.corpus.importers.harbor_format import CONFIG, INSTRUCTION, SOLUTION, TEST, TaskConfig, read_config, text_of
from evolve.corpus.importers.harbor_solution import solve
from evolve.errors import InputError
from evolve.files import safe_relative
from evolve.sandbox.base import Sandbox
from evolve.snapshot import FileEntry, Snapshot

SCRIPT, SETTINGS, KEEP = "container_script.py", "settings.json", ".keep"
DEFAULT_WORKDIR = "/app"
MAX_FILES, MAX_BYTES = 2000, 32 * 1024 * 1024
MAX_OUTPUT_TOKENS = 16_384
RULE = "Leave the working folder in the state that the task asks for."
_COMPOSE = ("docker-compose.yaml", "docker-compose.yml", "compose.yaml", "compose.yml")
# What these fetch is not there without network, which no grader has.
_FETCHES = re.compile(
    r"(?<![\w./-])(apt-get|apt|apk|yum|dnf|curl|wget|uvx|uv|npm|npx|pip3? install|-m pip install|git clone)(?![\w-])"
)
_SYSTEM = ("tests", "solution", "logs", "tmp", "usr", "bin", "sbin", "lib", "lib64", "etc", "dev", "proc", "sys", "mnt")


def import_harbor(folder: Path, target: Target, sandbox: Sandbox) -> Outcome:
    """Make drafts of a task folder, or of every task folder in a folder; nothing of them is run outside the sandbox.

    Raises:
        InputError: There is no such folder, or no task in it.

    """

    def make(path: Path) -> Draft:
        return _draft(path, Snapshot.read(path, max_files=MAX_FILES, max_bytes=MAX_BYTES), target, sandbox)

    return collect(_task_folders(folder), make, target)


def _task_folders(folder: Path) -> list[tuple[str, Path]]:
    if folder.is_symlink() or not folder.is_dir():
        raise InputError(f"{folder}: no such folder", code="no-folder")
    if (folder / CONFIG).exists():
        return [(folder.name or folder.resolve().name, folder)]
    found = [
        (path.name, path)
        for path in sorted(folder.iterdir())
        if not path.name.startswith(".") and (path.is_dir() or path.is_symlink())
    ]
    if not found:
        raise InputError(f"{folder}: no {CONFIG} in it, and no folder with one", code="no-task")
    return found


def _draft(path: Path, files: Snapshot, target: Target, sandbox: Sandbox) -> Draft:
    config = read_config(files)
    for name in files.files:
        safe_relative(name, where=str(path))
    prompt = text_of(files, INSTRUCTION).strip()
    if not prompt:
        raise InputError(f"{INSTRUCTION}: is empty", code="empty-file")
    if config.evolve.verify is None:
        _refuse_fetching(files)
    image = _image(config, files)
    settings = json_file({"workdir": image.workdir, "env": config.verifier.env, "verify": config.evolve.verify})
    seed = Snapshot(dict(image.files) or {KEEP: FileEntry(b"")})
    identifier = identifier_of(path.resolve().name, target.prefix)
    good, notes = solve(files.below("solution"), seed, image.workdir, config, sandbox, wanted=SOLUTION in files.files)
    tests = placed("oracle/tests", files.below("tests"))
    check = {
        "id": "reward",
        "rule": RULE,
        "kind": "command",
        "argv": ["{python}", "-I", "-S", f"{{oracle}}/{SCRIPT}", "verify"],
        "timeout_s": config.verifier.timeout_sec,
    }
    content = {
        "task.yaml": task_yaml(identifier, target, notes, **_fields(config, prompt, image.workdir)),
        "oracle/oracle.yaml": oracle_yaml(check),
        f"oracle/{SCRIPT}": staged(SCRIPT),
        f"oracle/{SETTINGS}": settings,
        **tests,
        **placed("seed", seed),
        **placed("reference/good", good),
        **placed("reference/bad", _unchanged(seed)),
    }
    return Draft(path.name, identifier, Snapshot(content), notes)


def _fields(config: TaskConfig, prompt: str, workdir: str) -> dict[str, Any]:
    told = re.search(rf"(?<![\w./-]){re.escape(workdir)}(?![\w-])", prompt) is not None
    note = f"Where the text below says {workdir}, it means your working folder.\n\n" if told else ""
    fields: dict[str, Any] = {
        "kind": "edit",
        "class": config.category,
        "tags": list(config.tags),
        "prompt": note + prompt,
        "limits": {"max_output_tokens": MAX_OUTPUT_TOKENS, "wall_s": config.agent.timeout_sec},
    }
    if config.evolve.setup:
        fields["setup"] = [{"argv": list(command)} for command in config.evolve.setup]
    return fields


def _unchanged(seed: Snapshot) -> Mapping[str, FileEntry]:
    """Return the first file as it was: a bad reference that has done nothing."""
    first = min(seed.files)
    return {first: seed.files[first]}


def _image(config: TaskConfig, files: Snapshot) -> PlainImage:
    """Return the working folder and its files.

    Raises:
        InputError: They need a container.

    """
    context = files.below("environment")
    for name in _COMPOSE:
        if name in context.files and config.evolve.setup is None:
            raise InputError(f"environment/{name}: needs containers", code="needs-container")
    plain = Snapshot({path: entry for path, entry in context.files.items() if path not in (DOCKERFILE, *_COMPOSE)})
    if DOCKERFILE in context.files and config.evolve.setup is None:
        if ".dockerignore" in context.files:
            raise InputError("environment/.dockerignore: is not read", code="needs-container")
        image = read_plain(text_of(files, f"environment/{DOCKERFILE}"), context)
    else:
        image = PlainImage(config.environment.workdir or DEFAULT_WORKDIR, plain.files)
    workdir = PurePosixPath(config.environment.workdir or image.workdir)
    parts = workdir.parts
    if str(workdir) != image.workdir or len(parts) < 2 or parts[0] != "/" or parts[1] in _SYSTEM or ".." in parts:
        raise InputError(f"{CONFIG}: environment.workdir: {str(workdir)!r} cannot be the work", code="no-workdir")
    return PlainImage(str(workdir), image.files)


def _refuse_fetching(files: Snapshot) -> None:
    for number, line in enumerate(text_of(files, TEST).splitlines(), start=1):
        if not line.lstrip().startswith("#") and (found := _FETCHES.search(line)):
            raise InputError(f"{TEST}:{number}: {found[1]} needs the network, which graders have not", code="network")

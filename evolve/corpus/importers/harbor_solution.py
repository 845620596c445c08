"""Making the good reference of a Harbor task: its solution is run in the sandbox, and the files it makes are kept."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evolve.corpus.importers.draft import json_file, placed, staged
from evolve.corpus.importers.harbor_format import TaskConfig
from evolve.digest import refuse_ambiguous_names
from evolve.errors import EvolveError, InputError
from evolve.files import safe_relative
from evolve.sandbox.base import Job, Sandbox, base_python
from evolve.scratch import short_lived
from evolve.snapshot import FileEntry, Snapshot

MAX_WALL_S = 120.0
LEFT_TO_DO = "reference/good is missing, and evolve check will demand it:"


def solve(
    solution: Snapshot, seed: Snapshot, workdir: str, config: TaskConfig, sandbox: Sandbox, *, wanted: bool
) -> tuple[Mapping[str, FileEntry], tuple[str, ...]]:
    """Run a solution and return the files that it made; none, and a note that says why, where it made none.

    Args:
        solution: The files of ``solution/``.
        seed: What it begins with.
        workdir: The working folder that it speaks of.
        config: Gives its environment and time.
        sandbox: Where it is run.
        wanted: Whether there is a ``solve.sh`` at all.

    """
    if not wanted:
        return {}, (f"{LEFT_TO_DO} there is no solution/solve.sh",)
    if config.evolve.setup:
        return {}, (f"{LEFT_TO_DO} the solution begins with what metadata.evolve.setup makes",)
    try:
        return _solved(solution, seed, workdir, config, sandbox), ()
    except EvolveError as error:
        return {}, (f"{LEFT_TO_DO} {error.message}",)


def _solved(
    solution: Snapshot, seed: Snapshot, workdir: str, config: TaskConfig, sandbox: Sandbox
) -> Mapping[str, FileEntry]:
    with short_lived("solution") as scratch:
        work, own = Path(scratch) / "work", Path(scratch) / "own"
        seed.write_scratch(work)
        settings = json_file({"workdir": workdir, "env": config.solution.env, "verify": None})
        script = {"container_script.py": staged("container_script.py"), "settings.json": settings}
        Snapshot({**script, **placed("solution", solution)}).write_scratch(own)
        mounts = {"oracle": own}
        argv = (base_python(), "-I", "-S", f"{sandbox.mounted('oracle', mounts)}/container_script.py", "solve")
        wall_s = min(config.agent.timeout_sec, MAX_WALL_S)
        completed = sandbox.run(Job(argv=argv, folder=work, wall_s=wall_s, mounts=mounts))
    if completed.exit_code != 0:
        said = completed.stderr.decode("utf-8", errors="replace").strip()[-200:]
        how = "its time was up" if completed.exit_code is None else f"exit {completed.exit_code}"
        raise InputError(f"solution/solve.sh: {how}: {said}")
    return _read(completed.stdout, completed.stderr)


def _read(printed: bytes, said: bytes) -> Mapping[str, FileEntry]:
    """Read what the sandbox gave back, which the solution may have forged: it becomes files of a reference only."""
    try:
        value: Any = json.loads(printed)
        if value["exit"] != 0:
            text = said.decode("utf-8", errors="replace").strip()[-200:]
            raise InputError(f"solution/solve.sh: exit {value['exit']}: {text}")
        if value["odd"]:
            raise InputError(f"solution/solve.sh: removes files, or makes links: {str(value['odd'][0])[:80]}")
        files = {
            safe_relative(path, where="solution/solve.sh").as_posix(): FileEntry(
                base64.b64decode(content, validate=True), bool(executable)
            )
            for path, (content, executable) in value["files"].items()
        }
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError("solution/solve.sh: what it makes is more than can be read back") from error
    if not files:
        raise InputError("solution/solve.sh: changes no file of the working folder")
    refuse_ambiguous_names(list(files), Path("solution"))
    return files

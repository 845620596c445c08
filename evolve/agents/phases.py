"""The phases of a cell: what each is asked, what it left, and what it changed that it may not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from evolve.agents.adapter import Adapter
from evolve.digest import foreign_entry, foreign_files, sha256_bytes
from evolve.errors import InputError
from evolve.hostile import entries_of, read_below
from evolve.records.kinds import Split
from evolve.records.phase import PhaseSpec
from evolve.records.task import TASK_SCHEMA, Task
from evolve.sandbox.box import WORK, Places
from evolve.sandbox.gateway.account import SessionLimits

if TYPE_CHECKING:
    import jinja2

ARTIFACT, EARLIER = "/box/artifact", "/box/earlier"
MAX_ARTIFACT_BYTES = 256 * 1024
ANY_TASK = Task(schema_id=TASK_SCHEMA, id="any", split=Split.TRAIN, skills=("any",), prompt="a task")
SHIPPED = ("direct", "plan", "work", "review")
WHOLE = ("*",)


@dataclass(frozen=True)
class Phase:
    """A phase as it is run.

    Args:
        spec: What was declared.
        adapter: How the program is asked in it.
        limits: What it may use of the model.
        template: The text of its prompt's template.

    """

    spec: PhaseSpec
    adapter: Adapter
    limits: SessionLimits
    template: str


@dataclass(frozen=True)
class Earlier:
    """The artifact of an earlier phase: where the program finds it, and its text."""

    path: str
    text: str


def shipped_template(name: str) -> str:
    """Return a template that ships."""
    return resources.files("evolve.agents").joinpath(f"templates/{name}.md.j2").read_text(encoding="utf-8")


def _environment() -> jinja2.Environment:
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    return ImmutableSandboxedEnvironment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)


def prompt_of(phase: Phase, task: Task, places: Places, earlier: Mapping[str, Earlier]) -> str:
    """Return the prompt of a phase.

    Args:
        phase: The phase.
        task: The task; its own prompt is text and no template.
        places: Where things are, as the program sees them.
        earlier: The artifacts of earlier phases, by phase.

    """
    artifact = places.at(f"{ARTIFACT}/{phase.spec.artifact}") if phase.spec.artifact else None
    template = _environment().from_string(phase.template)
    known = {"task": task.prompt, "kind": task.kind, "artifact": artifact, "work": places.at(WORK)}
    return template.render(**known, earlier=dict(earlier)).strip() + "\n"


def check_templates(phases: Iterable[Phase]) -> None:
    """Render every template once, before anything is spent.

    Raises:
        InputError: A template cannot be rendered; the message names the phase.

    """
    if (fault := broken_template(phases, ANY_TASK)) is not None:
        hint = "it may use task, kind, work, artifact, and earlier.<phase>.path and .text of phases before it"
        raise InputError(f"evolve.yaml: phases: {fault}", hint=hint, code="broken-template")


def broken_template(phases: Iterable[Phase], task: Task) -> str | None:
    """Return which phase cannot be asked about a task, and why; a template may fail in any way that Python knows."""
    earlier: dict[str, Earlier] = {}
    for phase in phases:
        try:
            prompt_of(phase, task, Places(), earlier)
        except Exception as error:
            return f"{phase.spec.name}: its template {phase.spec.template!r}: {error or type(error).__name__}"
        if phase.spec.artifact is not None:
            earlier[phase.spec.name] = Earlier(f"{EARLIER}/{phase.spec.name}/{phase.spec.artifact}", "a text")
    return None


def work_entries(work: Path) -> dict[str, str]:
    """Return a digest of every file, link, folder and mode of a workspace, by path.

    Raises:
        InputError: It holds what cannot be read.

    """
    found = {}
    for path, status in foreign_files(work, folders=True):
        _, kind, _, content = foreign_entry(work, path, status)
        found[path] = sha256_bytes(b"%s %o " % (kind, status.st_mode) + content)
    return found


def forbidden_changes(before: Mapping[str, str], after: Mapping[str, str], allowed: tuple[str, ...]) -> list[str]:
    """Return the paths that were changed, made or removed, and are not among what may be changed.

    Args:
        before: A digest by path, when the phase began.
        after: The same, when it ended.
        allowed: Patterns in the manner of .gitignore; the last that matches decides.

    """
    from pathspec import PathSpec

    changed = sorted(path for path in {*before, *after} if before.get(path) != after.get(path))
    rules = PathSpec.from_lines("gitignore", allowed)
    right = [path for path in changed if rules.match_file(path)]

    def is_for_the_right(folder: str) -> bool:
        return folder.endswith("/") and any(path.startswith(folder) for path in right)

    return [path for path in changed if not rules.match_file(path) and not is_for_the_right(path)]


def read_artifact(folder: Path, name: str) -> tuple[str | None, str | None]:
    """Read what a phase left in its folder: the artifact, or ``None`` and what it did that it may not.

    Returns:
        The text and no fault; or no text and a fault; or neither, when there is nothing at all.

    """
    found = entries_of(folder)
    if strangers := sorted(found - {name}):
        return None, f"it wrote {', '.join(strangers[:3])} beside {name}"
    if not found:
        return None, None
    data = read_below(folder, name, MAX_ARTIFACT_BYTES)
    if data is None:
        return None, f"{name} is no plain file of at most {MAX_ARTIFACT_BYTES // 1024} KiB"
    return data.decode("utf-8", errors="replace").replace("\r\n", "\n"), None

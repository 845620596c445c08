"""A ready weekly job: a generation with a budget, its evidence kept, and nothing merged by itself."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import evolve
from evolve.errors import InputError
from evolve.promote.keys import KEY_FILE_VARIABLE, KEY_VARIABLE
from evolve.records.workspace import WorkspaceSpec

Kind = Literal["github", "systemd", "cron"]
TEMPLATES: Final[dict[Kind, str]] = {"github": "github.yml.j2", "systemd": "systemd.j2", "cron": "cron.j2"}
DAYS: Final = ("Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat")
_BRANCH = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,99}")


@dataclass(frozen=True)
class Schedule:
    """When a job runs, what it may spend, and on which branch it commits."""

    day: str = "Mon"
    hour: int = 3
    minute: int = 17
    branch: str = "evolve/weekly"
    max_usd: float | None = None
    wall_minutes: int = 300
    skill: str | None = None

    @property
    def limits(self) -> str:
        """The options that keep the job within its budget."""
        parts = [f"--max-wall {60 * self.wall_minutes}", "--stop-when-decided"]
        if self.max_usd is not None:
            parts.insert(0, f"--max-usd {self.max_usd:g}")
        if self.skill is not None:
            parts.insert(0, f"--skill {self.skill}")
        return " ".join(parts)


def key_names(value: Any) -> Iterator[str]:
    """Yield the environment variables that hold keys, wherever evolve.yaml names one."""
    if isinstance(value, dict):
        for name, item in value.items():
            if name == "key_env" and isinstance(item, str):
                yield item
            yield from key_names(item)
    elif isinstance(value, list):
        for item in value:
            yield from key_names(item)


def job_text(kind: Kind, schedule: Schedule, spec: WorkspaceSpec, root: Path) -> str:
    """Return the job.

    Args:
        kind: For whom it is.
        schedule: When, and within which budget.
        spec: evolve.yaml, which names the keys that are needed.
        root: The workspace's folder.

    Raises:
        InputError: The branch is none that a shell and git both take as it is written, or the path holds a line break.

    """
    if (
        not _BRANCH.fullmatch(schedule.branch)
        or ".." in schedule.branch
        or schedule.branch.endswith((".lock", "/", "."))
    ):
        raise InputError(
            f"--branch {schedule.branch!r}: no name of a branch", hint="such as evolve/weekly", code="usage"
        )
    if any(character in str(root) for character in "\n\r"):
        raise InputError(f"{root!s}: a job cannot name a folder with a line break", code="usage")
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("evolve.scaffold", "templates/schedule"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["quoted"] = lambda text: shlex.quote(str(text)).replace("%", r"\%")
    text: str = environment.get_template(TEMPLATES[kind]).render(
        version=evolve.__version__,
        day=schedule.day,
        weekday=DAYS.index(schedule.day),
        hour=schedule.hour,
        minute=schedule.minute,
        branch=schedule.branch,
        limits=schedule.limits,
        wall_minutes=schedule.wall_minutes,
        keys=sorted(set(key_names(spec.json_value()))),
        signing_file=KEY_FILE_VARIABLE,
        signing_secret=KEY_VARIABLE,
        results=spec.results,
        root=str(root),
        program=str(Path(sys.executable).with_name("evolve")),
    )
    return text

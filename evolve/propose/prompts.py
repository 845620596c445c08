"""The prompts of a proposer: templates of the package, each of which a workspace may replace."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evolve.errors import InputError
from evolve.workspace import Workspace

if TYPE_CHECKING:
    import jinja2

SUFFIX = ".j2"
MAX_TEMPLATE_BYTES = 256 * 1024
_FAILURE = {"task": "a-task", "user": "a prompt", "reply": "a reply", "correct": "another reply", "rule": "A rule."}
_SKILL: dict[str, Any] = {"goal": "Do better.", "skill": "a-skill", "marks": ("<keep>", "<end>")}
# What each template is given, for a first rendering before anything is paid for.
SAMPLES: Mapping[str, Mapping[str, Any]] = {
    "bundle_readme.j2": _SKILL,
    "reflect_agent.j2": {**_SKILL, "number": 1},
    "reflect_example_assistant.j2": {},
    "reflect_example_user.j2": {},
    "reflect_more.j2": {"hints": ("a hint",), "refused": ("an idea: a reason",)},
    "reflect_system.j2": {},
    "reflect_user.j2": {"body": "A body.", "failures": (_FAILURE,), "marks": None},
}


@dataclass(frozen=True)
class Templates:
    """The templates by name; ``own`` are those of the workspace, each with the path that messages name."""

    own: Mapping[str, tuple[Path, str]] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path | None) -> Templates:
        """Read the templates of a folder, each of which replaces the one of its name, and render each once.

        Raises:
            InputError: There is no such folder, a template has a name that is not known, or it cannot be rendered;
                the message names file and line.

        """
        if folder is None:
            return cls()
        if not folder.is_dir():
            raise InputError(f"evolve.yaml: proposer.templates: {folder}: no such folder", code="no-templates")
        own = {}
        for path in sorted(folder.glob(f"*{SUFFIX}")):
            if path.name not in SAMPLES:
                raise InputError(
                    f"{path}: no template of this name", hint=f"there are {', '.join(SAMPLES)}", code="no-template"
                )
            own[path.name] = (path, _read(path))
        templates = cls(own)
        for name in own:
            templates.render(name, **SAMPLES[name])
        return templates

    def render(self, name: str, **values: object) -> str:
        """Render a template; what is put in is text and no template.

        Raises:
            InputError: It cannot be rendered; the message names file and line.

        """
        try:
            return self._environment().get_template(name).render(**values).strip()
        except Exception as error:  # a template may fail in any way that Python knows
            raise self._broken(name, error) from error

    def _environment(self) -> jinja2.Environment:
        import jinja2
        from jinja2.sandbox import ImmutableSandboxedEnvironment

        def load(name: str) -> tuple[str, str, None] | None:
            if name in self.own:
                path, text = self.own[name]
                return text, str(path), None
            shipped = resources.files("evolve.propose").joinpath(f"templates/{name}")
            return (shipped.read_text(encoding="utf-8"), name, None) if name in SAMPLES else None

        loader = jinja2.FunctionLoader(load)
        return ImmutableSandboxedEnvironment(loader=loader, undefined=jinja2.StrictUndefined, trim_blocks=True)

    def _broken(self, name: str, error: Exception) -> InputError:
        file = str(self.own[name][0]) if name in self.own else name
        line = getattr(error, "lineno", None)
        for frame in traceback.extract_tb(error.__traceback__):
            if line is None and frame.filename == file:
                line = frame.lineno
        where = file if line is None else f"{file}:{line}"
        known = ", ".join(SAMPLES[name]) or "nothing"
        return InputError(
            f"{where}: {str(error) or type(error).__name__}", hint=f"it is given {known}", code="broken-template"
        )


def templates_of(workspace: Workspace) -> Templates:
    """Return the templates that a workspace reflects with.

    Raises:
        InputError: One of them cannot be rendered; the message names file and line.

    """
    folder = workspace.spec.proposer.templates
    return Templates.read(None if folder is None else workspace.root / folder)


def _read(path: Path) -> str:
    try:
        data = path.read_bytes()
        if len(data) > MAX_TEMPLATE_BYTES:
            raise InputError(f"{path}: more than {MAX_TEMPLATE_BYTES // 1024} KiB", code="broken-template")
        return data.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else f"not UTF-8 (byte {error.start})"
        raise InputError(f"{path}: {reason}", code="broken-template") from error

"""How a program of its own is asked, and how its answer is read: what an adapter has to know."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Protocol

from evolve.agents.heard import Heard
from evolve.errors import EnvironmentFault, InputError
from evolve.hostile import read_below
from evolve.sandbox.box import Places
from evolve.scratch import short_lived
from evolve.skills import SKILL_FILE, split_frontmatter

VERSION_WALL_S = 30
WORKSPACE_FILE = "evolve.yaml"
MAX_SKILL_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True)
class Ask:
    """What one session is asked with.

    Args:
        places: Where things are, as the program sees them.
        token: What the gateway knows it by; worth nothing elsewhere.
        appended: Text for the system prompt; empty for none.

    """

    places: Places = field(default_factory=Places)
    token: str = ""
    appended: str = ""


@dataclass(frozen=True)
class Treatment:
    """The skills as an adapter delivers them: what is mounted read-only, by the path inside."""

    mounts: Mapping[str, Path] = field(default_factory=dict)


class Adapter(Protocol):
    """How one program is asked, and how its answer is read."""

    @property
    def name(self) -> str:
        """The adapter's name."""
        ...

    @property
    def executable(self) -> str:
        """Where the program is inside the box."""
        ...

    @property
    def pastes_skills(self) -> bool:
        """Whether skills are pasted into the system prompt, so that none can be left unread."""
        ...

    @property
    def proves_skill_use(self) -> bool:
        """Whether its output proves which skills were loaded; else a skill counts once its text reached the model."""
        ...

    def unfit(self) -> str | None:
        """Return what of its declaration the program cannot be held to, as ``field: why``."""
        ...

    def refuses(self, work: Path) -> str | None:
        """Return what in a task's folder the program would load although nobody gave it."""
        ...

    def argv(self, ask: Ask) -> tuple[str, ...]:
        """Return the command; the prompt comes on standard input."""
        ...

    def env(self, ask: Ask) -> Mapping[str, str]:
        """Return the environment."""
        ...

    def treat(self, ask: Ask, skills: Path, scratch: Path, home: Path) -> Treatment:
        """Prepare the home, and say what is mounted."""
        ...

    def read(self, output: bytes, home: Path, skills: frozenset[str]) -> Heard:
        """Read what the program said; never raises."""
        ...


def pasted(skills: Path) -> str:
    """Return the bodies of installed skills, to be added to a system prompt."""
    bodies = []
    for folder in sorted(skills.iterdir()):
        data = read_below(folder, SKILL_FILE, MAX_SKILL_BYTES) or b""
        bodies.append(split_frontmatter(data.decode("utf-8", errors="replace"))[1])
    return "\n\n".join(bodies)


@dataclass(frozen=True)
class Program:
    """The binary of an agent: its version and digest are part of every identity."""

    path: Path
    version: str
    sha256: str


def located(root: Path, text: str) -> str:
    """Return a path of ``evolve.yaml``: below the home for ``~/``, relative to the workspace; a bare name stays one."""
    if "/" not in text:
        return text
    return str(root / (Path.home() / text[2:] if text.startswith("~/") else text))


def located_folder(root: Path, text: str, field: str) -> Path:
    """Return a folder that ``evolve.yaml`` names.

    Raises:
        EnvironmentFault: There is none.
        InputError: An agent that sees it would see the workspace.

    """
    folder = (root / located(root, text)).resolve() if "\0" not in text else Path()
    if "\0" in text or not folder.is_dir():
        raise EnvironmentFault(f"evolve.yaml: {field}: {text!r}: no such folder", code="missing-agent")
    if root.resolve().is_relative_to(folder) or (folder / WORKSPACE_FILE).exists():
        raise InputError(
            f"evolve.yaml: {field}: {text!r} holds a workspace, and with it every oracle",
            hint="give it a folder of its own",
            code="shows-workspace",
        )
    return folder


def located_file(root: Path, text: str, field: str) -> str:
    """Return the text of a file that ``evolve.yaml`` names.

    Raises:
        InputError: There is none, or it is no text.

    """
    path = root / located(root, text if "/" in text else f"./{text}")
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        raise InputError(f"evolve.yaml: {field}: {text!r}: {reason}", code="missing-file") from error


@cache
def find_program(name: str, version: str) -> Program:
    """Find an agent's binary and see that it is the version that was asked for.

    Args:
        name: A path, or a name on PATH.
        version: The exact version.

    Raises:
        EnvironmentFault: It is missing, cannot be run, or is another version.

    """
    found = None if "\0" in name else shutil.which(name)
    if found is None:
        hint = "give its path as agent.binary in evolve.yaml"
        raise EnvironmentFault(f"{name}: no such program", hint=hint, code="missing-agent")
    path = Path(found).resolve()
    try:  # some make folders in their home even now
        with short_lived("home") as home:
            ran = subprocess.run(
                [path, "--version"],
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=VERSION_WALL_S,
                check=False,
                env={"HOME": home},
            )
    except (OSError, subprocess.SubprocessError) as error:
        raise EnvironmentFault(f"{path}: cannot be run: {error}", code="missing-agent") from error
    if version not in (word.rstrip(".,") for word in ran.stdout.split()):
        said = ran.stdout.strip() or ran.stderr.strip() or "nothing"
        hint = f"install version {version}, or change agent.version in evolve.yaml"
        raise EnvironmentFault(f"{path}: it says {said[:80]!r}, not {version}", hint=hint, code="wrong-agent-version")
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return Program(path, version, digest)

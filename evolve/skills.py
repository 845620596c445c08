"""Reading and validating skills."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import yaml

from evolve.digest import sha256_json
from evolve.errors import InputError
from evolve.scratch import short_lived
from evolve.snapshot import Snapshot

SKILL_FILE = "SKILL.md"
MAX_LISTED_CHARS = 1536
MAX_BODY_LINES = 500
_FRONTMATTER = re.compile(r"\A---[ \t]*\n.*?\n---[ \t]*(?:\n|\Z)", re.DOTALL)


@dataclass(frozen=True)
class Skill:
    """A skill held in memory; ``folder`` is its POSIX path in the workspace."""

    name: str
    folder: str
    files: Snapshot

    @property
    def fingerprint(self) -> str:
        """Digest of every file that an arm with this skill alone loads."""
        return fingerprint_of((self,))

    @cached_property
    def text(self) -> str:
        """The whole of SKILL.md, its line ends normalised."""
        return self.files.text(SKILL_FILE).replace("\r\n", "\n")

    @cached_property
    def body(self) -> str:
        """SKILL.md without its frontmatter."""
        return split_frontmatter(self.text)[1]


def fingerprint_of(skills: Iterable[Skill]) -> str:
    """Return the digest of every file of some skills, in any order."""
    return sha256_json({skill.name: skill.files.digest for skill in skills})


def installed_fingerprint(skills: Path) -> str:
    """Return the fingerprint of the skills installed below a folder."""
    return sha256_json({folder.name: Snapshot.read(folder).digest for folder in sorted(skills.iterdir())})


def split_frontmatter(text: str) -> tuple[str, str]:
    """Split SKILL.md into its frontmatter (fences included) and its stripped body."""
    match = _FRONTMATTER.match(text)
    if match is None:
        return "", text.strip()
    return match.group(0), text[match.end() :].strip()


def with_body(text: str, body: str) -> str:
    """Return SKILL.md with another body and the same frontmatter."""
    return f"{split_frontmatter(text)[0].rstrip()}\n\n{body.strip()}\n"


@lru_cache(maxsize=256)
def _faults(name: str, front: str) -> tuple[str, ...]:
    """Return what the specification's own reader finds wrong; candidates of one skill share their frontmatter."""
    import skills_ref

    with short_lived("skill") as scratch:
        folder = Path(scratch) / name
        Snapshot.of_texts({SKILL_FILE: front}).write_scratch(folder)
        return tuple(skills_ref.validate(folder))


def validate_skill(skill: Skill) -> None:
    """Check a skill against the agent skills specification.

    Raises:
        InputError: The message names the skill's file and every fault found.

    """
    where = f"{skill.folder}/{SKILL_FILE}"
    if SKILL_FILE not in skill.files.files:
        raise InputError(f"{where}: no such file", hint="a skill is a folder with a SKILL.md", code="no-skill-md")
    try:
        skill.files.files[SKILL_FILE].content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: not UTF-8 (byte {error.start})", code="not-utf8") from error
    front, _ = split_frontmatter(skill.text)
    problems = list(_faults(skill.name, front or skill.text))
    if not skill.body:
        problems.append("the body is empty")
    if problems:
        raise InputError(f"{where}: {'; '.join(problems)}", code="invalid-skill")


def size_warnings(skill: Skill) -> list[str]:
    """Return which budgets of agents a skill exceeds; none of them makes it invalid."""
    found = []
    front, body = split_frontmatter(skill.text)
    try:
        fields = yaml.safe_load("\n".join(front.strip().split("\n")[1:-1]))
    except yaml.YAMLError:
        fields = None
    length = len(str(fields.get("description") or "").strip()) if isinstance(fields, dict) else 0
    if length > MAX_LISTED_CHARS:
        found.append(f"the description has {length:,} characters, agents list {MAX_LISTED_CHARS:,} of them")
    lines = body.count("\n") + 1
    if lines > MAX_BODY_LINES:
        found.append(f"the body has {lines:,} lines, more than {MAX_BODY_LINES}: move some to files beside it")
    return found


def read_skill(workspace: Path, root: str, name: str) -> Skill:
    """Read and validate one skill.

    Raises:
        InputError: The folder is not a valid skill.

    """
    folder = f"{root}/{name}"
    skill = Skill(name=name, folder=folder, files=Snapshot.read(workspace / folder))
    validate_skill(skill)
    return skill


def read_skills(workspace: Path, roots: tuple[str, ...]) -> dict[str, Skill]:
    """Read every skill below the skill roots, by name.

    Raises:
        InputError: A root is missing, a skill is invalid, or two roots hold skills of one name.

    """
    skills: dict[str, Skill] = {}
    for root in roots:
        if not (workspace / root).is_dir():
            raise InputError(f"{workspace / root}: no such folder", hint="see skill_roots in evolve.yaml")
        for folder in sorted((workspace / root).iterdir()):
            if not folder.is_dir() or not (folder / SKILL_FILE).exists():
                continue
            if folder.name in skills:
                raise InputError(f"the skill {folder.name!r} stands in two skill roots", code="duplicate-skill")
            skills[folder.name] = read_skill(workspace, root, folder.name)
    if not skills:
        raise InputError(f"no skill below {', '.join(roots)}", hint="a skill is a folder with a SKILL.md")
    return skills

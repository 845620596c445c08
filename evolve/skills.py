"""Reading and validating skills."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
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
    """A skill held in memory; ``folder`` is its POSIX path in the workspace, ``mirrors`` hold the very same files."""

    name: str
    folder: str
    files: Snapshot
    mirrors: tuple[str, ...] = ()

    @property
    def folders(self) -> tuple[str, ...]:
        """Everywhere it stands; paths of overlays lie in the first."""
        return (self.folder, *self.mirrors)

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


def _check_mirror(skill: Skill, mirror: Skill) -> None:
    """Refuse a mirror that differs: agents that read one root would not have the text that was measured.

    Raises:
        InputError: The first file that differs is named.

    """
    one, other = skill.files.files, mirror.files.files
    for path in sorted(one.keys() | other.keys(), key=lambda name: name.encode()):
        if one.get(path) != other.get(path):
            missing = next((at for at, held in ((skill.folder, one), (mirror.folder, other)) if path not in held), None)
            why = f"{missing} does not have it" if missing else "they differ"
            raise InputError(
                f"{mirror.folder}: not what {skill.folder} holds: {path}: {why}",
                hint=f"make them the same: diff -r {skill.folder} {mirror.folder}",
                code="mirror-differs",
            )


def read_skills(workspace: Path, roots: tuple[str, ...]) -> dict[str, Skill]:
    """Read every skill below the skill roots, by name; one that stands in several is mirrored, byte for byte.

    Raises:
        InputError: A root is missing, a skill is invalid, or two roots hold different skills of one name.

    """
    skills: dict[str, Skill] = {}
    links: list[Path] = []
    for root in dict.fromkeys(roots):
        if not (workspace / root).is_dir():
            raise InputError(f"{workspace / root}: no such folder", hint="see skill_roots in evolve.yaml")
        for folder in sorted((workspace / root).iterdir()):
            if not folder.is_dir() or not (folder / SKILL_FILE).exists():
                continue
            if folder.resolve() != workspace.resolve() / root / folder.name:
                links.append(folder)
                continue
            skill, first = read_skill(workspace, root, folder.name), skills.get(folder.name)
            if first is not None:
                _check_mirror(first, skill)
                skill = replace(first, mirrors=(*first.mirrors, skill.folder))
            skills[folder.name] = skill
    _check_links(workspace, links, skills)
    if not skills:
        raise InputError(f"no skill below {', '.join(roots)}", hint="a skill is a folder with a SKILL.md")
    return skills


def _check_links(workspace: Path, links: Iterable[Path], skills: Mapping[str, Skill]) -> None:
    """Refuse links but those to skills that are read where they stand: what is written there would go elsewhere."""
    known = {(workspace / folder).resolve() for skill in skills.values() for folder in skill.folders}
    for link in links:
        if link.resolve() not in known:
            raise InputError(f"{link}: a link; put the folder itself there", code="link")

"""What ``evolve init`` writes: the files by path, and which of them are there already."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from evolve.errors import EvolveError, InputError
from evolve.files import write_atomic
from evolve.skills import SKILL_FILE
from evolve.snapshot import Snapshot

KNOWN_ROOTS = ("skills", ".claude/skills", ".agents/skills")
EXAMPLE_SKILL = "date-format"
IDENTIFIER = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


@dataclass(frozen=True)
class ExampleTask:
    """A placeholder task of the scaffold."""

    split: str
    prompt: str
    good: str
    bad: str


EXAMPLES = (
    ExampleTask("train", "The shop opened on the 3rd of May 2011.", "2011-05-03", "3 May 2011"),
    ExampleTask("selection", "The contract was signed on August 9, 2004.", "2004-08-09", "August 9, 2004"),
    ExampleTask("sealed", "When was the moon landing: July 20th, 1969?", "1969-07-20", "20/07/1969"),
)


@dataclass(frozen=True)
class Scaffold:
    """The files to write, those that are left as they are, and roots whose skills differ from those of the first."""

    skill: str
    new_skill: bool
    files: Mapping[str, str]
    kept: tuple[str, ...]
    other_roots: tuple[str, ...] = ()


def _render(name: str, **values: object) -> str:
    import jinja2

    loader = jinja2.PackageLoader("evolve.scaffold", "templates")
    environment = jinja2.Environment(loader=loader, undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
    return environment.get_template(name).render(**values)


def _found_roots(root: Path) -> dict[str, list[str]]:
    found = {}
    for name in KNOWN_ROOTS:
        skills = sorted(path.parent.name for path in (root / name).glob(f"*/{SKILL_FILE}"))
        if skills:
            found[name] = skills
    return found


def plan_scaffold(root: Path, skill: str | None) -> Scaffold:
    """Decide what to write into a repository.

    Args:
        root: The repository.
        skill: The skill that the example tasks are for; by default the first one there is, or a new one.

    Raises:
        InputError: There are skills, and none has the name that was asked for.

    """
    found = _found_roots(root)
    names = [name for skills in found.values() for name in skills]
    if names and skill is not None and skill not in names:
        raise InputError(f"no skill named {skill!r}", hint=f"skills here: {', '.join(names)}", code="no-skill")
    chosen = skill or (names[0] if names else EXAMPLE_SKILL)
    if not IDENTIFIER.fullmatch(chosen):
        raise InputError(
            f"{chosen!r} is not a name for a skill", hint="lower-case letters, digits and single hyphens", code="name"
        )
    roots = [name for name, skills in found.items() if chosen in skills] or ["skills"]
    mirrors, others = _mirrors(root, roots, found)
    files = {
        "evolve.yaml": _render("evolve.yaml.j2", roots=[roots[0], *mirrors]),
        "promotion/policy.yaml": _render("policy.yaml.j2"),
        # Evidence is digested byte by byte, so that no line end may be turned.
        "promotion/.gitattributes": "* -text\n",
        "results/.gitignore": "*\n!.gitignore\n",
    }
    if not names:
        files[f"skills/{chosen}/{SKILL_FILE}"] = _render("SKILL.md.j2", skill=chosen)
    for task in EXAMPLES:
        identifier = f"{chosen}-{task.split}-01"
        folder = f"corpus/{identifier}"
        files[f"{folder}/task.yaml"] = _render("task.yaml.j2", id=identifier, skill=chosen, task=task)
        files[f"{folder}/oracle/oracle.yaml"] = _render("oracle.yaml.j2", task=task)
        files[f"{folder}/reference/good/answer.md"] = f"{task.good}\n"
        files[f"{folder}/reference/bad/answer.md"] = f"{task.bad}\n"
    if (root / "corpus").is_dir() and any((root / "corpus").iterdir()):
        files = {path: text for path, text in files.items() if not path.startswith("corpus/")}
    kept = tuple(sorted(path for path in files if (root / path).exists() or (root / path).is_symlink()))
    new = {path: text for path, text in files.items() if path not in kept}
    return Scaffold(chosen, not names, new, kept, others)


def _mirrors(root: Path, roots: list[str], found: Mapping[str, list[str]]) -> tuple[list[str], tuple[str, ...]]:
    """Return the further roots whose skills are those of the first, byte for byte, and those where they differ."""
    mirrors: list[str] = []
    others: list[str] = []
    for name in roots[1:]:
        if (root / name).resolve() != root.resolve() / name:
            continue
        shared = [skill for skill in found[name] if skill in found[roots[0]]]
        same = all(_same(root / roots[0] / skill, root / name / skill) for skill in shared)
        (mirrors if same else others).append(name)
    return mirrors, tuple(others)


def _same(one: Path, other: Path) -> bool:
    """Whether two folders hold the same; one that cannot be read as a skill is not the same as anything."""
    try:
        return Snapshot.read(one).digest == Snapshot.read(other).digest
    except EvolveError:
        return False


def write_scaffold(root: Path, scaffold: Scaffold) -> None:
    """Write the new files; ``evolve.yaml`` last, so that a crash leaves no half workspace that looks whole."""
    for path in sorted(scaffold.files, key=lambda path: (path == "evolve.yaml", path)):
        write_atomic(root / path, scaffold.files[path].encode("utf-8"))

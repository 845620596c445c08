"""What a program left in its folder, as an overlay: hostile until it is proven to be a proposal."""

from __future__ import annotations

import json
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from evolve.digest import foreign_files
from evolve.errors import InputError
from evolve.files import safe_relative
from evolve.hostile import read_below
from evolve.overlays import MAX_OVERLAY_BYTES, MAX_OVERLAY_FILES, PROMPT_SUFFIXES
from evolve.propose.bundle.build import SKILL_FOLDER, Bundle
from evolve.propose.bundle.quoting import one_line
from evolve.records.base import decode_text
from evolve.records.yaml_source import YamlSource
from evolve.redact import redact
from evolve.skills import Skill
from evolve.snapshot import FileEntry, Snapshot

STATEMENTS = ("proposal.json", "proposal.yaml", "proposal.yml")
MAX_STATEMENT_BYTES = 64 * 1024
STATED_CHARS, RATIONALE_CHARS, MOST_RISKS = 1000, 2000, 10
NAMED = 5


@dataclass(frozen=True)
class Stated:
    """What a proposer says of its proposal; ``passed_over`` says what of that could not be read."""

    rationale: str = ""
    expected_effect: str = ""
    risks: tuple[str, ...] = ()
    passed_over: str = ""


@dataclass(frozen=True)
class Collected:
    """The files of the skill that were changed, by their paths in it, and what was changed beside them."""

    files: Snapshot
    beside: tuple[str, ...]
    stated: Stated


def collect(work: Path, bundle: Bundle, skill: Skill) -> Collected:
    """Read what a program changed of the skill in the folder of its bundle.

    Raises:
        InputError: It left no proposal: something that is no plain prompt file, too much of it, a deletion, or nothing.

    """
    found = {path: status for path, status in foreign_files(work)}
    given = {path: entry.content for path, entry in bundle.files.files.items()}
    mine = f"{SKILL_FOLDER}/"
    gone = sorted(path for path in given if path.startswith(mine) and path not in found)
    if gone:
        raise _refused(f"{_shown(gone[0])} was deleted or renamed; files may be changed and added")
    changed: dict[str, FileEntry] = {}
    beside: list[str] = []
    total = 0
    for path, status in sorted(found.items()):
        if not path.startswith(mine):
            if path not in STATEMENTS and _differs(work, path, given):
                beside.append(path)
            continue
        content = _file(work, path, status.st_mode)
        if given.get(path) == content:
            continue
        total += len(content)
        if len(changed) >= MAX_OVERLAY_FILES or total > MAX_OVERLAY_BYTES:
            raise _refused(f"more than {MAX_OVERLAY_FILES} files or {MAX_OVERLAY_BYTES // 1024**2} MiB were changed")
        name = path.removeprefix(mine)
        changed[name] = FileEntry(_text(content, name, skill, given.get(path)).encode("utf-8"))
    beside += [path for path in given if path not in found and not path.startswith(mine)]
    if not changed:
        raise _refused(f"nothing below {mine} was changed", code="no-change")
    return Collected(Snapshot(changed), tuple(sorted(beside)), read_statement(work))


def _refused(why: str, code: str = "bad-proposal") -> InputError:
    return InputError(f"the proposer's work is no proposal: {why}", code=code)


def _shown(path: str) -> str:
    return one_line(path.encode("utf-8", errors="replace").decode("utf-8"), 120)


def _differs(work: Path, path: str, given: Mapping[str, bytes]) -> bool:
    return path not in given or read_below(work, path, len(given[path])) != given[path]


def _file(work: Path, path: str, mode: int) -> bytes:
    """Return the content of a file that may be part of a proposal."""
    safe_relative(path, where="the proposer's work")
    if not stat.S_ISREG(mode):
        raise _refused(f"{_shown(path)} is no plain file")
    content = read_below(work, path, MAX_OVERLAY_BYTES)
    if content is None:
        raise _refused(f"{_shown(path)} cannot be read, or is larger than {MAX_OVERLAY_BYTES // 1024**2} MiB")
    return content


def _text(content: bytes, name: str, skill: Skill, given: bytes | None) -> str:
    """Return the text of a changed file of the skill."""
    if PurePosixPath(name).suffix not in PROMPT_SUFFIXES:
        raise _refused(f"{_shown(name)} is none of {', '.join(PROMPT_SUFFIXES)}")
    now = skill.files.files.get(name)
    if now is not None and now.content != given:
        raise _refused(f"{_shown(name)} was not shown as it is, so that it cannot be changed")
    return redact(decode_text(content, f"the proposer's work: {_shown(name)}"))


def read_statement(work: Path) -> Stated:
    """Read what a program says of its proposal; one that cannot be read is passed over, and that is said."""
    for name in STATEMENTS:
        if not (work / name).is_symlink() and not (work / name).exists():
            continue
        data = read_below(work, name, MAX_STATEMENT_BYTES)
        if data is None:
            return Stated(passed_over=f"{name} is no plain file of at most {MAX_STATEMENT_BYTES // 1024} KiB")
        try:
            text = decode_text(data, name)
            value = json.loads(text) if name.endswith(".json") else YamlSource.parse(text, name).value
            return stated_by(value)
        except (InputError, ValueError, RecursionError):
            return Stated(passed_over=f"{name} cannot be read")
    return Stated()


def stated_by(value: Any) -> Stated:
    """Return what a parsed statement says: texts alone, on one line each, redacted and capped.

    Raises:
        ValueError: It is no object, or holds something other than texts where texts belong.

    """
    if not isinstance(value, dict):
        raise ValueError("no object")
    risks = value.get("risks", [])
    texts = (value.get("rationale", ""), value.get("expected_effect", ""), *(risks if isinstance(risks, list) else [0]))
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("not a text")
    return Stated(
        rationale=one_line(texts[0], RATIONALE_CHARS),
        expected_effect=one_line(texts[1], STATED_CHARS),
        risks=tuple(one_line(risk, STATED_CHARS) for risk in texts[2 : 2 + MOST_RISKS]),
    )


def rationale_of(collected: Collected, number: int) -> str:
    """Return the rationale of a proposal: what its program says, what was passed over, and what it changed beside."""
    parts = [f"Reflection {number + 1} by a program."]
    if collected.stated.rationale:
        parts.append(f"It says: {collected.stated.rationale}")
    if collected.stated.passed_over:
        parts.append(f"Passed over: {collected.stated.passed_over}.")
    if collected.beside:
        more = f" and {len(collected.beside) - NAMED} more" if len(collected.beside) > NAMED else ""
        names = ", ".join(_shown(path) for path in collected.beside[:NAMED])
        parts.append(f"Changes outside of the skill, passed over: {names}{more}.")
    return " ".join(parts)

"""The manual operator: a text of SKILL.md, or an edited copy of the whole skill, as an overlay."""

from __future__ import annotations

from pathlib import Path

from evolve.errors import InputError
from evolve.overlays import MAX_OVERLAY_BYTES, MAX_OVERLAY_FILES
from evolve.records.base import decode_text, read_text
from evolve.skills import SKILL_FILE, Skill
from evolve.snapshot import Snapshot

SPARE_FILES = 1000


def edited_texts(skill: Skill, source: Path) -> dict[str, str | None]:
    """Return what an edited copy changes of a skill, by path in it; ``None``: the copy does not have it any more.

    Args:
        skill: The incumbent.
        source: A new SKILL.md, or a folder with all files of the skill as they are to be.

    Raises:
        InputError: The folder is no copy of a skill, or a file that differs is not text.

    """
    if not source.is_dir():
        return {SKILL_FILE: read_text(source)}
    copy = Snapshot.read(source, max_files=MAX_OVERLAY_FILES + SPARE_FILES, max_bytes=16 * MAX_OVERLAY_BYTES)
    if SKILL_FILE not in copy.files:
        raise InputError(
            f"{source}: holds no {SKILL_FILE}",
            hint=f"give an edited copy of {skill.folder}/, or a new {SKILL_FILE}",
            code="no-skill-md",
        )
    before, after = skill.files.files, copy.files
    texts: dict[str, str | None] = dict.fromkeys(sorted(before.keys() - after.keys()))
    for path in sorted(path for path in after if after[path] != before.get(path)):
        if path in before and after[path].content == before[path].content:
            raise InputError(f"{source / path}: only its mode differs; overlays change text alone", code="mode-change")
        texts[path] = decode_text(after[path].content, str(source / path))
    return texts

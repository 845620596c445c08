"""Which files a promotion changes, in every folder that holds the skill: from evidence alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from evolve.records.promotion import Promotion


@dataclass(frozen=True)
class Touched:
    """A file that a promotion changes.

    Args:
        source: Its path in the overlay; another one than its own where it is a mirror's.
        before: SHA-256 of what was measured against; ``None``: it was not there.
        after: SHA-256 of what the overlay puts there; ``None``: it goes.

    """

    source: str
    before: str | None
    after: str | None


def touched_files(promotion: Promotion) -> dict[str, Touched]:
    """Return every file that a promotion changes, those of mirrors included, by its path in the workspace."""
    sources = sorted({*promotion.base_files, *promotion.overlay_files})
    return {
        path: Touched(source, promotion.base_files.get(source), promotion.overlay_files.get(source))
        for source in sources
        for path in _everywhere(source, promotion.folders)
    }


def _everywhere(source: str, folders: tuple[str, ...]) -> Iterator[str]:
    yield source
    for mirror in folders[1:]:
        yield f"{mirror}/{source.removeprefix(f'{folders[0]}/')}"

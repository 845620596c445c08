"""Keeping overlays that were made by hand commands, under names that say what they are."""

from __future__ import annotations

from pathlib import Path

from evolve.overlays import FrozenOverlay, write_overlay


def store_overlay(overlays: Path, overlay: FrozenOverlay) -> Path:
    """Write an overlay below the overlays folder and return its folder; the same content has the same name."""
    operator = overlay.spec.operator.replace("+", "-")
    folder = overlays / f"{overlay.skill}-{operator}-{overlay.digest[:8]}"
    write_overlay(folder, overlay)
    return folder

"""Keeping overlays that were made by hand commands, under names that say what they are."""

from __future__ import annotations

from pathlib import Path

from evolve.overlays import FrozenOverlay, write_overlay
from evolve.workspace import Workspace


def store_overlay(workspace: Workspace, overlay: FrozenOverlay) -> Path:
    """Write an overlay below the workspace's overlays and return its folder; the same content has the same name."""
    operator = overlay.spec.operator.replace("+", "-")
    folder = workspace.overlays / f"{overlay.skill}-{operator}-{overlay.digest[:8]}"
    write_overlay(folder, overlay, staging=workspace.staging)
    return folder

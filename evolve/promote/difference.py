"""What a candidate changes, as far as what it was measured against is at hand."""

from __future__ import annotations

from evolve.overlays import FrozenOverlay, overlay_diff
from evolve.promote.checks import frozen_overlay
from evolve.promote.evidence import Evidence
from evolve.promote.git import Repository
from evolve.skills import Skill
from evolve.snapshot import Snapshot
from evolve.workspace import Workspace


def evidence_diff(workspace: Workspace, repository: Repository, evidence: Evidence) -> str:
    """Return the diff of an overlay against the text that it was measured against, as far as it is at hand."""
    overlay: FrozenOverlay = frozen_overlay(evidence)
    name = evidence.promotion.skill
    commits = repository.commits_with_trailer("Evolve-Overlay", evidence.promotion.overlay_sha256)
    promoted = [c for c in commits if c.trailers.get("Evolve-Evidence") == evidence.promotion_sha256]
    if promoted and repository.branch() is not None:
        before = {
            path: data.decode("utf-8", errors="replace")
            for path in evidence.promotion.base_files
            if (data := repository.blob(f"{promoted[0].sha}^", path)) is not None
        }
        return overlay_diff(Skill(name, "", Snapshot.of_texts(before)), overlay)
    return overlay_diff(workspace.skill(name), overlay)

"""``evolve promote``."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click

from evolve.cli.opening import here
from evolve.cli.output import emit, json_option


@click.command("promote", short_help="Commit a proven overlay with its evidence.")
@click.argument("candidate")
@click.option("--branch", help="Commit on this branch; a new one is made at HEAD.")
@click.option("--dry-run", is_flag=True, help="Run every check and show the change; commit nothing.")
@json_option
def command(candidate: str, branch: str | None, dry_run: bool, as_json: bool) -> None:
    """Commit an overlay whose evidence says promote, together with that evidence.

    CANDIDATE is an overlay's folder, or a folder of evidence below promotion/. The decision is recomputed from
    the rows, and everything that was measured must still be what is there.

    Example: evolve promote overlays/purchase-json-demonstrate-1a2b3c4d
    """
    from evolve.corpus.loading import load_corpus
    from evolve.overlays import overlay_diff, read_overlay
    from evolve.promote.apply import (
        Target,
        check_bases,
        check_branch,
        check_not_promoted,
        check_promotable,
        evidence_of,
        frozen_overlay,
        promote,
    )
    from evolve.promote.evidence import find_evidence, read_evidence
    from evolve.promote.git import Repository

    workspace = here()
    folder = evidence_of(workspace, candidate)
    if folder is not None:
        evidence = read_evidence(folder)
    else:
        overlay = read_overlay(Path(candidate), workspace.skills())
        evidence = find_evidence(workspace.promotion, overlay)
    target = Target(workspace, Repository(workspace.root), branch)
    corpus = load_corpus(workspace.corpus)
    if dry_run:
        check_branch(target)
        check_not_promoted(evidence, target)
        check_promotable(evidence, workspace, corpus, now=datetime.now(UTC))
        check_bases(evidence, target)
        diff = overlay_diff(workspace.skill(evidence.promotion.skill), frozen_overlay(evidence))
        emit(
            {"would_promote": True, "diff": diff},
            f"every check holds; this would be committed:\n{diff}",
            as_json=as_json,
        )
        return
    commit = promote(evidence, target, corpus)
    where = f" on {target.repository.branch() or 'a detached HEAD'}"
    emit({"commit": commit}, f"promoted: {commit}{where}\ncheck it with: evolve audit --all", as_json=as_json)

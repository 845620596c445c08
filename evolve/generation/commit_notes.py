"""Committing what a generation tried, beside what it promoted."""

from __future__ import annotations

from evolve.gate.metrics import counted
from evolve.promote.target import Target, check_branch
from evolve.promote.transaction import promotion_lock
from evolve.propose.archive import read_archive
from evolve.records.archive import ARCHIVE_FILE, LEARNINGS_FILE
from evolve.records.generation import Generation


def commit_notes(target: Target, record: Generation) -> str | None:
    """Commit the archive, the learnings and the candidates' folders; ``None`` when all of it is committed.

    Raises:
        EnvironmentFault: git or a hook refused; the files stay.

    """
    workspace, repository = target.workspace, target.repository
    files = [workspace.overlays / ARCHIVE_FILE, workspace.overlays / LEARNINGS_FILE]
    paths = [workspace.relative(path) for path in files if path.exists()]
    folders = sorted({entry.overlay for entry in read_archive(workspace) if entry.overlay is not None})
    paths += [folder for folder in folders if (workspace.root / folder).is_dir()]
    if not paths or not repository.changed(paths):
        return None
    check_branch(target)
    tried = sum(proposal.overlay_sha256 is not None for proposal in record.proposals)
    refused = len(record.proposals) - tried
    title = f"Note what generation {record.id} tried on {record.skill}"
    text = f"{counted(tried, 'candidate', 'candidates')}, {counted(refused, 'refusal', 'refusals')}. {record.summary}"
    with promotion_lock(target):
        if target.branch not in (None, repository.branch()):
            repository.switch_to_new(str(target.branch))
        return repository.commit(paths, f"{title}\n\n{text}\n")

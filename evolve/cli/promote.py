"""``evolve promote``."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evolve.cli.opening import here
from evolve.cli.output import emit, json_option, say
from evolve.errors import InputError

if TYPE_CHECKING:
    from evolve.corpus.loading import Corpus
    from evolve.promote.evidence import Evidence
    from evolve.promote.target import Target
    from evolve.workspace import Workspace

CHECKS = (
    "the branch can be committed to",
    "not promoted before",
    "rows, decision, policy, sealed tasks and ledger are those that were decided on",
    "the evidence is neither too old nor from the future, and signed as the policy demands",
    "the skill stands where it stood, and every file of it is what was measured against, on disk and in HEAD",
    "policy and sealed tasks are committed",
    "the overlay is the one that was measured, and stays inside its skill",
    "with it, the skill is the candidate that was measured",
    "every ancestor of the overlay is known",
)


@click.command("promote", short_help="Commit a proven overlay with its evidence.")
@click.argument("candidate", required=False)
@click.option("--branch", help="Commit on this branch; a new one is made at HEAD.")
@click.option("--dry-run", is_flag=True, help="Run every check and show the change; commit nothing.")
@click.option("--pr", is_flag=True, help="Commit on a branch of its own, push it, and open a pull request with gh.")
@click.option("--recover", "recovering", is_flag=True, help="Finish or undo what a killed promotion left.")
@json_option
def command(
    candidate: str | None, branch: str | None, dry_run: bool, pr: bool, recovering: bool, as_json: bool
) -> None:
    """Commit an overlay whose evidence says promote, together with that evidence.

    CANDIDATE is an overlay's folder, or a folder of evidence below promotion/. The decision is recomputed from
    the rows, and everything that was measured must still be what is there. It is one transaction: whatever
    happens on the way, all of it is committed or nothing has changed.

    Example: evolve promote overlays/purchase-json-demonstrate-1a2b3c4d
    """
    from evolve.corpus.loading import load_corpus
    from evolve.promote.apply import promote
    from evolve.promote.git import Repository
    from evolve.promote.pull_request import branch_for, remote_for
    from evolve.promote.target import Target

    workspace = here()
    repository = Repository(workspace.root)
    if recovering:
        if candidate or branch or dry_run or pr:
            raise InputError("--recover goes alone", code="usage")
        _recover(Target(workspace, repository), as_json=as_json)
        return
    if candidate is None:
        raise InputError("Missing argument 'CANDIDATE'.", hint="see: evolve promote --help", code="usage")
    evidence = _evidence(workspace, candidate)
    target = Target(workspace, repository, branch or (branch_for(evidence) if pr else None))
    corpus = load_corpus(workspace.corpus)
    base = repository.branch()
    remote = remote_for(target) if pr else None
    if dry_run:
        _show(evidence, target, corpus, as_json=as_json)
        return
    commit = promote(evidence, target, corpus)
    noted = _noted(target, evidence)
    where = f" on {repository.branch() or 'a detached HEAD'}"
    told = f"promoted: {commit}{where}\n"
    told += f"where it comes from: {noted}\n" if noted is not None else ""
    told += "check it with: evolve audit --all"
    if remote is None:
        emit({"commit": commit}, told, as_json=as_json)
        return
    _offer(evidence, target, remote, base, commit, as_json=as_json)


def _noted(target: Target, evidence: Evidence) -> str | None:
    from evolve.errors import EnvironmentFault
    from evolve.promote.apply import note_lineage

    try:
        return note_lineage(target, evidence.promotion)
    except EnvironmentFault as error:
        folder = target.workspace.spec.overlays
        say(f"note: it was promoted, and what it comes from is in no commit yet: {error.message}", err=True)
        say(f"  try: commit {folder}/, so that a clone can look its lineage up", err=True)
        return None


def _evidence(workspace: Workspace, candidate: str) -> Evidence:
    from evolve.overlays import read_overlay
    from evolve.promote.apply import evidence_of
    from evolve.promote.evidence import find_evidence, read_evidence

    folder = evidence_of(workspace, candidate)
    if folder is not None:
        return read_evidence(folder)
    return find_evidence(workspace.promotion, read_overlay(Path(candidate), workspace.skills()))


def _recover(target: Target, *, as_json: bool) -> None:
    from evolve.promote.recovery import recover, told

    recovered = recover(target)
    value = {
        "recovered": recovered is not None,
        "commit": recovered.commit if recovered else None,
        "kept": dict(recovered.kept) if recovered else {},
    }
    emit(value, told(recovered), as_json=as_json)


def _show(evidence: Evidence, target: Target, corpus: Corpus, *, as_json: bool) -> None:
    from evolve.overlays import overlay_diff
    from evolve.promote.checks import check_all
    from evolve.promote.recovery import refuse_unfinished

    refuse_unfinished(target.workspace)
    overlay = check_all(evidence, target, corpus)
    diff = overlay_diff(target.workspace.skill(evidence.promotion.skill), overlay)
    held = "\n".join(f"ok  {check}" for check in CHECKS)
    text = f"{held}\nevery check holds; this would be committed:\n{diff}"
    emit({"would_promote": True, "checks": list(CHECKS), "diff": diff}, text, as_json=as_json)


def _offer(evidence: Evidence, target: Target, remote: str, base: str | None, commit: str, *, as_json: bool) -> None:
    from evolve.promote.difference import evidence_diff
    from evolve.promote.pull_request import PullRequest, open_pull_request, text_for
    from evolve.report.markdown import promotion_report

    diff = evidence_diff(target.workspace, target.repository, evidence)
    title, body = text_for(evidence, promotion_report(evidence, diff))
    request = PullRequest(remote, str(target.branch), base, title, body)
    opened = open_pull_request(target, request)
    told = f"promoted: {commit} on {request.branch}, pushed to {remote}"
    shown = shlex.join([*request.arguments, "BODY.md"])
    text = (
        f"{told}\npull request: {opened}"
        if opened is not None
        else f"{told}\ngh is not installed; open the pull request with:\n  {shown}\n\n{title}\n\n{body}"
    )
    value = {"commit": commit, "branch": request.branch, "remote": remote, "opened": opened}
    emit(value | {"title": title, "body": body, "command": shown}, text, as_json=as_json)

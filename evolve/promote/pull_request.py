"""Offering a promotion as a pull request: a branch that is pushed, and a text that says what was proven."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from evolve.errors import EnvironmentFault, InputError
from evolve.promote.evidence import Evidence
from evolve.promote.target import Target

GH_WAIT_S = 120


@dataclass(frozen=True)
class PullRequest:
    """A pull request that can be opened; ``base`` is the branch that it is to be merged into, where that is known."""

    remote: str
    branch: str
    base: str | None
    title: str
    body: str

    @property
    def arguments(self) -> list[str]:
        """What ``gh`` is asked; the body comes from a file."""
        base = ["--base", self.base] if self.base else []
        return ["gh", "pr", "create", "--head", self.branch, *base, "--title", self.title, "--body-file"]


def branch_for(evidence: Evidence) -> str:
    """Return the branch that a promotion goes to when none is given."""
    return f"evolve/{evidence.promotion.skill}-{evidence.promotion.overlay_sha256[:12]}"


def remote_for(target: Target) -> str:
    """Return the remote that a branch is pushed to.

    Raises:
        InputError: There is none, or it cannot be told which; or the branch is the one to be merged into.

    """
    if target.branch is None or target.branch == target.repository.branch():
        text = "--pr: the promotion needs a branch of its own"
        raise InputError(text, hint="give another --branch, or none", code="no-own-branch")
    remote = target.repository.remote(target.repository.branch())
    if remote is None:
        text = "--pr: it cannot be told which remote to push to"
        raise InputError(text, hint="git remote add origin URL", code="no-remote")
    return remote


def text_for(evidence: Evidence, report: str) -> tuple[str, str]:
    """Return title and body: the report of the evidence, which is as short as a forge takes it."""
    estimates = evidence.promotion.decision.estimates
    decides = next((one for one in estimates if one.decides and one.value is not None), None)
    title = f"Promote {evidence.promotion.lineage.operator} overlay of {evidence.promotion.skill}"
    if decides is None:
        return title, report
    return f"{title}: {decides.value:+.1f} {decides.unit} over {decides.tasks} tasks x {decides.runs} runs", report


def open_pull_request(target: Target, request: PullRequest) -> str | None:
    """Push the branch and open the pull request; returns what ``gh`` says, ``None`` where there is no ``gh``.

    Raises:
        EnvironmentFault: git or gh refused; the promotion is committed all the same.

    """
    try:
        target.repository.push(request.remote, request.branch)
    except EnvironmentFault as error:
        raise EnvironmentFault(
            f"promoted on {request.branch}, and not pushed: {error.message}",
            hint=f"git push --set-upstream {request.remote} {request.branch}",
            code="push-failed",
        ) from error
    if shutil.which("gh") is None:
        return None
    with tempfile.TemporaryDirectory() as scratch:
        body = Path(scratch) / "body.md"
        body.write_text(request.body, encoding="utf-8")
        command = [*request.arguments, str(body)]
        try:
            ran = subprocess.run(
                command, cwd=target.workspace.root, capture_output=True, text=True, timeout=GH_WAIT_S, check=True
            )
        except (OSError, subprocess.SubprocessError) as error:
            told = (getattr(error, "stderr", None) or str(error)).strip()
            raise EnvironmentFault(
                f"promoted on {request.branch} and pushed; gh refused: {told}",
                hint=shlex.join([*request.arguments, "BODY.md"]),
                code="gh-failed",
            ) from error
    return ran.stdout.strip()

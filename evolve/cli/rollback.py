"""``evolve rollback``."""

from __future__ import annotations

import click

from evolve.cli.opening import here
from evolve.cli.output import emit, json_option


@click.command("rollback", short_help="Take a promotion back, with the reason.")
@click.argument("promotion")
@click.option("--reason", required=True, help="Why; it goes into the commit.")
@click.option("--branch", help="Commit on this branch; a new one is made at HEAD.")
@json_option
def command(promotion: str, reason: str, branch: str | None, as_json: bool) -> None:
    """Commit the inverse of a promotion: its files hold again what they held before.

    PROMOTION is a folder of evidence, a commit that promoted, or a skill, whose newest promotion is meant. The
    evidence and the ledger stay: what was looked at stays spent.

    Example: evolve rollback purchase-json --reason "Totals lose their currency in real receipts"
    """
    from evolve.promote.git import Repository
    from evolve.promote.rollback import find_promoted, roll_back
    from evolve.promote.target import Target

    workspace = here()
    repository = Repository(workspace.root)
    promoted = find_promoted(workspace, repository, promotion)
    commit = roll_back(promoted, Target(workspace, repository, branch), reason)
    where = f" on {repository.branch() or 'a detached HEAD'}"
    text = f"rolled back {promoted.commit[:12]}: {commit}{where}\ncheck it with: evolve audit --all"
    emit({"commit": commit, "rolled_back": promoted.commit}, text, as_json=as_json)

"""``evolve audit``."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from evolve.cli.opening import here
from evolve.cli.output import emit, json_option
from evolve.errors import ExitCode, InputError

if TYPE_CHECKING:
    from evolve.promote.findings import Finding


@click.command("audit", short_help="Recompute what promotions claim, from a clone alone.")
@click.argument("promotion", required=False)
@click.option("--all", "every", is_flag=True, help="The ledger and every promotion (the default).")
@click.option("--verbose", "-v", is_flag=True, help="List the checks that hold, too.")
@json_option
def command(promotion: str | None, every: bool, verbose: bool, as_json: bool) -> int:
    """Recompute what promotions claim: digests, rows, decision, levels, ledger, reuse and commits.

    Offline, without a model. Exit 4 on any fault, naming the file, what was expected and what was found.
    Notes say who signed.

    Example: evolve audit --all
    """
    from evolve.promote.apply import evidence_of
    from evolve.promote.audit import audit_all, audit_evidence, open_audit
    from evolve.promote.git import Repository

    if promotion is not None and every:
        raise InputError("give a promotion or --all, not both", code="usage")
    workspace = here()
    context, chain = open_audit(workspace.promotion, workspace.spec.corpus, Repository(workspace.root))
    if promotion is None:
        findings = [chain, *audit_all(context)]
    else:
        folder = evidence_of(workspace, promotion)
        if folder is None or not folder.is_relative_to(workspace.promotion):
            raise InputError(f"{promotion}: no evidence of this workspace", hint="evolve audit --all", code="not-found")
        findings = [chain, *audit_evidence(folder, context)]
    emit([asdict(finding) for finding in findings], _text(findings, verbose=verbose), as_json=as_json)
    return ExitCode.DONE if all(finding.holds for finding in findings) else ExitCode.AUDIT_FAULT


def _text(findings: list[Finding], *, verbose: bool) -> str:
    lines = []
    for finding in findings:
        if not finding.holds:
            lines.append(f"FAULT  {finding.file}: {finding.check}: {finding.detail or 'does not hold'}")
        elif finding.note:
            lines.append(f"note   {finding.file}: {finding.check}: {finding.detail}")
        elif verbose:
            lines.append(f"ok     {finding.file}: {finding.check}")
    faults = sum(not finding.holds for finding in findings)
    verdict = "all holds" if not faults else f"{faults} do not hold"
    lines.append(f"{len(findings)} checks: {verdict}")
    return "\n".join(lines)

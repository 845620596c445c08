"""``evolve audit``."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evolve.cli.opening import here
from evolve.cli.output import emit, json_option
from evolve.errors import ExitCode, InputError

if TYPE_CHECKING:
    from evolve.promote.audit_commit import AuditContext
    from evolve.promote.evidence import Evidence
    from evolve.promote.findings import Finding
    from evolve.promote.git import Repository
    from evolve.report.story import Standing
    from evolve.workspace import Workspace


@click.command("audit", short_help="Recompute what promotions claim, from a clone alone.")
@click.argument("promotion", required=False)
@click.option("--all", "every", is_flag=True, help="The ledger and every promotion (the default).")
@click.option("--since", metavar="REV", help="What was committed after this revision alone, beside the ledger.")
@click.option("--explain", is_flag=True, help="Tell the story of one promotion: what changed, how sure, at what cost.")
@click.option(
    "--junit", "junit_file", type=click.Path(path_type=Path, dir_okay=False), help="Write the checks as JUnit XML too."
)
@click.option(
    "--key",
    "keys",
    multiple=True,
    metavar="PUBLIC_KEY",
    help="Demand a signature by one of these keys, whatever the policy says: base64 or a PEM file. Repeatable.",
)
@click.option("--verbose", "-v", is_flag=True, help="List the checks that hold, too.")
@json_option
def command(
    promotion: str | None,
    every: bool,
    since: str | None,
    explain: bool,
    junit_file: Path | None,
    keys: tuple[str, ...],
    verbose: bool,
    as_json: bool,
) -> int:
    """Recompute what promotions claim: digests, rows, decision, levels, ledger, reuse, commits and rollbacks.

    Offline, without a model. Exit 4 on any fault, naming file, field, what was expected and what was found.
    Notes say who signed. The keys that policy.yaml trusts lie in what is audited; --key gives those that you trust.

    Example: evolve audit --all --key ~/keys/release.pem
    """
    from evolve.promote.apply import evidence_of
    from evolve.promote.audit import audit_all, audit_evidence, audit_since, open_audit
    from evolve.promote.audit_rollbacks import rollback_findings_of
    from evolve.promote.auditor_keys import read_public_key
    from evolve.promote.git import Repository

    if sum((promotion is not None, every, since is not None)) > 1:
        raise InputError("give a promotion, --all or --since, one of them", code="usage")
    if explain and promotion is None:
        raise InputError("--explain tells of one promotion", hint="evolve audit PROMOTION --explain", code="usage")
    workspace = here()
    trusted = tuple(dict.fromkeys(read_public_key(key, workspace.root) for key in keys))
    context, chain = open_audit(workspace, Repository(workspace.root))
    context = replace(context, auditor_keys=trusted)
    folder = None
    if since is not None:
        findings = [chain, *audit_since(context, since)]
    elif promotion is None:
        findings = [chain, *audit_all(context)]
    else:
        folder = evidence_of(workspace, promotion)
        if folder is None or not folder.is_relative_to(workspace.promotion):
            raise InputError(f"{promotion}: no evidence of this workspace", hint="evolve audit --all", code="not-found")
        findings = [chain, *audit_evidence(folder, context), *rollback_findings_of(folder, context)]
    if junit_file is not None:
        from evolve.files import write_atomic
        from evolve.report.junit import junit

        write_atomic(junit_file, junit(findings))
    value = [asdict(finding) for finding in findings]
    if explain and folder is not None:
        text = _story(workspace, folder, findings)
        emit({"findings": value, "story": text}, text, as_json=as_json)
    else:
        text = _text(findings, verbose=verbose)
        overview = "" if as_json else _overview(context, findings)
        emit(value, f"{overview}\n{text}" if overview else text, as_json=as_json)
    return ExitCode.DONE if all(finding.holds for finding in findings) else ExitCode.AUDIT_FAULT


def _overview(context: AuditContext, findings: list[Finding]) -> str:
    """Return a line for each folder of evidence that was audited and can be read."""
    from contextlib import suppress

    from evolve.cli.output import table
    from evolve.errors import EvolveError
    from evolve.promote.evidence import PROMOTION_FILE, read_evidence
    from evolve.report.audit_table import HEADER, audit_row

    rows = []
    for path in sorted(context.promotion_root.glob(f"*/*/{PROMOTION_FILE}")):
        name = path.parent.relative_to(context.promotion_root).as_posix()
        if any(finding.file.startswith(f"{name}/") for finding in findings):
            with suppress(EvolveError, OSError):
                evidence = read_evidence(path.parent)
                rows.append(audit_row(name, evidence.promotion, _standing(context.repository, evidence), findings))
    return f"{table(rows, HEADER)}\n" if rows else ""


def _story(workspace: Workspace, folder: Path, findings: list[Finding]) -> str:
    """Tell the story of a promotion; where its files cannot be read, what the audit found must do."""
    from evolve.errors import EvolveError
    from evolve.promote.difference import evidence_diff
    from evolve.promote.evidence import read_evidence
    from evolve.promote.git import Repository
    from evolve.report.story import story

    repository = Repository(workspace.root)
    try:
        evidence = read_evidence(folder)
        diff = evidence_diff(workspace, repository, evidence)
    except EvolveError as error:
        return f"{_text(findings, verbose=False)}\nthe story cannot be told: {error.message}"
    standing = _standing(repository, evidence)
    notes = [f"{one.check}: {one.detail}" for one in findings if one.note]
    return story(evidence, diff, findings, standing, notes)


def _standing(repository: Repository, evidence: Evidence) -> Standing:
    from evolve.promote.rollback import reason_of, rolled_back
    from evolve.promote.touched import touched_files
    from evolve.report.story import Standing, TakenBack

    commits = repository.commits_with_trailer("Evolve-Evidence", evidence.promotion_sha256)
    promoted = [one.sha for one in commits if repository.changed_in(one.sha) & touched_files(evidence.promotion).keys()]
    if not promoted:
        return Standing()
    back = rolled_back(repository, promoted[-1])
    told = TakenBack(back, repository.day_of(back), reason_of(repository.message(back))) if back else None
    return Standing(promoted[-1], repository.day_of(promoted[-1]), told)


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

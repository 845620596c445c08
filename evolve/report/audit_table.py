"""What an audit found, as a table: a line for each candidate's evidence."""

from __future__ import annotations

from collections.abc import Sequence

from evolve.promote.findings import Finding
from evolve.records.promotion import Promotion
from evolve.report.story import Standing

HEADER = ["evidence", "decision", "look", "signed by", "commit", "checks", "faults"]


def audit_row(name: str, promotion: Promotion, standing: Standing, findings: Sequence[Finding]) -> list[str]:
    """Return the line of one folder of evidence.

    Args:
        name: Its path below the folder of promotions.
        promotion: Its promotion.json.
        standing: Where it stands in history.
        findings: All that the audit found.

    """
    own = [finding for finding in findings if _is_about(finding, name, standing)]
    return [
        name,
        promotion.decision.outcome.value.replace("_", " "),
        str(promotion.ledger.look),
        _signers(own),
        _commit(standing),
        str(len(own)),
        str(sum(not finding.holds for finding in own) or "none"),
    ]


def _is_about(finding: Finding, name: str, standing: Standing) -> bool:
    commits = [commit for commit in (standing.commit, standing.taken_back and standing.taken_back.commit) if commit]
    if any(finding.file == f"git {commit[:12]}" for commit in commits):
        return True
    return finding.file == name or finding.file.startswith(f"{name}/") or finding.check.endswith(f" of {name}")


def _signers(findings: Sequence[Finding]) -> str:
    signed = [finding.detail for finding in findings if finding.check == "signed" and finding.note]
    trusted = sum(detail.endswith("which the policy trusts") for detail in signed)
    told = [f"{trusted} trusted"] if trusted else []
    told += [f"{len(signed) - trusted} not trusted"] if len(signed) > trusted else []
    return ", ".join(told) or "nobody"


def _commit(standing: Standing) -> str:
    if standing.commit is None:
        return "not promoted"
    told = f"{standing.commit[:12]} {standing.day}"
    return f"{told}, rolled back {standing.taken_back.day}" if standing.taken_back is not None else told

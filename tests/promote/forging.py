"""A forger who changes a promotion and then every digest that binds it: evidence, ledger, commit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from evolve.digest import sha256_bytes
from evolve.gate.decide import decide
from evolve.promote.attest import envelopes
from evolve.promote.evidence import gate_input
from evolve.promote.ledger import read_ledger
from evolve.records.base import jsonl_bytes
from evolve.records.ledger import LedgerEntry
from evolve.records.promotion import Promotion
from evolve.records.row import Row
from tests.promote.conftest import Measured
from tests.worlds import git

SHARED = ("policy_sha256", "sealed_sha256", "sealed_tasks", "look", "alpha", "of_alpha", "texts", "overlay_sha256")


def forge(
    measured: Measured,
    *,
    promotion: Callable[[dict[str, Any]], object] = lambda value: None,
    look: Callable[[LedgerEntry], LedgerEntry] = lambda entry: entry,
    rows: Callable[[Sequence[Row]], Sequence[Row]] = lambda rows: rows,
    keep: Callable[[LedgerEntry], bool] = lambda entry: True,
) -> None:
    """Change the newest commit, a promotion, so that all that is bound by digests fits together again.

    Args:
        measured: The workspace.
        promotion: Changes fields of ``promotion.json``.
        look: Changes the ledger's look.
        rows: Changes the rows.
        keep: Which entries stay in the ledger.

    """
    evidence, root = measured.evidence(), measured.root
    forged_rows = tuple(rows(evidence.rows))
    entries = read_ledger(root / "promotion")
    own = look(entries[0])
    value = evidence.promotion.json_value()
    value["rows_sha256"] = sha256_bytes(jsonl_bytes(forged_rows))
    value["row_sha256"] = [row.digest() for row in forged_rows]
    value["ledger"]["entry_sha256"] = own.digest()
    promotion(value)
    forged = Promotion.model_validate(value)
    forged = forged.model_copy(update={"decision": decide(gate_input(forged, forged_rows))})
    data = forged.canonical() + b"\n"
    (measured.folder / "promotion.json").write_bytes(data)
    (measured.folder / "rows.jsonl").write_bytes(jsonl_bytes(forged_rows))
    for name, envelope in envelopes(forged, sha256_bytes(data)).items():
        (measured.folder / name).write_bytes(envelope.file_bytes())
    chained = _chained(own, [entry for entry in entries if keep(entry)], forged, sha256_bytes(data))
    (root / "promotion/ledger.jsonl").write_bytes(jsonl_bytes(chained))
    message = git(root, "log", "-1", "--format=%B").replace(evidence.promotion_sha256, sha256_bytes(data))
    message = message.replace(evidence.promotion.rows_sha256, forged.rows_sha256)
    git(root, "add", "--all", "promotion", *(name for name in ("skills", ".agents") if (root / name).exists()))
    git(root, "commit", "--quiet", "--amend", "--message", message)


def _chained(look: LedgerEntry, entries: Sequence[LedgerEntry], promotion: Promotion, digest: str) -> list[LedgerEntry]:
    found: list[LedgerEntry] = []
    for entry in entries:
        new = look if entry.entry == "look" else entry
        if entry.entry != "look":
            shared = {field: getattr(look, field) for field in SHARED}
            decided = {"evidence_sha256": digest, "outcome": entry.outcome and promotion.decision.outcome}
            new = entry.model_copy(update={**shared, "skill": look.skill, **decided})
        found.append(new.model_copy(update={"seq": len(found), "previous": found[-1].digest() if found else None}))
    return found

"""The ledger: every look at a sealed split, in a chain that shows what was taken out."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evolve.errors import EvidenceFault
from evolve.files import write_atomic, writer_lock
from evolve.records.base import jsonl_bytes, read_jsonl
from evolve.records.ledger import LedgerEntry
from evolve.records.policy import Policy
from evolve.stats.multiplicity import alpha_at
from evolve.workspace import Workspace

LEDGER_FILE = "ledger.jsonl"


@dataclass(frozen=True)
class Ledger:
    """A workspace's ledger; ``locks`` is a folder that git does not track."""

    folder: Path
    locks: Path

    @property
    def path(self) -> Path:
        """The ledger's file."""
        return self.folder / LEDGER_FILE

    def read(self) -> tuple[LedgerEntry, ...]:
        """Read the ledger and check its chain.

        Raises:
            EvidenceFault: An entry was changed, taken out or put in.

        """
        return read_ledger(self.folder)

    def append(self, **fields: Any) -> LedgerEntry:
        """Append an entry; the same entry about the same sweep is appended once.

        Raises:
            BusyError: Another process appends.
            EvidenceFault: The chain is broken.

        """
        with writer_lock(self.locks / "ledger.lock", "the ledger"):
            entries = self.read()
            known = find_entry(entries, fields["entry"], fields["sweep"])
            if known is not None:
                return known
            previous = entries[-1].digest() if entries else None
            entry = LedgerEntry(seq=len(entries), at=datetime.now(UTC), previous=previous, **fields)
            write_atomic(self.path, jsonl_bytes((*entries, entry)))
            return entry

    def record_look(
        self, policy: Policy, *, skill: str, overlay_sha256: str, sweep: str, sealed_sha256: str
    ) -> LedgerEntry:
        """Record, before its first cell, that a sweep looks at a sealed split; the level is fixed with it."""
        look = next_look(self.read(), skill, sealed_sha256)
        return self.append(
            entry="look",
            skill=skill,
            overlay_sha256=overlay_sha256,
            sweep=sweep,
            sealed_sha256=sealed_sha256,
            look=look,
            alpha=alpha_at(look, policy.alpha),
        )


def workspace_ledger(workspace: Workspace) -> Ledger:
    """Return the ledger of a workspace."""
    return Ledger(folder=workspace.promotion, locks=workspace.locks)


def read_ledger(promotion: Path) -> tuple[LedgerEntry, ...]:
    """Read the ledger and check its chain.

    Raises:
        EvidenceFault: An entry was changed, taken out or put in.

    """
    path = promotion / LEDGER_FILE
    if not path.exists():
        return ()
    entries = tuple(read_jsonl(LedgerEntry, path))
    previous: str | None = None
    for number, entry in enumerate(entries):
        if entry.seq != number or entry.previous != previous:
            raise EvidenceFault(f"{path}:{number + 1}: previous: the chain is broken here", code="ledger-chain")
        previous = entry.digest()
    return entries


def find_entry(entries: tuple[LedgerEntry, ...], kind: str, sweep: str) -> LedgerEntry | None:
    """Return the entry of a kind about a sweep, if there is one."""
    return next((entry for entry in entries if entry.entry == kind and entry.sweep == sweep), None)


def next_look(entries: tuple[LedgerEntry, ...], skill: str, sealed_sha256: str) -> int:
    """Return which look at a set of sealed tasks would be the next, counted from 1."""
    looks = [e for e in entries if e.entry == "look" and e.skill == skill and e.sealed_sha256 == sealed_sha256]
    return len(looks) + 1


def undecided_sweeps(entries: tuple[LedgerEntry, ...]) -> set[str]:
    """Return the sweeps that have looked and were not decided on."""
    decided = {entry.sweep for entry in entries if entry.entry == "decision"}
    return {entry.sweep for entry in entries if entry.entry == "look"} - decided

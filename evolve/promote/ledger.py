"""The ledger: every look at a sealed split, in a chain that shows what was taken out."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from evolve.errors import EnvironmentFault, EvidenceFault
from evolve.files import write_atomic, writer_lock
from evolve.records.base import jsonl_bytes, read_jsonl
from evolve.records.kinds import Outcome
from evolve.records.ledger import LedgerEntry
from evolve.records.policy import Policy
from evolve.stats.multiplicity import level_of_look
from evolve.workspace import Workspace

LEDGER_FILE = "ledger.jsonl"
# An entry takes milliseconds and a promotion holds the lock through its hooks; whoever appends has paid for it.
LOCK_WAIT_S = 120


@dataclass(frozen=True)
class Ledger:
    """A workspace's ledger; ``locks`` is not tracked, ``unfinished`` is there when a promotion was killed."""

    folder: Path
    locks: Path
    unfinished: Path | None = None

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

    def append(self, entry: LedgerEntry) -> LedgerEntry:
        """Append an entry at the end of the chain; the same kind of entry about the same sweep is appended once.

        Raises:
            BusyError: Another process appends.
            EvidenceFault: The chain is broken.

        """
        with self._locked():
            entries = self.read()
            known = find_entry(entries, entry.entry, entry.sweep)
            return known or self._write(entries, entry)

    def record_round(self, sweep: str, look: LedgerEntry) -> bool:
        """Record, before its first cell, that tasks of a look are measured again; false when it was recorded before."""
        if find_entry(self.read(), "round", sweep) is not None:
            return False
        self.append(look.model_copy(update={"entry": "round", "sweep": sweep}))
        return True

    def record_look(self, policy: Policy, look: NewLook, *, again: bool) -> LedgerEntry:
        """Record, before its first cell, that a sweep looks at sealed tasks; its level is fixed with it.

        Args:
            policy: The policy that the look is begun under.
            look: What looks at what.
            again: Whether an earlier look of the same sweep counts for itself, because what it measured is lost.

        """
        with self._locked():
            entries = self.read()
            known = find_entry(entries, "look", look.sweep)
            if known is not None and not again:
                return known
            granted = grant(entries, policy, look.skill, look.sealed_tasks, look.texts)
            entry = LedgerEntry(
                seq=0,
                at=datetime.now(UTC),
                entry="look",
                policy_sha256=policy.digest(),
                look=granted.look,
                alpha=granted.alpha,
                of_alpha=policy.alpha,
                spent=granted.spent,
                **asdict(look),
            )
            return self._write(entries, entry)

    def held(self) -> AbstractContextManager[None]:
        """Hold the ledger's lock, so that nobody appends.

        Raises:
            BusyError: Another process appends.

        """
        return writer_lock(self.locks / "ledger.lock", "the ledger", wait_s=LOCK_WAIT_S)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        with self.held():
            # Whoever undoes a promotion takes its entry out: nothing may be chained to it before.
            if self.unfinished is not None and self.unfinished.exists():
                raise EnvironmentFault(
                    "a promotion was killed before it was over; nothing is entered in the ledger before it is settled",
                    hint="evolve promote --recover",
                    code="promotion-unfinished",
                )
            yield

    def _write(self, entries: tuple[LedgerEntry, ...], entry: LedgerEntry) -> LedgerEntry:
        chained = chain(entries, entry)
        write_atomic(self.path, jsonl_bytes((*entries, chained)))
        return chained


def chain(entries: tuple[LedgerEntry, ...], entry: LedgerEntry) -> LedgerEntry:
    """Return an entry as it stands at the end of a ledger."""
    previous = entries[-1].digest() if entries else None
    return entry.model_copy(update={"seq": len(entries), "at": datetime.now(UTC), "previous": previous})


@dataclass(frozen=True)
class NewLook:
    """A sweep that is about to look at sealed tasks."""

    skill: str
    overlay_sha256: str
    sweep: str
    sealed_sha256: str
    sealed_tasks: tuple[str, ...]
    texts: int = 1


def workspace_ledger(workspace: Workspace) -> Ledger:
    """Return the ledger of a workspace."""
    unfinished = workspace.promoting / "recovery.json"
    return Ledger(folder=workspace.promotion, locks=workspace.locks, unfinished=unfinished)


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


def look_of(entries: Sequence[LedgerEntry], digest: str) -> LedgerEntry | None:
    """Return the entry with a digest, as evidence names its look; the entries are a chain that was checked."""
    # The entry after one holds its digest: to make each anew takes minutes over a long ledger and all its evidence.
    for entry, following in itertools.pairwise(entries):
        if following.previous == digest:
            return entry
    return entries[-1] if entries and entries[-1].digest() == digest else None


def find_entry(entries: tuple[LedgerEntry, ...], kind: str, sweep: str) -> LedgerEntry | None:
    """Return the newest entry of a kind about a sweep, if there is one."""
    return next((entry for entry in reversed(entries) if entry.entry == kind and entry.sweep == sweep), None)


def looks_at(entries: tuple[LedgerEntry, ...], skill: str, sealed_tasks: Collection[str]) -> tuple[LedgerEntry, ...]:
    """Return the looks of a skill at any of some sealed tasks: its account."""
    wanted = set(sealed_tasks)
    looks = (entry for entry in entries if entry.entry == "look" and entry.skill == skill)
    return tuple(look for look in looks if not wanted.isdisjoint(look.sealed_tasks))


def next_look(entries: tuple[LedgerEntry, ...], skill: str, sealed_tasks: Collection[str], texts: int = 1) -> int:
    """Return which look the next would be, counted from 1.

    Every text of the skill that was seen at any of these tasks counts, whether it was to be promoted or only shown
    beside: who sees three and promotes the best has looked three times.
    """
    return texts + sum(look.texts for look in looks_at(entries, skill, sealed_tasks))


@dataclass(frozen=True)
class Grant:
    """Which look it is, the level that it is granted, and what the looks before it were granted."""

    look: int
    alpha: float
    spent: float


def grant(
    entries: tuple[LedgerEntry, ...], policy: Policy, skill: str, sealed_tasks: Collection[str], texts: int = 1
) -> Grant:
    """Return what the next look of a skill at some sealed tasks is granted.

    It is a share of the smallest alpha under which any of the looks was begun: a larger one begins with fresh tasks.
    """
    looks = looks_at(entries, skill, sealed_tasks)
    promoted = {entry.sweep for entry in entries if entry.entry == "decision" and entry.outcome is Outcome.PROMOTE}
    number = next_look(entries, skill, sealed_tasks, texts)
    promotions = sorted({look.look for look in looks if look.sweep in promoted})
    whole = min([policy.alpha, *(look.of_alpha for look in looks)])
    alpha = level_of_look(policy.alpha_account, number, whole, promotions)
    return Grant(number, alpha, math.fsum(look.alpha for look in looks))


def undecided_sweeps(entries: tuple[LedgerEntry, ...]) -> set[str]:
    """Return the sweeps that have looked and were not decided on."""
    decided = {entry.sweep for entry in entries if entry.entry == "decision"}
    return {entry.sweep for entry in entries if entry.entry == "look"} - decided

"""The candidates of a generation: their overlays frozen in its folder, their rows, and what earlier ones are known."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evolve.bench.measure import Bench
from evolve.bench.measured import stream_rows
from evolve.errors import EvolveError, InputError
from evolve.generation.state import GenerationState
from evolve.overlays import FrozenOverlay, apply_overlay, read_overlay, validate_overlay, write_overlay
from evolve.propose.archive import Known, of_before, read_archive
from evolve.propose.edits import Edit, edits_of
from evolve.records.archive import ArchiveEntry
from evolve.records.generation import Proposal
from evolve.records.row import Row
from evolve.skills import Skill

EARLIER = 200


@dataclass(frozen=True)
class Candidate:
    """A valid candidate under the name that it goes by."""

    name: str
    overlay: FrozenOverlay
    edits: tuple[Edit, ...]

    @property
    def tokens(self) -> int:
        """About how many resident tokens it has more than the incumbent."""
        return sum(edit.tokens for edit in self.edits)


class Pool:
    """Every candidate that a search may measure, by the digest of its overlay."""

    def __init__(self, bench: Bench, state: GenerationState, skill: Skill) -> None:
        self._bench, self._state, self.skill = bench, state, skill
        self._entries = [
            entry
            for entry in read_archive(bench.workspace)
            if (entry.skill, entry.incumbent) == (skill.name, skill.fingerprint) and entry.generation != state.record.id
        ]
        self.archived = dict(self._archived())
        self._rows: dict[str, list[Row]] = {}
        self._sweep_of: dict[str, Path] = {}
        for batch, sweep in state.record.batches.items():
            self.heard(batch, bench.workspace.sweeps / sweep, tuple(self._rows_of(sweep)))

    @property
    def bench(self) -> Bench:
        """The bench that measures."""
        return self._bench

    @property
    def agent_identity(self) -> dict[str, Any]:
        """Who works."""
        return self._bench.agent.identity

    def _rows_of(self, sweep: str) -> Iterator[Row]:
        for _, row in stream_rows(self._bench.workspace.sweeps / sweep):
            yield row

    def heard(self, batch: str, sweep: Path, rows: tuple[Row, ...]) -> None:
        """Take the rows of a batch in."""
        self._rows[batch] = list(rows)
        self._sweep_of[batch] = sweep

    def rows(self, arm: str) -> list[Row]:
        """Return all rows of an arm in this search."""
        return [row for rows in self._rows.values() for row in rows if row.arm == arm]

    def batches(self, arm: str) -> list[tuple[Path, tuple[Row, ...]]]:
        """Return the rows of an arm by batch, with the sweep that holds them."""
        found = ((self._sweep_of[b], tuple(r for r in rows if r.arm == arm)) for b, rows in self._rows.items())
        return [(sweep, rows) for sweep, rows in found if rows]

    def _archived(self) -> Iterator[tuple[str, tuple[ArchiveEntry, Candidate]]]:
        """Yield the latest candidates of the archive that were written against the skill as it is now."""
        for entry in [entry for entry in self._entries if entry.overlay][-EARLIER:]:
            folder = self._bench.workspace.root / str(entry.overlay)
            try:
                overlay = read_overlay(folder, {self.skill.name: self.skill})
                validate_overlay(overlay, self.skill, self._bench.corpus, str(folder), self._bench.policy.leaks)
            except (EvolveError, OSError):
                continue  # gone, changed or no longer allowed: it teaches nothing, and cannot be measured again
            if overlay.digest == entry.overlay_sha256:
                # Under its own name it would share an arm, and so rows, with a proposal of this generation.
                name = entry.name if of_before(entry.name) else f"{entry.generation}-{entry.name}"
                candidate = Candidate(name, overlay, edits_of(self.skill, apply_overlay(self.skill, overlay)))
                yield overlay.digest, (entry, candidate)

    def asked_before(self, operator: str, parents: tuple[str, ...] | None = None) -> int:
        """Return how often earlier generations asked an operator, of any parents or of some."""
        asked = (one for one in self._entries if one.operator == operator and not of_before(one.name))
        return sum(parents is None or one.parents == parents for one in asked)

    def earlier(self) -> list[Known]:
        """Return what new candidates are compared with: those of this generation, and of the archive."""
        own = [self.get(p.overlay_sha256) for p in self._state.record.proposals if p.overlay_sha256]
        archived = [(f"{entry.name} of {entry.generation}", candidate) for entry, candidate in self.archived.values()]
        named = [*((candidate.name, candidate) for candidate in own), *archived]
        return [
            Known(name, one.overlay.digest, apply_overlay(self.skill, one.overlay), one.edits) for name, one in named
        ]

    def freeze(self, name: str, overlay: FrozenOverlay) -> str:
        """Write an overlay into the generation's folder, read-only, and return where it lies."""
        folder = self._state.overlays / name
        write_overlay(folder, overlay, staging=self._bench.workspace.staging)
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                os.chmod(path, 0o444)
        return self._bench.workspace.relative(folder)

    def proposal(self, digest: str) -> Proposal | None:
        """Return the proposal of this generation with an overlay."""
        return next((p for p in self._state.record.proposals if p.overlay_sha256 == digest), None)

    def get(self, digest: str) -> Candidate:
        """Return a candidate, its frozen overlay read and its digest checked again.

        Raises:
            InputError: It is gone or was changed; the generation is given up.

        """
        proposal = self.proposal(digest)
        if proposal is None or proposal.overlay is None:
            return self.archived[digest][1]
        folder = self._bench.workspace.root / proposal.overlay
        try:
            overlay = read_overlay(folder, {self.skill.name: self.skill}) if folder.is_dir() else None
        except InputError:
            overlay = None
        if overlay is None or overlay.digest != digest:
            self._state.give_up(f"the proposal {proposal.name} is gone or was changed")
            raise InputError(
                f"{proposal.overlay}: gone or changed since it was proposed; {self._state.record.id} is given up",
                hint="start a new one: evolve generation",
                code="overlay-changed",
            )
        return Candidate(proposal.name, overlay, edits_of(self.skill, apply_overlay(self.skill, overlay)))

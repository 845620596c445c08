"""Confirming one candidate on the sealed split: look, sweep, decision, evidence."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from evolve.bench.measure import Bench, candidate_arm, incumbent_arm
from evolve.bench.plan import Group, SweepRequest
from evolve.bench.runner import SweepResult
from evolve.corpus.loading import LoadedTask, sealed_digest
from evolve.errors import InputError
from evolve.overlays import FrozenOverlay
from evolve.promote.evidence import (
    Evidence,
    evidence_folder,
    make_promotion,
    read_evidence,
    write_evidence,
)
from evolve.promote.ledger import find_entry, workspace_ledger
from evolve.records.kinds import Split
from evolve.records.ledger import LedgerEntry
from evolve.records.plan import Plan
from evolve.skills import Skill


@dataclass(frozen=True)
class Confirmation:
    """A candidate and the sealed sweep that is to decide on it."""

    bench: Bench
    incumbent: Skill
    overlay: FrozenOverlay
    context: str

    @property
    def sealed(self) -> tuple[LoadedTask, ...]:
        """The sealed tasks of the skill.

        Raises:
            InputError: There are none.

        """
        tasks = self.bench.corpus.of(self.incumbent.name, Split.SEALED)
        if not tasks:
            raise InputError(
                f"the skill {self.incumbent.name!r} has no sealed task, so nothing can be decided",
                hint=f"add tasks with split: sealed and skills: [{self.incumbent.name}] below the corpus",
                code="no-sealed-task",
            )
        return tasks

    def request(self) -> SweepRequest:
        """Return the request of the sealed sweep."""
        arms = (incumbent_arm(self.incumbent), candidate_arm(self.incumbent, self.overlay))
        group = Group(arms=arms, tasks=self.sealed)
        return self.bench.request("sealed", self.context, (group,), self.bench.policy.min_runs)

    def plan(self, *, reuse: bool = True) -> Plan:
        """Return the plan; nothing is paid for or written."""
        return self.bench.plan(self.request(), reuse=reuse)

    def run(self, *, reuse: bool = True) -> Evidence:
        """Measure, decide and write the evidence; a sweep that was decided already is read back."""
        request = self.request()
        ledger = workspace_ledger(self.bench.workspace)
        decided = find_entry(ledger.read(), "decision", request.sweep_id())
        if decided is not None:
            self.bench.progress.note("this overlay was measured already; here is what was decided")
            return read_evidence(self._folder(request.sweep_id()))
        plan = self.plan(reuse=reuse)
        look = ledger.record_look(
            self.bench.policy,
            skill=self.incumbent.name,
            overlay_sha256=self.overlay.digest,
            sweep=plan.sweep,
            sealed_sha256=sealed_digest(self.sealed),
        )
        result = self.bench.run(request, plan, (self.overlay,))
        return self.decide(result, look)

    def _folder(self, sweep: str) -> Path:
        return evidence_folder(self.bench.workspace.promotion, self.incumbent.name, self.overlay.digest, sweep)

    def decide(self, result: SweepResult, look: LedgerEntry) -> Evidence:
        """Decide on a finished sweep, write its evidence and enter the decision in the ledger."""
        promotion = make_promotion(result, self.bench.policy, self.incumbent, self.overlay, self.sealed, look)
        folder = self._folder(promotion.sweep)
        digest = write_evidence(folder, promotion, result.rows, self.overlay)
        workspace_ledger(self.bench.workspace).append(
            entry="decision",
            skill=promotion.skill,
            overlay_sha256=promotion.overlay_sha256,
            sweep=promotion.sweep,
            sealed_sha256=promotion.sealed_sha256,
            look=look.look,
            alpha=look.alpha,
            outcome=promotion.decision.outcome,
            evidence_sha256=digest,
        )
        return read_evidence(folder)

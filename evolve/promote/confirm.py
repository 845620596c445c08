"""Confirming one candidate on the sealed split: look, sweep, decision, evidence."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from evolve.bench.arms import candidate_arm
from evolve.bench.measure import Bench
from evolve.bench.plan import Group, SweepRequest
from evolve.bench.runner import SweepResult
from evolve.corpus.loading import LoadedTask, sealed_digest
from evolve.errors import EvidenceFault, InputError
from evolve.gate.decide import GateInput, is_decided
from evolve.overlays import FrozenOverlay
from evolve.promote.evidence import (
    PROMOTION_FILE,
    Evidence,
    evidence_folder,
    make_promotion,
    read_evidence,
    write_evidence,
)
from evolve.promote.ledger import Ledger, NewLook, find_entry, next_look, workspace_ledger
from evolve.records.kinds import Split
from evolve.records.ledger import LedgerEntry
from evolve.records.plan import Plan
from evolve.records.policy import Policy
from evolve.records.row import Row
from evolve.skills import Skill
from evolve.stats.multiplicity import alpha_at
from evolve.workspace import POLICY_FILE

SEALED_CONTEXT = "sealed"


def _hopeless(tasks: int, look: int, policy: Policy) -> str | None:
    """Return why no outcome of a look at so many tasks could be significant, if that is so."""
    smallest, alpha = 0.5**tasks, alpha_at(look, policy.alpha)
    if smallest <= alpha:
        return None
    return (
        f"{tasks} sealed tasks cannot prove a gain: a win on each gives p = {smallest:.3g}, "
        f"and look {look} has the level {alpha:.3g}"
    )


def next_look_hopeless(bench: Bench, skill: str) -> str | None:
    """Return why no outcome of the next look at a skill's sealed tasks could be significant, if that is so."""
    ids = tuple(task.id for task in bench.corpus.of(skill, Split.SEALED))
    look = next_look(workspace_ledger(bench.workspace).read(), skill, ids)
    return _hopeless(len(ids), look, bench.policy)


@dataclass(frozen=True)
class Confirmation:
    """A candidate, the sealed sweep that is to decide on it, and the comparators that are measured beside it."""

    bench: Bench
    incumbent: Skill
    overlay: FrozenOverlay
    rivals: tuple[str, ...] = ()

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
        """Return the request of the sealed sweep; it is a matter of content alone, whoever asks."""
        incumbent = self.bench.arms.incumbent(self.incumbent)
        rivals = (self.bench.arms.comparator(name, self.incumbent) for name in self.rivals)
        group = Group(arms=(incumbent, candidate_arm(incumbent, self.overlay), *rivals), tasks=self.sealed)
        return self.bench.request("sealed", SEALED_CONTEXT, (group,), self.bench.policy.min_runs)

    @property
    def texts(self) -> int:
        """How many texts of the skill this look sees beside the incumbent's."""
        arms = self.request().arms
        return len({arm.skill.files.digest for arm in arms if arm.expects} - {self.incumbent.files.digest})

    def plan(self, *, reuse: bool | str = True) -> Plan:
        """Return the plan; nothing is paid for or written."""
        return self.bench.plan(self.request(), reuse=reuse)

    def decided(self) -> Evidence | None:
        """Return the evidence about this very comparison, when it was decided already."""
        sweep = self.request().sweep_id()
        entry = find_entry(self._ledger.read(), "decision", sweep)
        if entry is None:
            return None
        folder = self._folder(sweep)
        if not (folder / PROMOTION_FILE).exists():
            raise EvidenceFault(
                f"{folder}: the ledger knows the decision of {sweep}, and its evidence is gone",
                hint=f"git checkout -- {self.bench.workspace.relative(folder)}",
                code="evidence-gone",
            )
        return read_evidence(folder)

    def _decided_otherwise(self) -> str | None:
        """Return the sweep of an earlier decision on the same overlay, measured with something else different."""
        sweep = self.request().sweep_id()
        entries = self._ledger.read()
        if find_entry(entries, "look", sweep) is not None:
            return None
        same = (self.overlay.digest, self.incumbent.name)
        return next((e.sweep for e in entries if e.entry == "decision" and (e.overlay_sha256, e.skill) == same), None)

    def hopeless(self) -> str | None:
        """Return why no outcome of the next look could be significant, if that is so."""
        ids = tuple(task.id for task in self.sealed)
        entries = self._ledger.read()
        open_look = find_entry(entries, "look", self.request().sweep_id())
        look = open_look.look if open_look else next_look(entries, self.incumbent.name, ids, self.texts)
        return _hopeless(len(ids), look, self.bench.policy)

    def refusal(self) -> str | None:
        """Return why nothing would be measured, if that is so."""
        entries, sweep = self._ledger.read(), self.request().sweep_id()
        if find_entry(entries, "decision", sweep) is not None:
            return "decided already: the ledger holds the decision"
        look = find_entry(entries, "look", sweep)
        if look is not None and look.policy_sha256 != self.bench.policy.digest():
            return "this look was begun under another policy"
        return self.hopeless()

    def run(self, *, reuse: bool | str = True, stop_when_decided: bool = False) -> Evidence:
        """Measure, decide and write the evidence; a sweep that was decided already is read back.

        Args:
            reuse: Whether the incumbent's rows may come from earlier sweeps, or from which one.
            stop_when_decided: Whether to stop as soon as no outcome of the rest could change the decision.

        Raises:
            InputError: No outcome could be significant, or the policy has changed since the look was begun.

        """
        decided = self.decided()
        if decided is not None:
            self.bench.progress.note("this overlay was measured already; here is what was decided")
            return decided
        hopeless = self.hopeless()
        if hopeless is not None:
            hint = f"add sealed tasks for {self.incumbent.name}"
            raise InputError(f"{hopeless}; nothing was measured", hint=hint, code="too-few-tasks")
        request = self.request()
        self.bench.refuse_unpriced(request)
        if (before := self._decided_otherwise()) is not None:
            self.bench.progress.note(f"this overlay was decided on before, in {before}; this is another look")
        plan = self.plan(reuse=reuse)
        if reuse is False and any(cell.action != "fresh" for cell in plan.cells):
            self.bench.progress.note("this sweep was begun with reuse, and goes on as it was planned")
        look = self._look(plan)
        ids = tuple(task.id for task in self.sealed)

        def enough(rows: tuple[Row, ...]) -> bool:
            return is_decided(GateInput(rows, ids, plan.runs, self.bench.policy, look.alpha))

        result = self.bench.run(request, plan, (self.overlay,), enough if stop_when_decided else None)
        return self.decide(result, look)

    def _look(self, plan: Plan) -> LedgerEntry:
        new = NewLook(
            skill=self.incumbent.name,
            overlay_sha256=self.overlay.digest,
            sweep=plan.sweep,
            sealed_sha256=sealed_digest(self.sealed),
            sealed_tasks=tuple(task.id for task in self.sealed),
            texts=self.texts,
        )
        again = self.bench.begin(plan, (self.overlay,))  # first, so that a kill between the two costs no look
        look = self._ledger.record_look(self.bench.policy, new, again=again)
        if look.policy_sha256 != self.bench.policy.digest():
            raise InputError(
                f"{self.bench.workspace.promotion / POLICY_FILE}: not the policy that this look was begun under",
                hint="bring it back; a policy is chosen before the rows are seen",
                code="policy-changed",
            )
        return look

    @property
    def _ledger(self) -> Ledger:
        return workspace_ledger(self.bench.workspace)

    def _folder(self, sweep: str) -> Path:
        return evidence_folder(self.bench.workspace.promotion, self.incumbent.name, self.overlay.digest, sweep)

    def decide(self, result: SweepResult, look: LedgerEntry) -> Evidence:
        """Decide on a finished sweep, write its evidence and enter the decision in the ledger."""
        promotion = make_promotion(result, self.bench.policy, self.incumbent, self.overlay, self.sealed, look)
        folder = self._folder(promotion.sweep)
        digest = write_evidence(folder, promotion, result.rows, self.overlay, staging=self.bench.workspace.staging)
        outcome = {"entry": "decision", "outcome": promotion.decision.outcome, "evidence_sha256": digest}
        self._ledger.append(look.model_copy(update=outcome))
        return read_evidence(folder)

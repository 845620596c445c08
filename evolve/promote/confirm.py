"""Confirming one candidate on the sealed split: look, sweep, decision, evidence."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from evolve.bench.arms import candidate_arm, candidate_name, control_arm
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
    measured_input,
    read_evidence,
    required_pairs,
    write_evidence,
)
from evolve.promote.extra import extra_context, groups_of, next_round
from evolve.promote.foresee import Hopeless, too_weak, unmeasurable
from evolve.promote.ledger import Ledger, NewLook, find_entry, grant, workspace_ledger
from evolve.records.kinds import Split
from evolve.records.ledger import LedgerEntry
from evolve.records.plan import Plan
from evolve.records.row import Row
from evolve.skills import Skill
from evolve.workspace import POLICY_FILE

SEALED_CONTEXT = "sealed"


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
        return self.bench.request("sealed", SEALED_CONTEXT, self._groups(), self.bench.policy.min_runs)

    def _groups(self) -> tuple[Group, ...]:
        """Return the main pair with what is measured beside it, and each required pair, over the sealed tasks."""
        arms = self.bench.arms
        incumbent = arms.incumbent(self.incumbent)
        control = (control_arm(incumbent),) if self.bench.policy.control else ()
        rivals = (arms.comparator(name, self.incumbent) for name in self.rivals)
        groups = [Group((incumbent, candidate_arm(incumbent, self.overlay), *control, *rivals), self.sealed)]
        for name in self.bench.workspace.spec.required:
            own = arms.required_arm(name, self.incumbent)
            groups.append(Group((own, candidate_arm(own, self.overlay, candidate_name(name))), self.sealed))
        return tuple(groups)

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

    def hopeless(self) -> Hopeless | None:
        """Return why no outcome of the next look could be significant, if that is so."""
        ids = tuple(task.id for task in self.sealed)
        entries = self._ledger.read()
        open_look = find_entry(entries, "look", self.request().sweep_id())
        if open_look is None and (blind := unmeasurable(self.bench, self.incumbent.name)) is not None:
            return blind
        granted = grant(entries, self.bench.policy, self.incumbent.name, ids, self.texts)
        look, alpha = (open_look.look, open_look.alpha) if open_look else (granted.look, granted.alpha)
        return too_weak(self.incumbent.name, len(ids), look, alpha, self.bench.policy)

    def refusal(self) -> str | None:
        """Return why nothing would be measured, if that is so."""
        entries, sweep = self._ledger.read(), self.request().sweep_id()
        if find_entry(entries, "decision", sweep) is not None:
            return "decided already: the ledger holds the decision"
        look = find_entry(entries, "look", sweep)
        if look is not None and look.policy_sha256 != self.bench.policy.digest():
            return "this look was begun under another policy"
        hopeless = self.hopeless()
        return None if hopeless is None else hopeless.text

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
            raise hopeless.refused()
        request = self.request()
        self.bench.refuse_unpriced(request)
        if (before := self._decided_otherwise()) is not None:
            self.bench.progress.note(f"this overlay was decided on before, in {before}; this is another look")
        plan = self.plan(reuse=reuse)
        if reuse is False and any(cell.action != "fresh" for cell in plan.cells):
            self.bench.progress.note("this sweep was begun with reuse, and goes on as it was planned")
        look = self._look(plan)

        def enough(rows: tuple[Row, ...]) -> bool:
            return is_decided(replace(self._given((), look, plan), rows=rows))

        early = stop_when_decided or self.bench.policy.sequential != "off"
        result = self.bench.run(request, plan, (self.overlay,), enough if early else None)
        results, look = self._with_further_rounds(result, look)
        return self.decide(results, look)

    def _given(self, results: tuple[SweepResult, ...], look: LedgerEntry, plan: Plan) -> GateInput:
        if results:
            return measured_input(results, self.bench.policy, self.sealed, look)
        ids = tuple(task.id for task in self.sealed)
        pairs = required_pairs(plan.arms)
        return GateInput((), ids, plan.runs, self.bench.policy, look.alpha, required=pairs)

    def _with_further_rounds(
        self, result: SweepResult, look: LedgerEntry
    ) -> tuple[tuple[SweepResult, ...], LedgerEntry]:
        """Measure tasks again whose regression may be noise, round by round, until none is in doubt.

        A round whose rows are lost is measured afresh, and makes the look another one, with a level of its own: who
        could throw rounds away could wait for a lucky one.
        """
        rounds: list[SweepResult] = []
        while True:
            before = sum(found.plan.runs for found in rounds)
            given = self._given((result, *rounds), look, result.plan)
            wanted = next_round(given, before)
            if wanted is None:
                return (result, *rounds), look
            told = ", ".join(wanted.tasks)
            self.bench.progress.note(f"{wanted.runs} more runs of both arms, as its regression may be noise: {told}")
            groups = groups_of(self._groups(), wanted.tasks)
            context = extra_context(result.plan.sweep)
            request = self.bench.request("sealed", context, groups, wanted.runs, wanted.first_run)
            plan = self.bench.plan(request, reuse=False)
            began = self.bench.begin(plan, (self.overlay,))
            if not self._ledger.record_round(plan.sweep, look) and began:
                self.bench.progress.note("the rows of this round are lost; measured afresh, it is another look")
                look = self._record_look(result.plan.sweep, again=True)
            rounds.append(self.bench.run(request, plan, (self.overlay,)))

    def _look(self, plan: Plan) -> LedgerEntry:
        again = self.bench.begin(plan, (self.overlay,))  # first, so that a kill between the two costs no look
        look = self._record_look(plan.sweep, again=again)
        if look.policy_sha256 != self.bench.policy.digest():
            raise InputError(
                f"{self.bench.workspace.promotion / POLICY_FILE}: not the policy that this look was begun under",
                hint="bring it back; a policy is chosen before the rows are seen",
                code="policy-changed",
            )
        return look

    def _record_look(self, sweep: str, *, again: bool) -> LedgerEntry:
        new = NewLook(
            skill=self.incumbent.name,
            overlay_sha256=self.overlay.digest,
            sweep=sweep,
            sealed_sha256=sealed_digest(self.sealed),
            sealed_tasks=tuple(task.id for task in self.sealed),
            texts=self.texts,
        )
        return self._ledger.record_look(self.bench.policy, new, again=again)

    @property
    def _ledger(self) -> Ledger:
        return workspace_ledger(self.bench.workspace)

    def _folder(self, sweep: str) -> Path:
        return evidence_folder(self.bench.workspace.promotion, self.incumbent.name, self.overlay.digest, sweep)

    def decide(self, results: tuple[SweepResult, ...], look: LedgerEntry) -> Evidence:
        """Decide on a sweep and its further rounds, write the evidence and enter the decision in the ledger."""
        promotion = make_promotion(results, self.bench.policy, self.incumbent, self.overlay, self.sealed, look)
        folder = self._folder(promotion.sweep)
        rows = tuple(row for result in results for row in result.rows)
        digest = write_evidence(folder, promotion, rows, self.overlay, staging=self.bench.workspace.staging)
        outcome = {"entry": "decision", "outcome": promotion.decision.outcome, "evidence_sha256": digest}
        self._ledger.append(look.model_copy(update=outcome))
        return read_evidence(folder)

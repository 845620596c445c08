"""Doing what a search asks for in a workspace: making overlays, measuring them on train tasks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from statistics import mean

from evolve.bench.arms import candidate_arm
from evolve.bench.measure import Bench
from evolve.bench.plan import Group
from evolve.errors import InputError
from evolve.generation.candidates import Proposer
from evolve.generation.pool import Candidate, Pool
from evolve.generation.state import GenerationState
from evolve.generation.value import values_of
from evolve.overlays import FrozenOverlay, apply_overlay
from evolve.propose.archive import RECOMBINED, check_new
from evolve.propose.ask import Ask, Parent
from evolve.propose.edits import Edit
from evolve.propose.evidence import TrainEvidence, train_evidence
from evolve.propose.merge import composed
from evolve.propose.search.drive import Made, NotMade, Scores
from evolve.propose.search.knowledge import INCUMBENT
from evolve.records.generation import Proposal
from evolve.records.kinds import Split
from evolve.records.search import Step
from evolve.redact import redact
from evolve.skills import size_warnings

IN_VAIN = frozenset(
    (
        "nothing-to-add",
        "nothing-to-merge",
        "nothing-to-prune",
        "nothing-to-rewrite",
        "no-model",
        "proposer-budget",
        "provider-refused",
    )
)


class GenerationHands:
    """Makes and measures the candidates of one generation; what was done before a crash is found done."""

    def __init__(
        self, bench: Bench, state: GenerationState, pool: Pool, proposer: Proposer, evidence: TrainEvidence
    ) -> None:
        self._bench, self._state, self._pool, self._proposer = bench, state, pool, proposer
        self._evidence = evidence

    def make(self, step: Step) -> Made | NotMade:
        """Make the candidate that a step asks for, or tell why there is none."""
        key = f"{step.kind} {step.round}.{step.number}"
        done = next((proposal for proposal in self._state.record.proposals if proposal.step == key), None)
        proposal = done or self._proposal(step, key)
        self._bench.progress.note(f"proposal {proposal.name}: {proposal.refused or proposal.overlay}")
        if proposal.overlay_sha256 is None:
            return NotMade(proposal.refused or "", for_good=proposal.for_good)
        candidate = self._pool.get(proposal.overlay_sha256)
        for text in size_warnings(apply_overlay(self._pool.skill, candidate.overlay)) if done is None else ():
            self._bench.progress.note(f"note: {proposal.name}: {text}")
        return Made(candidate.overlay.digest, candidate.edits, candidate.tokens)

    def _proposal(self, step: Step, key: str) -> Proposal:
        name = self._name_for(step)
        spent = self._proposer.budget.spent_micros
        parents = tuple(self._digest_of(parent) for parent in step.parents)
        try:
            overlay = self._composed(step) if step.kind == "compose" else self._proposer.propose(self._ask(step))
            edits = check_new(overlay, self._pool.skill, self._pool.earlier())
        except InputError as error:
            made = Proposal(
                name=name,
                operator=step.operator,
                step=key,
                parents=parents,
                overlay=None,
                refused=redact(error.message)[:1000],
                for_good=error.code in IN_VAIN,
            )
        else:
            made = Proposal(
                name=name,
                operator=step.operator,
                step=key,
                parents=overlay.spec.parents if step.kind == "compose" else parents,
                overlay=self._pool.freeze(name, overlay),
                overlay_sha256=overlay.digest,
                resident_tokens=sum(edit.tokens for edit in edits),
            )
        total = self._proposer.budget.spent_micros
        cost = None if total is None or spent is None else total - spent
        made = made.model_copy(update={"cost_usd_micros": cost})
        self._state.update(proposals=(*self._state.record.proposals, made), proposer_usd_micros=total)
        return made

    def _name_for(self, step: Step) -> str:
        base = RECOMBINED if step.kind == "compose" else step.operator.replace("+", "-")
        numbered = re.compile(rf"{re.escape(base)}(?:-\d+)?")
        taken = sum(bool(numbered.fullmatch(proposal.name)) for proposal in self._state.record.proposals)
        return base if taken == 0 else f"{base}-{taken + 1}"

    def _digest_of(self, parent: str) -> str:
        return self._pool.skill.fingerprint if parent == INCUMBENT else parent

    def _ask(self, step: Step) -> Ask:
        parents = tuple(map(self._digest_of, step.parents))
        before = sum(p.operator == step.operator and p.parents == parents for p in self._state.record.proposals)
        # Choices, and the seeds of a model, go on where they ended: the same question would get the same answer.
        before += self._pool.asked_before(step.operator, parents)
        number = step.number - 1 + self._pool.asked_before(step.operator)
        return Ask(step.operator, tuple(map(self._parent, step.parents)), before, number, self._mean_scores)

    def _parent(self, name: str) -> Parent:
        skill = self._pool.skill
        if name == INCUMBENT:
            return Parent(skill.fingerprint, skill, self._evidence_of(INCUMBENT))
        candidate = self._pool.get(name)
        text = apply_overlay(skill, candidate.overlay)
        return Parent(name, text, self._evidence_of(candidate.name), candidate.overlay, candidate.edits)

    def _evidence_of(self, arm: str) -> TrainEvidence:
        """Return how an arm did on train, and how the incumbent did where the arm was not measured."""
        base = self._evidence
        batches = self._pool.batches(arm)
        if not batches:
            return base
        skill = self._pool.skill.name
        read = [train_evidence(self._bench.corpus, skill, rows, sweep) for sweep, rows in batches]
        measured = {row.identity.task for _, rows in batches for row in rows}
        own = [failure for found in read for failure in found.failures]
        rest = [failure for failure in base.failures if failure.task not in measured]
        latest = {failure.task: failure for failure in [*rest, *own]}
        if arm == INCUMBENT:
            latest = {failure.task: failure for failure in [*base.failures, *own]}
        newest = tuple(one for found in reversed(read) for one in found.measured)
        return replace(base, failures=tuple(latest.values()), measured=(*newest, *base.measured))

    def _mean_scores(self, digest: str) -> Mapping[str, float]:
        """Return the mean of what a candidate resolved, by train task."""
        arm = INCUMBENT if digest == self._pool.skill.fingerprint else self._pool.get(digest).name
        found: dict[str, list[float]] = {}
        for row in self._pool.rows(arm):
            if not row.void:
                found.setdefault(row.identity.task, []).append(float(row.resolved))
        return {task: mean(values) for task, values in found.items()}

    def _composed(self, step: Step) -> FrozenOverlay:
        """Put edits together, in the order in which they came up."""
        by_id: dict[str, Edit] = {}
        holders: dict[str, Candidate] = {}
        for digest in [*self._pool.archived, *(p.overlay_sha256 for p in self._state.record.proposals)]:
            if digest is None:
                continue
            candidate = self._pool.get(digest)
            for edit in candidate.edits:
                by_id.setdefault(edit.id, edit)
                holders.setdefault(edit.id, candidate)
        edits = [by_id[edit] for edit in step.edits]
        sources = {holders[edit].overlay.digest: holders[edit] for edit in step.edits}
        parents = [
            Parent(digest, self._pool.skill, self._evidence, candidate.overlay) for digest, candidate in sources.items()
        ]
        overlay = composed(self._pool.skill, edits, parents, f"Puts {len(edits)} edits of candidates together.")
        return self._proposer.valid(overlay, RECOMBINED)

    def measure(self, step: Step) -> Scores:
        """Measure candidates on train tasks, the incumbent beside them."""
        policy = self._bench.policy
        candidates = {digest: self._pool.get(digest) for digest in step.candidates}
        skill = self._pool.skill
        incumbent = self._bench.arms.incumbent(skill)
        arms = [incumbent] if step.beside else []
        arms += [candidate_arm(incumbent, one.overlay, one.name) for one in candidates.values()]
        tasks = tuple(self._bench.corpus.get(task) for task in step.tasks)
        runs = policy.screening.train_runs
        result = self._bench.measure(
            "train",
            f"{self._state.record.id}-{step.batch}",
            (Group(arms=tuple(arms), tasks=tasks),),
            runs,
            reuse=False,
            overlays=tuple(one.overlay for one in candidates.values()),
            first_run=max(0, step.round - 1) * runs,
        )
        self._state.add_sweep(result.plan.sweep)
        self._state.update(batches={**self._state.record.batches, step.batch: result.plan.sweep})
        self._pool.heard(step.batch, result.folder, result.rows)
        names: dict[str | None, str] = {digest: one.name for digest, one in candidates.items()}
        if step.beside:
            names[None] = INCUMBENT
        by_task = {}
        for task in step.tasks:
            rows = {arm.name: [r for r in result.rows if r.arm == arm.name and r.identity.task == task] for arm in arms}
            by_task[task] = values_of(rows, INCUMBENT, policy)
        return {key: [by_task[task][name] for task in step.tasks] for key, name in names.items()}


def train_split(bench: Bench, skill: str) -> tuple[str, ...]:
    """Return the ids of a skill's train tasks."""
    return tuple(task.id for task in bench.corpus.of(skill, Split.TRAIN))

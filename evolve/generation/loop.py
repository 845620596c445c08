"""The loop of a generation; a resumed one takes the same road and finds its steps already paid for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from evolve.bench.arms import candidate_arm
from evolve.bench.measure import Bench
from evolve.bench.plan import Group
from evolve.bench.runner import SweepResult
from evolve.errors import EvolveError, InputError
from evolve.generation.candidates import Proposer, Slot, slots
from evolve.generation.choose import choose_skill
from evolve.generation.screen import INCUMBENT, Standing, cost_ratio, finalist, survivors, tally
from evolve.generation.state import GenerationState
from evolve.models.base import ChatModel
from evolve.overlays import FrozenOverlay, read_overlay, write_overlay
from evolve.promote.apply import (
    Target,
    check_branch,
    check_committed,
    check_rules_committed,
    promote,
    record,
)
from evolve.promote.confirm import Confirmation
from evolve.promote.evidence import Evidence, read_evidence
from evolve.promote.foresee import next_look_hopeless
from evolve.promote.git import Repository
from evolve.propose.evidence import TrainEvidence
from evolve.records.generation import Proposal
from evolve.records.kinds import Outcome, Split
from evolve.records.plan import Purpose
from evolve.skills import Skill

NOTHING_BETTER = "Nothing better was found: {reason}. The incumbent stays."


@dataclass(frozen=True)
class Candidate:
    """A valid proposal under the name that it goes by."""

    name: str
    overlay: FrozenOverlay


@dataclass
class GenerationLoop:
    """A generation and what it works with."""

    bench: Bench
    state: GenerationState
    repository: Repository
    proposer_model: Callable[[], ChatModel]

    def run(self) -> GenerationState:
        """Take the generation to its end, from wherever it stands.

        Raises:
            InputError: The workspace is not fit for it; nothing was paid for.
            EnvironmentFault: Something broke; ``evolve resume`` goes on from here.

        """
        request = self.state.record.request
        if request.apply:
            if self.bench.options.unsafe_host:
                raise InputError("--unsafe-host: its rows are never promoted; leave out --apply", code="unsafe-host")
            check_branch(self._target())
        if self.state.record.evidence is not None:
            return self._apply(read_evidence(self.bench.workspace.root / self.state.record.evidence))
        able = self._able_skills()
        skill, evidence = self._choose(able)
        if not evidence.failures:
            return self._finish_without(f"{skill.name} resolves every train task")
        candidates = self._propose(skill, evidence)
        chosen = self._screen(skill, candidates) if candidates else None
        if chosen is None:
            reason = "no candidate beat the incumbent in screening" if candidates else "no operator had a proposal"
            return self._finish_without(reason)
        return self._confirm(skill, chosen)

    def _check_committed(self, skill: Skill) -> None:
        check_committed(self._target(), skill)
        check_rules_committed(self._target(), self.bench.corpus, skill.name)

    def _target(self) -> Target:
        return Target(self.bench.workspace, self.repository, self.state.record.request.branch)

    def _measured(self, result: SweepResult) -> SweepResult:
        self.state.add_sweep(result.plan.sweep)
        return result

    def _able_skills(self) -> tuple[str, ...]:
        """Return the skills that a generation could improve and prove, before anything is paid for.

        Raises:
            InputError: There is none, or the one that was asked for is none.

        """
        request = self.state.record.request
        skills = self.bench.workspace.skills()
        asked = self.state.record.skill or request.skill
        if asked is not None and asked not in skills:
            return ()  # the choice says what is wrong with the name
        names = [asked] if asked else list(skills)
        unable = {name: fault for name in names if (fault := self._unable(skills[name])) is not None}
        able = tuple(name for name in names if name not in unable)
        if not able and unable:
            raise next(iter(unable.values()))
        for name, fault in unable.items():
            self.bench.progress.note(f"skill {name} is left out: {fault.message}")
        return able

    def _unable(self, skill: Skill) -> EvolveError | None:
        """Return why a skill cannot be improved and proven here, if that is so."""
        if self.state.record.request.apply:
            try:
                self._check_committed(skill)
            except EvolveError as fault:
                return fault
        try:
            self.bench.arms.rivals(skill)
        except InputError as fault:
            return fault
        begun = self.state.record.skill is not None
        reason = None if begun or not self._has_sealed(skill) else next_look_hopeless(self.bench, skill.name)
        return None if reason is None else reason.refused()

    def _has_sealed(self, skill: Skill) -> bool:
        return bool(self.bench.corpus.of(skill.name, Split.SEALED))

    def _choose(self, able: tuple[str, ...]) -> tuple[Skill, TrainEvidence]:
        record = self.state.record
        if record.skill is not None:
            self._refuse_changed_skill(record.skill)
        chosen = choose_skill(self.bench, record.id, record.request.skill, able, self.state.add_sweep)
        self.state.update(
            skill=chosen.skill.name,
            fingerprint=chosen.skill.fingerprint,
            chosen_because=chosen.because,
            baseline={b.skill: f"{b.cells - b.failed}/{b.cells}" for b in chosen.baselines},
        )
        self.bench.progress.note(f"skill: {chosen.skill.name} ({chosen.because})")
        return chosen.skill, chosen.evidence

    def _refuse_changed_skill(self, name: str) -> None:
        """Give a generation up whose skill is not the one that it began with; its rows stay reusable."""
        skill = self.bench.workspace.skills().get(name)
        if skill is not None and skill.fingerprint == self.state.record.fingerprint:
            return
        identifier = self.state.record.id
        self._finish(summary=f"Given up: the skill {name} is not the text that this generation began with.")
        raise InputError(
            f"skills of {identifier}: {name} is not the text that {identifier} began with; it is given up",
            hint="start a new one: evolve generation",
            code="skill-changed",
        )

    def _propose(self, skill: Skill, evidence: TrainEvidence) -> list[Candidate]:
        spec = self.bench.workspace.spec.proposer
        proposer = Proposer(
            bench=self.bench,
            skill=skill,
            evidence=evidence,
            context=self.state.record.id,
            model=self.proposer_model,
            temperature=spec.temperature,
        )
        operators = self.state.record.request.operators or spec.operators
        for number, slot in enumerate(slots(operators, spec.reflections)):
            if number >= len(self.state.record.proposals):
                self.state.update(proposals=(*self.state.record.proposals, self._make(proposer, slot)))
            made = self.state.record.proposals[number]
            self.bench.progress.note(f"proposal {slot.name}: {made.refused or made.overlay}")
        return self._distinct_candidates(skill)

    def _make(self, proposer: Proposer, slot: Slot) -> Proposal:
        try:
            overlay = proposer.propose(slot)
        except InputError as error:
            return Proposal(operator=slot.name, overlay=None, refused=error.message)
        folder = self.state.overlays / slot.name
        write_overlay(folder, overlay, staging=self.bench.workspace.staging)
        relative = self.bench.workspace.relative(folder)
        return Proposal(operator=slot.name, overlay=relative, overlay_sha256=overlay.digest)

    def _distinct_candidates(self, skill: Skill) -> list[Candidate]:
        found: dict[str, Candidate] = {}
        for proposal in self.state.record.proposals:
            if proposal.overlay is None:
                continue
            folder = self.bench.workspace.root / proposal.overlay
            overlay = read_overlay(folder, {skill.name: skill}) if folder.is_dir() else None
            if overlay is None or overlay.digest != proposal.overlay_sha256:
                self._finish(summary=f"Given up: the proposal {proposal.operator} is gone or was changed.")
                raise InputError(
                    f"{proposal.overlay}: gone or changed since it was proposed; {self.state.record.id} is given up",
                    hint="start a new one: evolve generation",
                    code="overlay-changed",
                )
            found.setdefault(overlay.digest, Candidate(proposal.operator, overlay))
        return list(found.values())

    def _compare(self, purpose: Split, skill: Skill, candidates: list[Candidate], runs: int) -> SweepResult:
        incumbent = self.bench.arms.incumbent(skill)
        arms = (incumbent, *(candidate_arm(incumbent, c.overlay, c.name) for c in candidates))
        group = Group(arms=arms, tasks=self.bench.corpus.of(skill.name, purpose))
        name: Purpose = "train" if purpose is Split.TRAIN else "selection"
        overlays = tuple(candidate.overlay for candidate in candidates)
        return self._measured(
            self.bench.measure(name, self.state.record.id, (group,), runs, reuse=False, overlays=overlays)
        )

    def _screen(self, skill: Skill, candidates: list[Candidate]) -> Candidate | None:
        """Screen on train, then on selection, the incumbent measured anew beside the candidates each time."""
        policy = self.bench.policy.screening
        train = self._compare(Split.TRAIN, skill, candidates, policy.train_runs).rows
        standings = [
            Standing(
                arm=c.name,
                resident_bytes=sum(len(text) for _, text in c.overlay.files.texts()),
                train=tally(train, c.name),
                cost=cost_ratio(train, c.name, self.bench.policy),
            )
            for c in candidates
        ]
        able = survivors(standings, tally(train, INCUMBENT), self.bench.policy)
        self._note_standings(standings, incumbent_train=str(tally(train, INCUMBENT)))
        if not able:
            return None
        names = {standing.arm for standing in able}
        entering = [candidate for candidate in candidates if candidate.name in names]
        rows = self._compare(Split.SELECTION, skill, entering, policy.selection_runs).rows
        measured = [
            replace(s, selection=tally(rows, s.arm), cost=cost_ratio(rows, s.arm, self.bench.policy)) for s in able
        ]
        self._note_standings(measured, incumbent_selection=str(tally(rows, INCUMBENT)))
        best = finalist(measured, tally(rows, INCUMBENT), self.bench.policy)
        return next((c for c in candidates if best is not None and c.name == best.arm), None)

    def _note_standings(self, standings: list[Standing], **incumbent: str) -> None:
        by_name = {standing.arm: standing for standing in standings}
        proposals = []
        for proposal in self.state.record.proposals:
            standing = by_name.get(proposal.operator)
            changes = {} if standing is None else {"train": str(standing.train)}
            if standing is not None and standing.selection is not None:
                changes["selection"] = str(standing.selection)
            proposals.append(proposal.model_copy(update=changes))
        self.state.update(proposals=tuple(proposals), **incumbent)

    def _confirm(self, skill: Skill, chosen: Candidate) -> GenerationState:
        rivals = self.bench.arms.rivals(skill, self.bench.progress.note)
        confirmation = Confirmation(self.bench, skill, chosen.overlay, rivals)
        hopeless = confirmation.hopeless() if confirmation.decided() is None else None
        if hopeless is not None:
            return self._finish_without(hopeless.text, Outcome.INSUFFICIENT_EVIDENCE)
        self.state.update(finalist=chosen.overlay.digest)
        self.bench.progress.note(f"finalist: {chosen.name}; it goes to the sealed tasks")
        evidence = confirmation.run(stop_when_decided=self.state.record.request.stop_when_decided)
        self.state.add_sweep(evidence.promotion.sweep)
        self.state.update(evidence=self.bench.workspace.relative(evidence.folder))
        return self._apply(evidence)

    def _apply(self, evidence: Evidence) -> GenerationState:
        decision = evidence.promotion.decision
        commit: str | None = None
        if self.state.record.request.apply:
            if decision.outcome is Outcome.PROMOTE:
                commit = self._promoted(evidence) or promote(evidence, self._target(), self.bench.corpus)
            else:
                commit = self._promoted(evidence) or record(evidence, self._target())
        summary = {
            Outcome.PROMOTE: "A better skill was found and proven.",
            Outcome.KEEP_INCUMBENT: NOTHING_BETTER.format(reason="the finalist did not pass the gate"),
            Outcome.INSUFFICIENT_EVIDENCE: "The evidence does not suffice to decide.",
        }[decision.outcome]
        return self._finish(outcome=decision.outcome, summary=summary, commit=commit)

    def _promoted(self, evidence: Evidence) -> str | None:
        """Return the commit that already carries this evidence, as after a crash between commit and report."""
        commits = self.repository.commits_with_trailer("Evolve-Evidence", evidence.promotion_sha256)
        return commits[0].sha if commits else None

    def _finish_without(self, reason: str, outcome: Outcome = Outcome.KEEP_INCUMBENT) -> GenerationState:
        return self._finish(outcome=outcome, summary=NOTHING_BETTER.format(reason=reason))

    def _finish(self, **fields: object) -> GenerationState:
        self.state.update(finished_at=datetime.now(UTC), **fields)
        return self.state


def report_path(state: GenerationState) -> Path:
    """Return where a generation's report lies."""
    return state.folder / "report.md"

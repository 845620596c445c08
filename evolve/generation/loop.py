"""The loop of a generation; a resumed one takes the same road and finds its steps already paid for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from evolve.bench.arms import candidate_arm
from evolve.bench.measure import Bench
from evolve.bench.plan import Group
from evolve.errors import EvolveError, InputError
from evolve.generation.bound import bound_of, changes
from evolve.generation.candidates import Proposer
from evolve.generation.choose import choose_skill
from evolve.generation.commit_notes import commit_notes
from evolve.generation.earlier import earlier_selection
from evolve.generation.earned import earned_edits
from evolve.generation.hands import GenerationHands
from evolve.generation.notes import archive_entries, confirmed_by
from evolve.generation.pool import Candidate, Pool
from evolve.generation.proposer_budget import ProposerBudget
from evolve.generation.reflecting import Background
from evolve.generation.screen import Standing, cost_ratio, finalists, tally
from evolve.generation.search import carried_out, search_path, settings_of
from evolve.generation.state import GenerationState
from evolve.models.base import ChatModel
from evolve.promote.apply import promote, record
from evolve.promote.checks import check_committed, check_promotable, check_rules_committed
from evolve.promote.confirm import Confirmation
from evolve.promote.evidence import Evidence, read_evidence
from evolve.promote.foresee import next_look_hopeless
from evolve.promote.git import Repository
from evolve.promote.target import Target, check_branch
from evolve.propose.archive import add_to_archive, read_archive, read_learnings
from evolve.propose.bundle.build import Readers
from evolve.propose.diagnostics import diagnosis_of, digest_of_transcript
from evolve.propose.evidence import TrainEvidence
from evolve.propose.learnings import relevant
from evolve.propose.search.knowledge import INCUMBENT, Knowledge
from evolve.records.base import read_json
from evolve.records.kinds import Outcome, Split
from evolve.records.search import Checkpoint
from evolve.skills import Skill

NOTHING_BETTER = "Nothing better was found: {reason}. The incumbent stays."


@dataclass
class GenerationLoop:
    """A generation and what it works with."""

    bench: Bench
    state: GenerationState
    repository: Repository
    proposer_model: Callable[[], ChatModel]
    _pool: Pool | None = None
    _searched: Checkpoint | None = None

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
            self._reopen()
            return self._apply(read_evidence(self.bench.workspace.root / self.state.record.evidence))
        able = self._able_skills()
        self._bind(able)
        skill, evidence = self._choose(able)
        if not evidence.failures and self.bench.policy.of_quality and self.bench.policy.tie_break is None:
            return self._finish_without(f"{skill.name} resolves every train task")
        if (proven := self._proven_already(skill)) is not None:
            return self._apply(proven)
        candidates = self._search(skill, evidence)
        chosen = self._select(skill, candidates) if candidates else []
        if not chosen:
            return self._finish_without(self._why_none(bool(candidates)))
        return self._confirm(skill, chosen)

    def _proven_already(self, skill: Skill) -> Evidence | None:
        """Return evidence of an earlier generation that could be promoted as things stand."""
        workspace = self.bench.workspace
        for entry in reversed(read_archive(workspace)):
            current = entry.skill == skill.name and entry.incumbent == skill.fingerprint
            if not current or entry.fate != "proven" or entry.evidence is None:
                continue
            try:
                evidence = read_evidence(workspace.root / entry.evidence)
                check_promotable(evidence, workspace, self.bench.corpus, now=datetime.now(UTC))
            except EvolveError:
                continue
            if self._promoted(evidence) is not None:
                continue  # it was rolled back since
            self.bench.progress.note(f"{entry.name} of {entry.generation} was measured already, and is proven")
            self.state.update(finalist=entry.overlay_sha256, evidence=entry.evidence)
            return evidence
        return None

    def _why_none(self, selected: bool) -> str:
        if selected:
            return "no candidate beat the incumbent on the selection tasks"
        if any(proposal.overlay_sha256 for proposal in self.state.record.proposals):
            return "no candidate beat the incumbent on the train tasks"
        return "no operator had a proposal"

    def _bind(self, able: tuple[str, ...]) -> None:
        """Bind what the generation is decided under before its first cell, or see that it still holds.

        Raises:
            InputError: Something has changed; the generation is given up.

        """
        skills = self.bench.workspace.skills()
        begun = self.state.record.skill
        if begun is not None:
            self._refuse_changed_skill(begun)
        found = bound_of(self.bench, self.state, [skills[name] for name in able if begun in (None, name)])
        if self.state.record.bound is None:
            self.state.update(bound=found)
            return
        changed = changes(self.state.record.bound, found)
        if changed:
            self.state.give_up(f"{changed[0]} is not what it was when the generation began")
            raise InputError(
                f"{self.state.record.id}: {changed[0]} is not what it was when it began; it is given up",
                hint="start a new one: evolve generation",
                code="generation-outdated",
            )

    def _reopen(self) -> None:
        """Find the candidates of a search that is over, for the notes."""
        skill = self.bench.workspace.skills().get(self.state.record.skill or "")
        path = search_path(self.state)
        if skill is None or skill.fingerprint != self.state.record.fingerprint or not path.exists():
            return  # promoted already: the notes were written before
        self._pool, self._searched = Pool(self.bench, self.state, skill), read_json(Checkpoint, path)

    def _check_committed(self, skill: Skill) -> None:
        check_committed(self._target(), skill)
        check_rules_committed(self._target(), self.bench.corpus, skill.name)

    def _target(self) -> Target:
        return Target(self.bench.workspace, self.repository, self.state.record.request.branch)

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
        chosen = choose_skill(
            self.bench, record.id, record.request.skill, able, self.state.add_sweep, record.request.seed
        )
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
        self.state.give_up(f"the skill {name} is not the text that this generation began with")
        raise InputError(
            f"skills of {identifier}: {name} is not the text that {identifier} began with; it is given up",
            hint="start a new one: evolve generation",
            code="skill-changed",
        )

    def _search(self, skill: Skill, evidence: TrainEvidence) -> list[Candidate]:
        """Search for candidates on train, and return those that seem better than the incumbent, the best first."""
        workspace, request, spec = self.bench.workspace, self.state.record.request, self.bench.workspace.spec.proposer
        pool = Pool(self.bench, self.state, skill)
        proposer = Proposer(
            bench=self.bench,
            skill=skill,
            context=self.state.record.id,
            model=self.proposer_model,
            temperature=spec.temperature,
            budget=self._proposer_budget(),
            background=Background(
                told=relevant(read_learnings(workspace), skill.name),
                selection=earlier_selection(workspace, skill),
                readers=Readers(diagnosis_of, digest_of_transcript),
            ),
        )
        self.state.update(strategy=settings_of(self.state, workspace).strategy)
        hands = GenerationHands(self.bench, self.state, pool, proposer, evidence)
        operators = request.operators or spec.operators
        end, self._searched = carried_out(self.state, workspace, pool, hands, operators)
        self._pool = pool
        self._note_train(pool)
        self.state.update(
            evaluations=self._searched.evaluations,
            edits=earned_edits(pool, self._searched),
        )
        unproven = {digest for digest, (entry, _) in pool.archived.items() if entry.fate == "unproven"}
        found = [digest for digest in (*end.candidates, *self._next_best(end.candidates)) if digest not in unproven]
        return [pool.get(digest) for digest in found]

    def _next_best(self, chosen: tuple[str, ...]) -> list[str]:
        """Return those that the search would have chosen next, where more may be confirmed than it chose."""
        wanted = self.bench.policy.finalists - len(chosen)
        if wanted <= 0 or self._searched is None:
            return []
        known = Knowledge(self._searched)
        others = [name for name in known.candidates if name not in chosen]
        return known.ranked(others, positive=True)[:wanted]

    def _proposer_budget(self) -> ProposerBudget:
        budget = self.bench.options.budget
        limit = self.state.record.request.max_proposer_usd
        limit = self.bench.workspace.spec.proposer.max_usd if limit is None else limit
        spent = self.state.record.proposer_usd_micros
        budget.book(spent)
        return ProposerBudget(
            limit_micros=None if limit is None else round(limit * 1_000_000),
            spent_micros=spent,
            fits_beside=lambda worst: budget.would_admit(0 if budget.limits.usd_micros is None else worst),
            booked=budget.book,
        )

    def _note_train(self, pool: Pool) -> None:
        counts = {p.name: str(tally(pool.rows(p.name), p.name)) for p in self.state.record.proposals}
        self.state.update(
            incumbent_train=str(tally(pool.rows(INCUMBENT), INCUMBENT)),
            proposals=tuple(
                p.model_copy(update={"train": counts[p.name]}) if pool.rows(p.name) else p
                for p in self.state.record.proposals
            ),
        )

    def _select(self, skill: Skill, candidates: list[Candidate]) -> list[Candidate]:
        """Compare the best on selection, the incumbent measured anew beside them, and return the finalists."""
        policy = self.bench.policy
        entering = candidates[: max(policy.screening.survivors, policy.finalists)]
        incumbent = self.bench.arms.incumbent(skill)
        arms = (incumbent, *(candidate_arm(incumbent, c.overlay, c.name) for c in entering))
        group = Group(arms=arms, tasks=self.bench.corpus.of(skill.name, Split.SELECTION))
        runs, overlays = policy.screening.selection_runs, tuple(candidate.overlay for candidate in entering)
        result = self.bench.measure("selection", self.state.record.id, (group,), runs, reuse=False, overlays=overlays)
        self.state.add_sweep(result.plan.sweep)
        rows = result.rows
        standings = [
            Standing(
                arm=c.name,
                operator=c.overlay.spec.operator,
                resident_tokens=c.tokens,
                selection=tally(rows, c.name),
                cost=cost_ratio(rows, c.name, policy),
            )
            for c in entering
        ]
        found = {standing.arm: str(standing.selection) for standing in standings}
        self.state.update(
            incumbent_selection=str(tally(rows, INCUMBENT)),
            proposals=tuple(
                p.model_copy(update={"selection": found[p.name]}) if p.name in found else p
                for p in self.state.record.proposals
            ),
        )
        by_name = {candidate.name: candidate for candidate in entering}
        return [by_name[one.arm] for one in finalists(standings, tally(rows, INCUMBENT), policy)]

    def _confirm(self, skill: Skill, chosen: list[Candidate]) -> GenerationState:
        """Have finalists look at the sealed tasks, one after the other until one passes; each look costs level."""
        rivals = self.bench.arms.rivals(skill, self.bench.progress.note)
        evidence = None
        for candidate in chosen:
            confirmation = Confirmation(self.bench, skill, candidate.overlay, rivals)
            hopeless = confirmation.hopeless() if confirmation.decided() is None else None
            if hopeless is not None and evidence is None:
                return self._finish_without(hopeless.text, Outcome.INSUFFICIENT_EVIDENCE)
            if hopeless is not None:
                self.bench.progress.note(f"{candidate.name} does not go to the sealed tasks: {hopeless.text}")
                break
            if evidence is not None:
                self._record(evidence)
            self.state.update(finalist=candidate.overlay.digest)
            self.bench.progress.note(f"finalist: {candidate.name}; it goes to the sealed tasks")
            evidence = confirmation.run(stop_when_decided=self.state.record.request.stop_when_decided)
            self.state.add_sweep(evidence.promotion.sweep)
            if evidence.promotion.decision.outcome is Outcome.PROMOTE:
                break
        assert evidence is not None, "there is a finalist"
        self.state.update(evidence=self.bench.workspace.relative(evidence.folder))
        return self._apply(evidence)

    def _record(self, evidence: Evidence) -> str | None:
        """Commit what was found of a finalist that did not pass, once, where it is asked for."""
        self._note_confirmed(evidence)
        if not self.state.record.request.apply:
            return None
        return self._promoted(evidence) or record(evidence, self._target())

    def _note_confirmed(self, evidence: Evidence) -> None:
        new = confirmed_by(evidence.promotion, self.bench.workspace.relative(evidence.folder))
        others = (one for one in self.state.record.confirmed if one.overlay_sha256 != new.overlay_sha256)
        self.state.update(confirmed=(*others, new))

    def _apply(self, evidence: Evidence) -> GenerationState:
        decision = evidence.promotion.decision
        commit: str | None = None
        summary = {
            Outcome.PROMOTE: "A better skill was found and proven.",
            Outcome.KEEP_INCUMBENT: NOTHING_BETTER.format(reason="the finalist did not pass the gate"),
            Outcome.INSUFFICIENT_EVIDENCE: "The evidence does not suffice to decide.",
        }[decision.outcome]
        self.state.update(outcome=decision.outcome, summary=summary)
        self._note_confirmed(evidence)
        self._write_notes()
        if decision.outcome is not Outcome.PROMOTE:
            commit = self._record(evidence)
        elif self.state.record.request.apply:
            commit = self._promoted(evidence) or promote(evidence, self._target(), self.bench.corpus)
        return self._finish(outcome=decision.outcome, summary=summary, commit=commit)

    def _promoted(self, evidence: Evidence) -> str | None:
        """Return the commit that already carries this evidence, as after a crash between commit and report."""
        commits = self.repository.commits_with_trailer("Evolve-Evidence", evidence.promotion_sha256)
        return commits[0].sha if commits else None

    def _finish_without(self, reason: str, outcome: Outcome = Outcome.KEEP_INCUMBENT) -> GenerationState:
        return self._finish(outcome=outcome, summary=NOTHING_BETTER.format(reason=reason))

    def _finish(self, **fields: object) -> GenerationState:
        self.state.update(**fields)
        self._write_notes()
        if self.state.record.request.apply:
            self.state.update(notes_commit=commit_notes(self._target(), self.state.record))
        self.state.update(finished_at=datetime.now(UTC))
        return self.state

    def _write_notes(self) -> None:
        """Add to the archive what was tried; a promotion makes the skill another one, so that it is done before."""
        if self._pool is None or self._searched is None:
            return
        workspace = self.bench.workspace
        entries, learnings = archive_entries(
            workspace, self.state, self._pool, self._searched, self.bench.policy, datetime.now(UTC)
        )
        add_to_archive(workspace, entries, learnings)
        self._pool = self._searched = None


def report_path(state: GenerationState) -> Path:
    """Return where a generation's report lies."""
    return state.folder / "report.md"

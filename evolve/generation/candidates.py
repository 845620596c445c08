"""Making one proposal: the operator that is asked, and the checks that every proposal must pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from evolve.bench.arms import candidate_arm
from evolve.bench.measure import Bench
from evolve.bench.plan import Group
from evolve.errors import InputError
from evolve.generation.proposer_budget import ProposerBudget
from evolve.generation.reflecting import Background, reflected
from evolve.models.base import ChatModel, ModelFault, ModelTimeout
from evolve.models.build import price_of
from evolve.overlays import FrozenOverlay, apply_overlay, validate_overlay
from evolve.propose.ask import Ask, Parent, rebased
from evolve.propose.choosing import EXAMPLES, RULES, most_broken
from evolve.propose.evidence import TrainEvidence, train_evidence
from evolve.propose.merge import merge
from evolve.propose.operators import demonstrate, lesson, new_rules
from evolve.propose.prompts import templates_of
from evolve.propose.prune import prune
from evolve.propose.reflection import ProposalRefused, Reflection
from evolve.propose.rewrite import Writer, rewrite
from evolve.records.kinds import Split
from evolve.skills import Skill

MAX_LESSON_ROUNDS = 3


@dataclass(frozen=True)
class Proposer:
    """What operators work with: the incumbent, a bench for train cells, and who reflects.

    Args:
        bench: Measures train cells, and knows the workspace.
        skill: The incumbent.
        context: What sweeps are named after.
        model: Builds the model that reflects, where no program does.
        temperature: Its temperature.
        budget: What it may cost, and has cost.
        background: What a proposer is told beside the train evidence.

    """

    bench: Bench
    skill: Skill
    context: str
    model: Callable[[], ChatModel]
    temperature: float
    budget: ProposerBudget = field(default_factory=ProposerBudget)
    background: Background = field(default_factory=Background)

    def propose(self, ask: Ask) -> FrozenOverlay:
        """Make one proposal and validate it.

        Raises:
            InputError: The operator has nothing to propose, or its proposal is refused.

        """
        overlay = self._make(ask)
        if ask.operator != "merge":
            overlay = rebased(self.skill, ask.parent, overlay)
        return self.valid(overlay, ask.operator)

    def valid(self, overlay: FrozenOverlay, name: str) -> FrozenOverlay:
        """Return an overlay that passes every check.

        Raises:
            InputError: It does not.

        """
        validate_overlay(overlay, self.skill, self.bench.corpus, name, self.bench.policy.leaks)
        return overlay

    def _make(self, ask: Ask) -> FrozenOverlay:
        parent = ask.parent
        match ask.operator:
            case "demonstrate":
                return self._demonstrated(ask, parent.skill.body, "demonstrate")
            case "lesson":
                return self._lesson(ask)
            case "lesson+demonstrate":
                body = apply_overlay(parent.skill, self._lesson(ask)).body
                return self._demonstrated(ask, body, "lesson+demonstrate")
            case "reflect":
                return self._paid(lambda: self._reflected(ask))
            case "compress" | "sharpen" as operator:
                return self._paid(lambda: rewrite(ask, operator, self._writer()))
            case "merge":
                return merge(self.skill, ask)
            case "prune":
                return prune(ask)
            case _:
                raise InputError(f"no operator named {ask.operator!r}", code="no-operator")

    def _demonstrated(
        self, ask: Ask, body: str, operator: Literal["demonstrate", "lesson+demonstrate"]
    ) -> FrozenOverlay:
        if ask.variant >= len(EXAMPLES):
            raise InputError("every choice of worked examples was proposed", code="nothing-to-add")
        return demonstrate(ask.parent.skill, ask.parent.evidence, body, operator, EXAMPLES[ask.variant])

    def _lesson(self, ask: Ask) -> FrozenOverlay:
        if ask.variant >= len(RULES):
            raise InputError("every choice of rules was proposed", code="nothing-to-add")
        count = RULES[ask.variant]
        if count is None:
            return self._learn(ask.parent)
        rules = [failure.rule for failure in ask.parent.evidence.failures]
        return lesson(ask.parent.skill, ask.parent.evidence, most_broken(rules, count))

    def _writer(self) -> Writer:
        spec = self.bench.workspace.spec
        if spec.proposer.model is None:
            raise InputError("a program proposes here, and no model that could word a passage anew", code="no-model")
        templates = templates_of(self.bench.workspace)
        price = price_of(spec, spec.proposer.model)
        return Writer(self.model(), self.temperature, templates, price, self.budget.admit)

    def _reflected(self, ask: Ask) -> Reflection:
        return reflected(
            self.bench,
            ask.parent.skill,
            ask.parent.evidence,
            self.model,
            self.temperature,
            ask.number,
            self.background,
            self.budget.admit,
        )

    def _paid(self, make: Callable[[], Reflection]) -> FrozenOverlay:
        try:
            made = make()
        except ProposalRefused as refusal:
            self.budget.book(refusal.usage.cost_usd_micros)
            raise
        except (ModelFault, ModelTimeout) as error:
            self.budget.book_worst()
            raise InputError(f"the model failed: {error.message}", code="proposer-failed") from error
        self.budget.book(made.usage.cost_usd_micros)
        return made.overlay

    def _learn(self, parent: Parent) -> FrozenOverlay:
        """Add the rules that failed checks state until the train failures stop changing."""
        evidence = parent.evidence
        rules = [failure.rule for failure in evidence.failures]
        overlay = lesson(parent.skill, evidence, rules)
        before = {(failure.task, failure.rule) for failure in evidence.failures}
        for _ in range(MAX_LESSON_ROUNDS):
            after = self._failures_with(parent.skill, overlay)
            found = {(failure.task, failure.rule) for failure in after.failures}
            body = apply_overlay(parent.skill, overlay).body
            more = new_rules(body, [failure.rule for failure in after.failures])
            if found == before or not more:
                break
            before = found
            rules += more
            overlay = lesson(parent.skill, evidence, rules)
        return overlay

    def _failures_with(self, skill: Skill, overlay: FrozenOverlay) -> TrainEvidence:
        tasks = self.bench.corpus.of(skill.name, Split.TRAIN)
        group = Group(arms=(candidate_arm(self.bench.arms.incumbent(skill), overlay),), tasks=tasks)
        result = self.bench.measure("train", f"{self.context}-lesson", (group,), 1, reuse=False, overlays=(overlay,))
        return train_evidence(self.bench.corpus, skill.name, result.rows, result.folder)

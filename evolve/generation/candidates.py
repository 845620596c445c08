"""Making a generation's proposals, each recorded as soon as it is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from evolve.bench.arms import candidate_arm
from evolve.bench.measure import Bench
from evolve.bench.plan import Group
from evolve.errors import InputError
from evolve.generation.reflecting import Knowledge, reflected
from evolve.models.base import ChatModel, ModelFault, ModelTimeout
from evolve.overlays import FrozenOverlay, apply_overlay, validate_overlay
from evolve.propose.evidence import TrainEvidence, train_evidence
from evolve.propose.operators import demonstrate, lesson, new_rules
from evolve.propose.reflection import ProposalRefused
from evolve.records.kinds import Split
from evolve.records.row import Usage
from evolve.skills import Skill

MAX_LESSON_ROUNDS = 3


@dataclass(frozen=True)
class Slot:
    """One proposal to make: an operator, and its how-manieth."""

    operator: str
    number: int

    @property
    def name(self) -> str:
        """The name that the proposal goes by."""
        base = self.operator.replace("+", "-")
        return base if self.number == 0 else f"{base}-{self.number + 1}"


@dataclass(frozen=True)
class Proposer:
    """What operators work with: the incumbent, its train evidence, a bench for train cells, and who reflects.

    Args:
        bench: Measures train cells, and knows the workspace.
        skill: The incumbent.
        evidence: Its train evidence.
        context: What sweeps are named after.
        model: Builds the model that reflects, where no program does.
        temperature: Its temperature.
        knowledge: What a proposer is told beside the train evidence.
        used: Told what each reflection used, refused ones included.

    """

    bench: Bench
    skill: Skill
    evidence: TrainEvidence
    context: str
    model: Callable[[], ChatModel]
    temperature: float
    knowledge: Knowledge = field(default_factory=Knowledge)
    used: Callable[[Usage], None] = lambda _: None

    def propose(self, slot: Slot) -> FrozenOverlay:
        """Make one proposal and validate it.

        Raises:
            InputError: The operator has nothing to propose, or its proposal is refused.

        """
        overlay = self._make(slot)
        validate_overlay(overlay, self.skill, self.bench.corpus, slot.name, self.bench.policy.leaks)
        return overlay

    def _make(self, slot: Slot) -> FrozenOverlay:
        match slot.operator:
            case "demonstrate":
                return demonstrate(self.skill, self.evidence, self.skill.body, "demonstrate")
            case "lesson":
                return self._learn()
            case "lesson+demonstrate":
                body = apply_overlay(self.skill, self._learn()).body
                return demonstrate(self.skill, self.evidence, body, "lesson+demonstrate")
            case "reflect":
                return self._reflect(slot.number)
            case _:
                raise InputError(f"no operator named {slot.operator!r}", code="no-operator")

    def _reflect(self, number: int) -> FrozenOverlay:
        try:
            made = reflected(
                self.bench, self.skill, self.evidence, self.model, self.temperature, number, self.knowledge
            )
        except ProposalRefused as refusal:
            self.used(refusal.usage)
            raise
        except (ModelFault, ModelTimeout) as error:
            raise InputError(f"the model failed: {error.message}", code="proposer-failed") from error
        self.used(made.usage)
        return made.overlay

    def _learn(self) -> FrozenOverlay:
        """Add the rules that failed checks state until the train failures stop changing."""
        rules = [failure.rule for failure in self.evidence.failures]
        overlay = lesson(self.skill, self.evidence, rules)
        before = {(failure.task, failure.rule) for failure in self.evidence.failures}
        for _ in range(MAX_LESSON_ROUNDS):
            after = self._failures_with(overlay)
            found = {(failure.task, failure.rule) for failure in after.failures}
            body = apply_overlay(self.skill, overlay).body
            more = new_rules(body, [failure.rule for failure in after.failures])
            if found == before or not more:
                break
            before = found
            rules += more
            overlay = lesson(self.skill, self.evidence, rules)
        return overlay

    def _failures_with(self, overlay: FrozenOverlay) -> TrainEvidence:
        tasks = self.bench.corpus.of(self.skill.name, Split.TRAIN)
        group = Group(arms=(candidate_arm(self.bench.arms.incumbent(self.skill), overlay),), tasks=tasks)
        result = self.bench.measure("train", f"{self.context}-lesson", (group,), 1, reuse=False, overlays=(overlay,))
        return train_evidence(self.bench.corpus, self.skill.name, result.rows, result.folder)


def slots(operators: tuple[str, ...], reflections: int) -> list[Slot]:
    """Return the proposals that a generation makes, in order."""
    return [
        Slot(operator, number)
        for operator in operators
        for number in range(reflections if operator == "reflect" else 1)
    ]

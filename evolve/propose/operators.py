"""The operators that need no model: worked examples, general rules, and both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from evolve.errors import InputError
from evolve.gate.metrics import counted
from evolve.overlays import FrozenOverlay, single_file_overlay
from evolve.propose.choosing import EXAMPLES, Choice, chosen
from evolve.propose.evidence import TrainEvidence, worked_example
from evolve.propose.sections import add_examples, add_rules, stated
from evolve.records.overlay import OVERLAY_SCHEMA, Operator, OverlaySpec
from evolve.skills import SKILL_FILE, Skill, with_body

MAX_EXAMPLES = 6


def overlay_of_body(skill: Skill, body: str, spec: OverlaySpec) -> FrozenOverlay:
    """Return the overlay that gives a skill another body.

    Raises:
        InputError: The body is the one that the skill has.

    """
    if body.strip() == skill.body.strip():
        raise InputError("the proposal equals the incumbent", code="no-change")
    return single_file_overlay(skill, SKILL_FILE, with_body(skill.text, body), spec)


def _spec(skill: Skill, operator: Operator, evidence: TrainEvidence, rationale: str) -> OverlaySpec:
    return OverlaySpec(
        schema_id=OVERLAY_SCHEMA,
        skills=(skill.name,),
        operator=operator,
        parents=(skill.fingerprint,),
        rationale=rationale,
        evidence_sha256=evidence.digest(),
    )


def new_rules(body: str, rules: Sequence[str]) -> list[str]:
    """Return the distinct rules that a body does not state yet, in order."""
    found: list[str] = []
    for rule in rules:
        if rule and rule not in found and not stated(body, rule):
            found.append(rule)
    return found


def lesson(skill: Skill, evidence: TrainEvidence, rules: Sequence[str]) -> FrozenOverlay:
    """Write rules that failed checks state as directives.

    Raises:
        InputError: There is no rule that the skill does not state already.

    """
    wanted = new_rules(skill.body, rules)
    if not wanted:
        raise InputError("every rule that a failed train check states is in the skill already", code="nothing-to-add")
    rationale = f"States {counted(len(wanted), 'rule', 'rules')} that train tasks broke."
    return overlay_of_body(skill, add_rules(skill.body, wanted), _spec(skill, "lesson", evidence, rationale))


def demonstrate(
    skill: Skill, evidence: TrainEvidence, body: str, operator: Operator, choice: Choice = EXAMPLES[0]
) -> FrozenOverlay:
    """Add worked examples from failed train tasks to a body.

    Args:
        skill: The incumbent.
        evidence: Its train failures.
        body: The body to add to: the incumbent's, or one with rules.
        operator: ``demonstrate`` or ``lesson+demonstrate``.
        choice: How many, and which.

    Raises:
        InputError: No failed train task is left to quote, or there are enough examples.

    """
    failed = {failure.task for failure in evidence.failures}
    usable = [task for task in evidence.tasks if task.id in failed and not stated(body, worked_example(task).user)]
    room = MAX_EXAMPLES - sum(stated(body, worked_example(task).user) for task in evidence.tasks)
    fitting = replace(choice, count=min(choice.count, room))
    examples = chosen(usable, fitting, lambda task: worked_example(task).user)
    if not examples:
        raise InputError("no failed train task is left to quote as a worked example", code="nothing-to-add")
    rationale = f"Shows {counted(len(examples), 'train task', 'train tasks')} with the right reply."
    spec = _spec(skill, operator, evidence, rationale)
    spec = spec.model_copy(update={"worked_examples": tuple(task.id for task in examples)})
    return overlay_of_body(skill, add_examples(body, [worked_example(task) for task in examples]), spec)

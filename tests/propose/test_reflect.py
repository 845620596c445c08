"""The reflecting operator over a fake model."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evolve.errors import InputError
from evolve.models.base import ChatReply, ChatRequest, ModelFault
from evolve.overlays import apply_overlay
from evolve.propose.evidence import TrainEvidence, TrainFailure
from evolve.propose.reflect import (
    FAILURES_SHOWN,
    MAX_BODY_CHARS,
    REPLY_CHARS_SHOWN,
    cleaned_body,
    reflect,
    shown_failures,
)
from evolve.propose.reflection import ProposalRefused
from evolve.protected import BEGIN, END
from tests.builders import FakeModel, make_skill, make_task

SKILL = make_skill(body="Say hello.")
BETTER = "You greet people.\n\n## Rules\n\n1. Reply with the greeting only."


def evidence_of(count: int, reply: str = "wrong") -> TrainEvidence:
    failures = tuple(TrainFailure(f"t-{n}", f"user {n}", reply, f"right {n}", f"Rule {n}.") for n in range(count))
    return TrainEvidence(tasks=(make_task("t-0"),), failures=failures)


def test_the_model_sees_the_body_and_train_failures_and_its_reply_is_the_new_body() -> None:
    model = FakeModel(BETTER)
    overlay = reflect(SKILL, evidence_of(5), model, temperature=0.5, number=1).overlay
    assert apply_overlay(SKILL, overlay).body == BETTER
    request = model.requests[0]
    assert [message.role for message in request.messages] == ["system", "user", "assistant", "user"]
    shown = request.messages[-1].content
    assert "Say hello." in shown
    assert all(f"user {n}" in shown and f"right {n}" in shown and f"Rule {n}." in shown for n in (1, 2, 3))
    assert "user 0" not in shown and "user 4" not in shown
    assert (request.temperature, request.seed) == (0.5, 2)
    spec = overlay.spec
    assert (spec.operator, spec.model, spec.worked_examples) == ("reflect", "fake-model", ("t-1", "t-2", "t-3"))
    assert spec.prompt_sha256 is not None and spec.evidence_sha256 == evidence_of(5).digest()


@pytest.mark.parametrize(
    ("count", "number", "first"), [(5, 0, "t-0"), (5, 4, "t-4"), (5, 5, "t-0"), (2, 1, "t-1"), (1, 9, "t-0")]
)
def test_each_reflection_begins_at_another_failure(count: int, number: int, first: str) -> None:
    shown = [failure.task for failure in shown_failures(evidence_of(count), number)]
    assert shown[0] == first
    assert len(shown) == len(set(shown)) == min(count, FAILURES_SHOWN)


def test_a_long_reply_is_clipped_before_it_is_shown() -> None:
    model = FakeModel(BETTER)
    reflect(SKILL, evidence_of(1, reply="z" * 1000), model, temperature=0, number=0)
    shown = model.requests[0].messages[-1].content
    assert "z" * REPLY_CHARS_SHOWN in shown and "z" * (REPLY_CHARS_SHOWN + 1) not in shown


def test_markup_in_what_is_shown_is_data_and_no_template() -> None:
    model = FakeModel(BETTER)
    reflect(SKILL, evidence_of(1, reply="{{ 7 * 7 }} {% raw %}"), model, temperature=0, number=0)
    assert "{{ 7 * 7 }} {% raw %}" in model.requests[0].messages[-1].content


def test_a_reply_that_was_cut_off_is_refused_and_was_paid_for() -> None:
    class CutOff(FakeModel):
        def complete(self, request: ChatRequest) -> ChatReply:
            return replace(super().complete(request), finish="length")

    with pytest.raises(ProposalRefused, match="cut off") as caught:
        reflect(SKILL, evidence_of(1), CutOff(BETTER), temperature=0, number=0)
    assert caught.value.usage.output_tokens == 3


def test_without_a_failure_no_model_is_asked() -> None:
    model = FakeModel()
    with pytest.raises(InputError) as caught:
        reflect(SKILL, evidence_of(0), model, temperature=0, number=0)
    assert (caught.value.code, model.requests) == ("nothing-to-add", [])


def test_a_reply_that_repeats_the_skill_is_no_proposal() -> None:
    skill = make_skill(body=BETTER)
    with pytest.raises(InputError) as caught:
        reflect(skill, evidence_of(1), FakeModel(BETTER), temperature=0, number=0)
    assert caught.value.code == "no-change"


def test_a_fault_of_the_model_is_passed_on() -> None:
    with pytest.raises(ModelFault):
        reflect(SKILL, evidence_of(1), FakeModel(ModelFault("down")), temperature=0, number=0)


@pytest.mark.parametrize(
    "reply",
    [
        BETTER,
        f"```\n{BETTER}\n```",
        f"```markdown\n{BETTER}\n```\n",
        f"---\nname: evil\ndescription: other\n---\n\n{BETTER}",
        f"```\n---\nname: evil\n---\n{BETTER}\n```",
        BETTER.replace("\n", "\r\n"),
        f"{BETTER}\x1b\x07\0\u202e",
    ],
)
def test_fences_frontmatter_and_control_characters_are_taken_off(reply: str) -> None:
    assert cleaned_body(reply) == BETTER


@pytest.mark.parametrize("reply", ["", "ok", "```\n```", "---\nname: x\n---\n", "x" * 39, "x" * (MAX_BODY_CHARS + 1)])
def test_a_reply_that_is_no_instruction_text_is_refused(reply: str) -> None:
    with pytest.raises(InputError) as caught:
        cleaned_body(reply)
    assert caught.value.code == "bad-proposal"


def test_a_secret_in_a_reply_does_not_reach_the_body() -> None:
    assert "sk-" not in cleaned_body(f"{BETTER} Use the key sk-{'a' * 30}.")


def test_a_model_is_told_of_protected_passages_where_there_are_any() -> None:
    kept = make_skill(body=f"Say hello.\n{BEGIN}\nNever swear.\n{END}")
    for skill, told in ((SKILL, False), (kept, True)):
        model = FakeModel(BETTER)
        reflect(skill, evidence_of(1), model, temperature=0, number=0)
        shown = model.requests[0].messages[-1].content
        assert shown.endswith(f"Keep what stands between {BEGIN} and {END} word for word, with both marks.") == told

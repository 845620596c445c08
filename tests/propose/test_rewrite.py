"""Wording a passage anew: which passages, and what is made of a model's reply."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.errors import InputError
from evolve.models.base import ChatReply, ChatRequest
from evolve.overlays import apply_overlay, validate_overlay
from evolve.propose.ask import Ask, Parent
from evolve.propose.evidence import TrainEvidence
from evolve.propose.passages import Kind, Passage, body_of, passages_of
from evolve.propose.prompts import Templates
from evolve.propose.reflection import ProposalRefused
from evolve.propose.rewrite import MAX_OUTPUT_TOKENS, Rewriting, Writer, bare, reworded, rewritable, rewrite
from evolve.protected import BEGIN, END
from evolve.records.workspace import Price
from evolve.skills import Skill
from tests.builders import FakeModel, make_corpus, make_skill

LONG = "Please do always make very sure that you look at each of the files before you come to write any reply at all."
SHORT = "Look at each file before you reply."
TEXT = Passage(Kind.TEXT, LONG)
EVIDENCE = TrainEvidence((), ())
PRICE = Price(input_usd=1, output_usd=2)


class CutOff(FakeModel):
    """A model whose replies end at the limit."""

    def complete(self, request: ChatRequest) -> ChatReply:
        return replace(super().complete(request), finish="length")


def ask(skill: Skill, variant: int = 0, operator: str = "compress") -> Ask:
    return Ask(operator, (Parent(skill.fingerprint, skill, EVIDENCE),), variant)


def rewriting(model: FakeModel, *, admit: Callable[[int | None], None] = lambda _: None) -> Writer:
    return Writer(model, 0.7, Templates(), PRICE, admit)


def rewritten(body: str, reply: str, operator: Rewriting = "compress", variant: int = 0) -> str:
    skill = make_skill(body=body)
    made = rewrite(ask(skill, variant, operator), operator, rewriting(FakeModel(reply)))
    validate_overlay(made.overlay, skill, make_corpus(), "overlay")
    return apply_overlay(skill, made.overlay).body


@pytest.mark.parametrize(
    "reply",
    [
        SHORT,
        f"  {SHORT}\n\n",
        f"```\n{SHORT}\n```",
        f"```markdown\n{SHORT}\n```\n",
        f"Instruction: {SHORT}",
        f"New instruction:\n{SHORT}",
        f'"{SHORT}"',
        f"Instruction: \u201c{SHORT}\u201d",
        f"- {SHORT}",
        f"1. {SHORT}",
        SHORT.replace(" ", "\r\n", 1).replace("\r\n", " "),
    ],
)
@pytest.mark.parametrize("kind", [Kind.TEXT, Kind.NUMBERED, Kind.BULLET])
def test_what_a_model_puts_around_an_instruction_is_taken_off(reply: str, kind: Kind) -> None:
    assert reworded(replace(TEXT, kind=kind), reply, "compress") == Passage(kind, SHORT)


@pytest.mark.parametrize(
    "text", ['Say "yes" or "no"', '"Yes" is right, not "no"', "It's the users'", '"', "", "Instructions: x"]
)
def test_quotes_and_words_of_the_instruction_itself_stay(text: str) -> None:
    assert bare(text) == text


@pytest.mark.parametrize(
    ("reply", "code", "says"),
    [
        ("", "bad-proposal", "0 passages"),
        (" \n\t\n", "bad-proposal", "0 passages"),
        ("``````", "bad-proposal", "no words"),
        ("...", "bad-proposal", "no words"),
        ("Do this:\n```\ny", "bad-proposal", "is code"),
        ("One.\n\nTwo.", "bad-proposal", "2 passages"),
        (f"Here it is.\n\n```\n{SHORT}\n```", "bad-proposal", "2 passages"),
        ("- one\n- two", "bad-proposal", "2 passages"),
        ("# Heading", "bad-proposal", "a heading"),
        ("Heading\n---", "bad-proposal", "a heading"),
        (LONG, "no-change", "as it was"),
        (LONG.upper().replace(" ", "  "), "no-change", "as it was"),
        (LONG[:-6], "not-shorter", "hardly less"),
        (LONG + LONG, "not-shorter", "hardly less"),
        ("x" * 1_000_000, "too-long", "1000000 characters"),
        ("- x\n" * 250_000, "too-long", "1000000 characters"),
        (f"Do {BEGIN} it.", "bad-proposal", "marks of protection"),
        (f"Do it. {END}", "bad-proposal", "marks of protection"),
        (f"{BEGIN}Do it.{END}", "bad-proposal", "marks of protection"),
    ],
)
def test_a_reply_that_could_not_stand_in_its_place_is_refused_with_a_reason(reply: str, code: str, says: str) -> None:
    with pytest.raises(InputError) as caught:
        reworded(TEXT, reply, "compress")
    assert caught.value.code == code and says in caught.value.message and len(caught.value.message) < 200


def test_a_passage_that_is_sharpened_may_grow_to_a_limit() -> None:
    few = Passage(Kind.TEXT, "Be good.")
    assert reworded(few, "Run the tests. " * 5, "sharpen").tokens == 18
    with pytest.raises(InputError, match="in place of 2") as caught:
        reworded(few, "Run the tests. " * 9, "sharpen")
    assert caught.value.code == "too-long"


def test_a_secret_in_a_reply_is_taken_out() -> None:
    assert "sk-ant-api03" not in reworded(TEXT, f"Use sk-ant-api03-{'a1B2' * 12}.", "compress").text


def test_every_refused_reply_was_paid_for_and_says_so() -> None:
    skill = make_skill(body=f"{LONG}\n\nMore.")
    for model in (FakeModel("One.\n\nTwo."), CutOff(SHORT), FakeModel("User: x")):
        with pytest.raises(ProposalRefused) as caught:
            rewrite(ask(skill), "compress", rewriting(model))
        assert caught.value.usage.cost_usd_micros == 11 * 1 + 3 * 2
    assert model.requests[0].max_output_tokens == MAX_OUTPUT_TOKENS


def test_a_reply_that_was_cut_off_is_refused() -> None:
    with pytest.raises(ProposalRefused, match="cut off at 400 tokens"):
        rewrite(ask(make_skill(body=LONG)), "compress", rewriting(CutOff(SHORT)))


@pytest.mark.parametrize("reply", ["User: say yes.", "See the following:", "```\nnever ended"])
def test_a_reply_that_would_swallow_what_stands_beside_it_is_refused(reply: str) -> None:
    with pytest.raises(ProposalRefused):
        rewritten(f"{LONG}\n\nMore.\n- item", reply)


def test_nothing_is_asked_that_could_cost_too_much_or_where_nothing_is_left() -> None:
    model = FakeModel()

    def refuse(worst: int | None) -> None:
        raise InputError(f"no: {worst}", code="proposer-budget")

    with pytest.raises(InputError, match=r"no: [1-9]"):
        rewrite(ask(make_skill(body=LONG)), "compress", rewriting(model, admit=refuse))
    with pytest.raises(InputError, match="no passage is left to compress") as caught:
        rewrite(ask(make_skill(body=LONG), 1), "compress", rewriting(model))
    assert caught.value.code == "nothing-to-rewrite" and model.requests == []


def test_the_model_is_shown_one_passage_and_everything_else_stays() -> None:
    body = (
        f"# H\n\nFirst.\n\n1. One.\n2. {LONG}\n   - nested\n\n{BEGIN}\n{LONG} {LONG}\n{END}\n\n[a]: http://example.org"
    )
    model = FakeModel("Look at the files:\n   - nested")
    skill = make_skill(body=body)
    made = rewrite(ask(skill), "compress", rewriting(model))
    assert apply_overlay(skill, made.overlay).body == body.replace(f"2. {LONG}", "2. Look at the files:")
    assert model.requests[0].messages[1].content.endswith(f"Instruction:\n{LONG}\n   - nested")
    assert (made.overlay.spec.operator, made.overlay.spec.model) == ("compress", "fake-model")


@pytest.mark.parametrize(
    ("text", "compress", "sharpen"),
    [
        (LONG, True, True),
        ("Be good.", False, True),
        (f"# {LONG}", False, False),
        (f"{BEGIN}{LONG}{END}", False, False),
        (f"Before {BEGIN} {LONG}", False, False),
        (f"{LONG}:\n\n```\ncode\n```", False, False),
        (f"User: {LONG}\nReply: yes", False, False),
        (f"INPUT: {LONG}", False, False),
        (f"The user: {LONG}", True, True),
    ],
)
def test_what_is_exact_or_protected_is_never_worded_anew(text: str, compress: bool, sharpen: bool) -> None:
    passages = list(passages_of(text))
    assert (bool(rewritable(passages, "compress")), bool(rewritable(passages, "sharpen"))) == (compress, sharpen)


@given(st.text(max_size=80), st.sampled_from(list(Kind)[1:]))
def test_what_is_accepted_is_one_passage_of_the_same_kind(reply: str, kind: Kind) -> None:
    try:
        new = reworded(Passage(kind, LONG), reply, "sharpen")
    except InputError:
        return
    assert [(p.kind, p.key) for p in passages_of(body_of([new]))] == [(kind, new.key)]

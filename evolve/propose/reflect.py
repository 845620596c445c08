"""The reflecting operator over a chat model: it reads train failures and rewrites the skill's body."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from evolve.digest import sha256_json
from evolve.errors import InputError
from evolve.models.base import ChatModel, ChatRequest, Message
from evolve.models.calls import paid_call
from evolve.propose.bundle.quoting import one_line
from evolve.propose.evidence import TrainEvidence, TrainFailure
from evolve.propose.operators import overlay_of_body
from evolve.propose.prompts import Templates
from evolve.propose.reflection import ProposalRefused, Reflection
from evolve.protected import BEGIN, END, protected_passages
from evolve.records.overlay import OVERLAY_SCHEMA, OverlaySpec
from evolve.records.workspace import Price
from evolve.redact import redact
from evolve.skills import Skill, split_frontmatter

FAILURES_SHOWN = 3
REPLY_CHARS_SHOWN = 160
MAX_OUTPUT_TOKENS = 320
MIN_BODY_CHARS = 40
MAX_BODY_CHARS = 8_000
WALL_S = 300
MORE_SHOWN = 3


@dataclass(frozen=True)
class More:
    """What else a chat model is told, where there is anything to tell: hints from runs, and ideas that were refused."""

    hints: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()


def shown_failures(evidence: TrainEvidence, number: int) -> list[TrainFailure]:
    """Return the failures that one reflection sees; each reflection begins at another one."""
    failures = list(evidence.failures)
    start = number % len(failures) if failures else 0
    return (failures[start:] + failures[:start])[:FAILURES_SHOWN]


def reflection_messages(
    skill: Skill, failures: list[TrainFailure], templates: Templates | None = None, more: More | None = None
) -> tuple[Message, ...]:
    """Return the conversation: what to do, one worked improvement from another domain, and this skill."""
    render = (templates or Templates()).render
    clipped = [TrainFailure(f.task, f.user, f.reply[:REPLY_CHARS_SHOWN].strip(), f.correct, f.rule) for f in failures]
    asked = render("reflect_user.j2", body=skill.body, failures=clipped, marks=_marks_of(skill))
    return (
        Message("system", render("reflect_system.j2")),
        Message("user", render("reflect_example_user.j2")),
        Message("assistant", render("reflect_example_assistant.j2")),
        Message("user", "\n\n".join(part for part in (asked, _told_more(render, more or More())) if part)),
    )


def _told_more(render: Callable[..., str], more: More) -> str:
    if more == More():
        return ""
    hints, refused = (
        [one_line(text, REPLY_CHARS_SHOWN) for text in texts[:MORE_SHOWN]] for texts in (more.hints, more.refused)
    )
    return render("reflect_more.j2", hints=hints, refused=refused)


def _marks_of(skill: Skill) -> tuple[str, str] | None:
    return (BEGIN, END) if protected_passages(skill.body) else None


def cleaned_body(reply: str) -> str:
    """Return the instruction text in a model's reply: no outer fence, no frontmatter.

    Raises:
        InputError: It is too short or too long to be one.

    """
    text = redact(reply.replace("\r\n", "\n").strip())
    fenced = re.fullmatch(r"```[a-z]*\n(.*?)\n?```", text, re.DOTALL)
    body = split_frontmatter(fenced[1] if fenced else text)[1]
    body = "".join(character for character in body if character in "\n\t" or character.isprintable()).strip()
    if not MIN_BODY_CHARS <= len(body) <= MAX_BODY_CHARS:
        raise InputError(f"the model's reply is no instruction text ({len(body)} characters)", code="bad-proposal")
    return body


def reflect(
    skill: Skill,
    evidence: TrainEvidence,
    model: ChatModel,
    *,
    temperature: float,
    number: int,
    templates: Templates | None = None,
    more: More | None = None,
    price: Price | None = None,
    admit: Callable[[int | None], None] = lambda _: None,
) -> Reflection:
    """Ask a model for a better body.

    Args:
        skill: The incumbent.
        evidence: Its train failures.
        model: Who is asked.
        temperature: Its temperature.
        number: The number of this reflection, from 0; each begins at another failure.
        templates: The prompts.
        more: What else it is told.
        price: What it charges; without one the cost is unknown.
        admit: Asked whether the worst cost, in micro-USD, is allowed; it raises when it is not.

    Raises:
        InputError: There is no failure to reflect on, or the proposal equals the incumbent.
        ProposalRefused: The reply is unusable.
        ModelFault: The model failed.

    """
    failures = shown_failures(evidence, number)
    if not failures:
        raise InputError("no train task failed; there is nothing to reflect on", code="nothing-to-add")
    messages = reflection_messages(skill, failures, templates, more)
    request = ChatRequest(messages, MAX_OUTPUT_TOKENS, temperature, number + 1, WALL_S)
    reply, usage = paid_call(model, request, price, admit)
    spec = OverlaySpec(
        schema_id=OVERLAY_SCHEMA,
        skills=(skill.name,),
        operator="reflect",
        parents=(skill.fingerprint,),
        rationale=f"Reflection {number + 1} on {len(failures)} failed train tasks.",
        model=str(model.identity.get("name")),
        prompt_sha256=sha256_json([[message.role, message.content] for message in messages]),
        evidence_sha256=evidence.digest(),
        worked_examples=tuple(failure.task for failure in failures),
    )
    try:
        if reply.finish == "length":
            raise InputError(f"the reply was cut off at {MAX_OUTPUT_TOKENS} tokens", code="bad-proposal")
        return Reflection(overlay_of_body(skill, cleaned_body(reply.text), spec), usage)
    except InputError as error:
        raise ProposalRefused(error.message, usage=usage, code=error.code) from error

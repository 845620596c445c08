"""The reflecting operator: a model reads train failures and rewrites the skill's body."""

from __future__ import annotations

import re

from evolve.digest import sha256_json
from evolve.errors import InputError
from evolve.models.base import ChatModel, ChatRequest, Message
from evolve.overlays import FrozenOverlay
from evolve.propose.evidence import TrainEvidence, TrainFailure
from evolve.propose.operators import overlay_of_body
from evolve.protected import BEGIN, END, protected_passages
from evolve.records.overlay import OVERLAY_SCHEMA, OverlaySpec
from evolve.redact import redact
from evolve.skills import Skill, split_frontmatter

FAILURES_SHOWN = 3
REPLY_CHARS_SHOWN = 160
MAX_OUTPUT_TOKENS = 320
MIN_BODY_CHARS = 40
MAX_BODY_CHARS = 8_000
WALL_S = 300
TEMPLATES = "templates"


def _render(name: str, **values: object) -> str:
    import jinja2

    loader = jinja2.PackageLoader("evolve.propose", TEMPLATES)
    environment = jinja2.Environment(loader=loader, undefined=jinja2.StrictUndefined, trim_blocks=True)
    return environment.get_template(name).render(**values).strip()


def shown_failures(evidence: TrainEvidence, number: int) -> list[TrainFailure]:
    """Return the failures that one reflection sees; each reflection begins at another one."""
    failures = list(evidence.failures)
    start = number % len(failures) if failures else 0
    return (failures[start:] + failures[:start])[:FAILURES_SHOWN]


def reflection_messages(skill: Skill, failures: list[TrainFailure]) -> tuple[Message, ...]:
    """Return the conversation: what to do, one worked improvement from another domain, and this skill."""
    clipped = [TrainFailure(f.task, f.user, f.reply[:REPLY_CHARS_SHOWN].strip(), f.correct, f.rule) for f in failures]
    return (
        Message("system", _render("reflect_system.j2")),
        Message("user", _render("reflect_example_user.j2")),
        Message("assistant", _render("reflect_example_assistant.j2")),
        Message("user", _render("reflect_user.j2", body=skill.body, failures=clipped, marks=_marks_of(skill))),
    )


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
    skill: Skill, evidence: TrainEvidence, model: ChatModel, *, temperature: float, number: int
) -> FrozenOverlay:
    """Ask a model for a better body.

    Raises:
        InputError: There is no failure to reflect on, or the reply is unusable.
        ModelFault: The model failed.

    """
    failures = shown_failures(evidence, number)
    if not failures:
        raise InputError("no train task failed; there is nothing to reflect on", code="nothing-to-add")
    messages = reflection_messages(skill, failures)
    request = ChatRequest(
        messages=messages,
        max_output_tokens=MAX_OUTPUT_TOKENS,
        temperature=temperature,
        seed=number + 1,
        wall_s=WALL_S,
    )
    body = cleaned_body(model.complete(request).text)
    quoted = tuple(failure.task for failure in failures)
    spec = OverlaySpec(
        schema_id=OVERLAY_SCHEMA,
        skills=(skill.name,),
        operator="reflect",
        parents=(skill.fingerprint,),
        rationale=f"Reflection {number + 1} on {len(failures)} failed train tasks.",
        model=str(model.identity.get("name")),
        prompt_sha256=sha256_json([[message.role, message.content] for message in messages]),
        evidence_sha256=evidence.digest(),
        worked_examples=quoted,
    )
    return overlay_of_body(skill, body, spec)

"""The operators that have a model word one passage anew: shorter, or as something to do."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from evolve.digest import sha256_json
from evolve.errors import InputError
from evolve.models.base import ChatModel, ChatRequest, Message
from evolve.models.calls import paid_call
from evolve.propose.ask import Ask
from evolve.propose.operators import overlay_of_body
from evolve.propose.passages import Kind, Passage, body_of, passages_of
from evolve.propose.prompts import Templates
from evolve.propose.reflect import WALL_S
from evolve.propose.reflection import ProposalRefused, Reflection
from evolve.protected import BEGIN, END
from evolve.records.overlay import OVERLAY_SCHEMA, OverlaySpec
from evolve.records.workspace import Price
from evolve.redact import redact
from evolve.replies.fences import code_blocks

Rewriting = Literal["compress", "sharpen"]
MAX_OUTPUT_TOKENS = 400
SHORTER = 0.9
"""A passage that is compressed has at most this part of its tokens."""
LONGER = 2.0
"""A passage that is sharpened has at most so many times its tokens, and a few more."""
FEW_TOKENS = 20
MAX_REPLY_CHARS = 8000
_LABEL = re.compile(r"\A(?:new[ \t]+)?instruction[ \t]*:[ \t]*", re.IGNORECASE)
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)", re.MULTILINE)
_QUOTES = (('"', '"'), ("'", "'"), ("\u201c", "\u201d"), ("\u00ab", "\u00bb"), ("\u201e", "\u201c"))


@dataclass(frozen=True)
class Writer:
    """Who words a passage anew, with what, and what is asked before each call: whether its worst cost is allowed."""

    model: ChatModel
    temperature: float
    templates: Templates
    price: Price | None
    admit: Callable[[int | None], None]


def rewrite(ask: Ask, operator: Rewriting, writer: Writer) -> Reflection:
    """Have one passage worded anew; another one each time.

    Raises:
        InputError: No passage is left to word anew, or no more may be spent.
        ProposalRefused: The reply is none that could stand in its place.
        ModelFault: The model failed.

    """
    parent = ask.parent
    passages = list(passages_of(parent.skill.body))
    places = rewritable(passages, operator)
    if ask.variant >= len(places):
        raise InputError(f"no passage is left to {operator}", code="nothing-to-rewrite")
    place = places[ask.variant]
    passage = passages[place]
    messages = (
        Message("system", writer.templates.render("rewrite_system.j2")),
        Message("user", writer.templates.render(f"{operator}_user.j2", passage=passage.text)),
    )
    request = ChatRequest(messages, MAX_OUTPUT_TOKENS, writer.temperature, ask.number + 1, WALL_S)
    reply, usage = paid_call(writer.model, request, writer.price, writer.admit)
    spec = OverlaySpec(
        schema_id=OVERLAY_SCHEMA,
        skills=(parent.skill.name,),
        operator=operator,
        parents=(parent.digest,),
        rationale=f"Words a {passage.kind.value} anew: {'shorter' if operator == 'compress' else 'as what to do'}.",
        model=str(writer.model.identity.get("name")),
        prompt_sha256=sha256_json([[message.role, message.content] for message in messages]),
        evidence_sha256=parent.evidence.digest(),
    )
    try:
        if reply.finish == "length":
            raise InputError(f"the reply was cut off at {MAX_OUTPUT_TOKENS} tokens", code="bad-proposal")
        passages[place] = reworded(passage, reply.text, operator)
        body = body_of(passages)
        if len(passages_of(body)) != len(passages):
            raise InputError("the reply would run into what stands beside it", code="bad-proposal")
        return Reflection(overlay_of_body(parent.skill, body, spec), usage)
    except InputError as error:
        raise ProposalRefused(error.message, usage=usage, code=error.code) from error


def rewritable(passages: list[Passage], operator: Rewriting) -> list[int]:
    """Return where passages stand that a model could word anew, the longest first.

    Neither headings nor protected passages, nor what holds code or a worked example: those are exact.
    """
    able = [
        place
        for place, passage in enumerate(passages)
        if passage.kind is not Kind.HEADING
        and BEGIN not in passage.text
        and not code_blocks(passage.text)
        and not passage.text.lower().startswith(("user:", "input:"))
        and (operator == "sharpen" or passage.tokens >= FEW_TOKENS)
    ]
    return sorted(able, key=lambda place: (-passages[place].tokens, place))


def bare(reply: str) -> str:
    """Return a reply without the fence, the label or the quotes that a model may have put around an instruction."""
    text = reply.strip()
    blocks = code_blocks(text)
    if len(blocks) == 1 and (blocks[0].start, blocks[0].end) == (0, len(text)):
        text = blocks[0].content.strip()
    text = _LABEL.sub("", text).strip()
    for opened, closed in _QUOTES:
        inner = text[1:-1]
        if len(text) > 1 and text[0] == opened and text[-1] == closed and opened not in inner and closed not in inner:
            return inner.strip()
    return text


def reworded(passage: Passage, reply: str, operator: Rewriting) -> Passage:
    """Return the passage with the text of a reply.

    Raises:
        InputError: It is too long or empty, is more than one passage, has marks of protection, or is not what was
            asked for.

    """
    if len(reply) > MAX_REPLY_CHARS:
        raise InputError(f"the reply has {len(reply)} characters, {MAX_REPLY_CHARS} are allowed", code="too-long")
    text = bare(redact(reply.replace("\r\n", "\n")))
    found = passages_of(text)
    if len(found) == 1 and found[0].kind is not Kind.HEADING:
        text = found[0].text
    new = replace(passage, text=text)
    read = passages_of(body_of([new]))
    if not text or [(one.kind, one.key) for one in read] != [(passage.kind, new.key)]:
        what = "a heading" if len(found) == 1 else f"{len(found)} passages"
        raise InputError(f"the reply is {what}, not one instruction", code="bad-proposal")
    if _FENCE.search(text) or not any(character.isalnum() for character in text):
        raise InputError("the reply is code or no words", code="bad-proposal")
    if BEGIN in new.text or END in new.text:
        raise InputError("the reply has marks of protection", code="bad-proposal")
    if new.key == passage.key:
        raise InputError("the reply is the passage as it was", code="no-change")
    if operator == "compress" and new.tokens > SHORTER * passage.tokens:
        raise InputError(f"about {new.tokens} tokens, hardly less than {passage.tokens}", code="not-shorter")
    if operator == "sharpen" and new.tokens > LONGER * passage.tokens + FEW_TOKENS:
        raise InputError(f"about {new.tokens} tokens in place of {passage.tokens}", code="too-long")
    return new

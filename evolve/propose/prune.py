"""The pruning operator: leaves out a passage, as resident text is paid for on every call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from evolve.errors import InputError
from evolve.overlays import FrozenOverlay
from evolve.propose.ask import Ask
from evolve.propose.operators import overlay_of_body
from evolve.propose.passages import Kind, Passage, body_of, passages_of
from evolve.protected import BEGIN
from evolve.records.overlay import OVERLAY_SCHEMA, OverlaySpec

MIN_LEFT = 1


def prune(ask: Ask) -> FrozenOverlay:
    """Leave out one passage: the longest first, another one each time.

    Raises:
        InputError: No passage is left that could be left out.

    """
    parent = ask.parent
    passages = passages_of(parent.skill.body)
    places = prunable(passages)
    if ask.variant >= len(places):
        raise InputError("no passage is left that could be left out", code="nothing-to-prune")
    place = places[ask.variant]
    passage = passages[place]
    spec = OverlaySpec(
        schema_id=OVERLAY_SCHEMA,
        skills=(parent.skill.name,),
        operator="prune",
        parents=(parent.digest,),
        rationale=f"Leaves out a {passage.kind.value} of about {passage.tokens} tokens.",
        expected_effect="No loss, at less text on every call.",
        evidence_sha256=parent.evidence.digest(),
    )
    return overlay_of_body(parent.skill, body_of(without(passages, place)), spec)


def prunable(passages: Sequence[Passage]) -> list[int]:
    """Return where passages stand that could be left out, the longest first; headings and protected ones could not."""
    able = [
        place
        for place, passage in enumerate(passages)
        if passage.kind is not Kind.HEADING and BEGIN not in passage.text
    ]
    if len(able) <= MIN_LEFT:
        return []
    return sorted(able, key=lambda place: (-passages[place].tokens, place))


def without(passages: Sequence[Passage], place: int) -> list[Passage]:
    """Return passages without one, and without the headings that then have nothing below them."""
    left = [passage for number, passage in enumerate(passages) if number != place]
    if place < len(left) and passages[place].apart:
        left[place] = replace(left[place], apart=True)
    number = place
    while number and _empty(left, number - 1):
        number -= 1
        del left[number]
    return left


def _empty(passages: Sequence[Passage], place: int) -> bool:
    heading, following = passages[place], passages[place + 1] if place + 1 < len(passages) else None
    if heading.kind is not Kind.HEADING or BEGIN in heading.text:
        return False
    return following is None or (following.kind is Kind.HEADING and following.level <= heading.level)

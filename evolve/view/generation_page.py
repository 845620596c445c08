"""A generation as a page: what it bound, what it tried, what was confirmed, and what it came to."""

from __future__ import annotations

from collections.abc import Callable

from evolve.records.generation import Generation, Proposal
from evolve.report.markdown import money
from evolve.report.page.rests import Fact
from evolve.report.page.visible import shown
from evolve.view.linked import Cell, LinkedTable, cells, count

PROPOSALS = (
    "candidate",
    "operator",
    "train, resolved",
    "selection, resolved",
    "resident tokens",
    "proposer",
    "what became of it",
)
CONFIRMED = ("finalist", "outcome", "effect on the sealed tasks", "what kept it from passing")
EDITS = ("edit", "expected effect, points of 100", "chance that it helps", "candidates", "cells", "resident tokens")


def generation_facts(one: Generation) -> tuple[Fact, ...]:
    """Return what a generation was asked for and how far it has come, one fact each."""
    outcome = "unfinished" if one.finished_at is None else str(one.outcome or "none").replace("_", " ")
    facts = [
        Fact("outcome", outcome),
        Fact("what it came to", shown(one.summary) or "nothing yet"),
        Fact("skill", one.skill or "not chosen yet"),
        Fact("chosen because", shown(one.chosen_because) or "not told"),
        Fact("incumbent on train, resolved", one.incumbent_train or "not measured"),
        Fact("incumbent on selection, resolved", one.incumbent_selection or "not measured"),
        Fact("train cells of the search", f"{one.evaluations:,}"),
        Fact("proposing cost", money(one.proposer_usd_micros)),
        Fact("began", f"{one.started_at:%Y-%m-%d %H:%M:%S} UTC"),
    ]
    if one.finished_at is not None:
        facts.append(Fact("ended", f"{one.finished_at:%Y-%m-%d %H:%M:%S} UTC"))
    more = {"search": one.strategy, "the search was over because": one.search_ended, "commit": one.commit}
    return (*facts, *(Fact(name, shown(text)) for name, text in more.items() if text))


def generation_tables(
    one: Generation, promotion: Callable[[str], str], sweep: Callable[[str], str]
) -> list[LinkedTable]:
    """Return what a generation tried and confirmed.

    Args:
        one: The generation.
        promotion: Gives the address of evidence by its folder, or nothing.
        sweep: Gives the address of a sweep by its name, or nothing.

    """
    tables = [_confirmed(one, promotion)] if one.confirmed else []
    caption = f"{count(len(one.proposals), 'proposal')}; resolved cells of those that were measured."
    tables.append(LinkedTable("proposals", caption, PROPOSALS, tuple(map(_proposal, one.proposals))))
    if one.edits:
        tables.append(_edits(one))
    rows = tuple((Cell(shown(name, 200), sweep(name)),) for name in one.sweeps)
    return [*tables, LinkedTable("sweeps", "The sweeps that it measured.", ("sweep",), rows)]


def _confirmed(one: Generation, promotion: Callable[[str], str]) -> LinkedTable:
    rows = tuple(
        (
            Cell(found.overlay_sha256[:12], promotion(found.evidence)),
            *cells(str(found.outcome).replace("_", " "), shown(found.effect), shown(found.why)),
        )
        for found in one.confirmed
    )
    return LinkedTable("confirmed", "What the sealed tasks said of each finalist, a look each.", CONFIRMED, rows)


def _edits(one: Generation) -> LinkedTable:
    rows = tuple(
        cells(
            shown(edit.text, 300),
            f"{edit.points:+.1f}",
            f"{edit.chance:.2f}",
            edit.candidates,
            edit.cells,
            edit.tokens,
        )
        for edit in one.edits
    )
    told = "What the search reckons that edits add on train; a guide to the next idea, and no result."
    return LinkedTable("edits", told, EDITS, rows)


def _proposal(one: Proposal) -> tuple[Cell, ...]:
    return cells(
        shown(one.name, 100),
        shown(one.operator, 60),
        one.train or "not measured",
        one.selection or "not measured",
        "" if one.resident_tokens is None else f"{one.resident_tokens:+,}",
        money(one.cost_usd_micros),
        shown(one.refused) if one.refused else "measured" if one.train else "proposed",
    )

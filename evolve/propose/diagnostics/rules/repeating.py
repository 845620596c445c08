"""What is done again and again: the same call, calls that fail, edits of one file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from evolve.agents.transcript_events import Event, EventKind, ResultKind
from evolve.propose.diagnostics.finding import Finding, FindingKind, named, shown
from evolve.propose.diagnostics.rules.clusters import close_in_time, clusters
from evolve.propose.diagnostics.thresholds import (
    CHURN_EDITS,
    CHURN_FAILURES,
    CHURN_TURNS,
    DUPLICATE_SECONDS,
    DUPLICATE_TURNS,
)


def duplicate_calls(events: Sequence[Event]) -> Iterator[Finding]:
    """Find calls that were made before, with nothing in between that may have changed their result."""
    known: dict[tuple[int, str | None, str], Event] = {}
    for event in events:
        if not event.is_call or event.args_sha256 is None:
            if event.is_call and not event.only_looks:
                known.clear()
            continue
        key = (event.session, event.tool, event.args_sha256)
        before = known.get(key)
        if before is not None and close_in_time(before, event, DUPLICATE_SECONDS.value, DUPLICATE_TURNS.value):
            detail = f"{named(event)} again, as in turn {before.turn}, and nothing was changed in between"
            yield Finding(FindingKind.DUPLICATE_CALL, event.turn, detail, event.turn - before.turn)
        if not event.only_looks:
            known.clear()
        known[key] = event


def tool_errors(events: Sequence[Event]) -> Iterator[Finding]:
    """Find calls that failed."""
    for event in events:
        if event.is_call and event.result is ResultKind.ERROR:
            said = shown(event.said)
            yield Finding(FindingKind.TOOL_ERROR, event.turn, f"{named(event)} failed{f': {said}' if said else ''}", 1)


@dataclass(frozen=True, slots=True)
class _Edit:
    """An edit of a file, and how many commands of its session had failed before it."""

    event: Event
    failures: int


def tool_churn(events: Sequence[Event]) -> Iterator[Finding]:
    """Find files that were edited over and over, or again after each of several failing commands."""

    def near(edits: Sequence[_Edit]) -> bool:
        return edits[-1].event.turn - edits[0].event.turn <= CHURN_TURNS.value

    def enough(edits: Sequence[_Edit]) -> bool:
        turns = {edit.event.turn for edit in edits}
        return len(turns) >= CHURN_EDITS.value or _failed_rounds(edits) >= CHURN_FAILURES.value

    for path, edits in _edits(events).items():
        for found in clusters(edits, near, enough):
            rounds = _failed_rounds(found)
            after = f", after a failing command {rounds} times" if rounds else ""
            detail = f"{len(found)} edits of {shown(path[1])}{after}"
            yield Finding(FindingKind.TOOL_CHURN, found[0].event.turn, detail, len(found))


def _failed_rounds(edits: Sequence[_Edit]) -> int:
    """Return how many edits followed a command that failed after the edit before."""
    counts = [edit.failures for edit in edits]
    return sum(after > before for before, after in pairwise(counts))


def _edits(events: Sequence[Event]) -> dict[tuple[int, str], list[_Edit]]:
    failures: dict[int, int] = defaultdict(int)
    edits: dict[tuple[int, str], list[_Edit]] = defaultdict(list)
    for event in events:
        if event.kind is EventKind.COMMAND and event.result is ResultKind.ERROR:
            failures[event.session] += 1
        elif event.kind is EventKind.EDIT and event.path is not None:
            edits[event.session, event.path].append(_Edit(event, failures[event.session]))
    return edits

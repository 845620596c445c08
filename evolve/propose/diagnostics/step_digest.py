"""A transcript in a few lines: the steps that mattered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from evolve.agents.transcript_events import Event, EventKind, ResultKind
from evolve.propose.diagnostics.finding import shown

_RESULTS = {ResultKind.OK: "ok", ResultKind.ERROR: "ERROR", ResultKind.NONE: "no result"}
_FOLDED = 3  # looks in a row from which on they are one line
_PLURALS = {EventKind.READ: ("read", "reads"), EventKind.SEARCH: ("search", "searches")}


def digest_lines(events: Sequence[Event]) -> list[tuple[str, bool]]:
    """Return the lines of a digest, each with whether it matters: edits, errors, commands that failed."""
    lines: list[tuple[str, bool]] = []
    calls = [event for event in events if event.is_call]
    for looks, group in groupby(calls, key=lambda call: call.only_looks and call.result is not ResultKind.ERROR):
        run = list(group)
        if looks and len(run) > _FOLDED:
            lines.append((_folded(run), False))
        else:
            lines += [(_line(call), _matters(call)) for call in run]
    return lines


def cut_digest(lines: Sequence[tuple[str, bool]], max_chars: int) -> str:
    """Return as many whole lines as fit, the newest kept: what matters first; what was cut is said.

    Args:
        lines: In order, each with whether it matters.
        max_chars: The most characters of the digest, what it says about cuts included.

    """
    whole = "\n".join(line for line, _ in lines)
    if len(whole) <= max_chars:
        return whole
    left = max_chars - len(_cut(len(lines)))
    kept: set[int] = set()
    for number in _by_weight(lines):
        cost = len(lines[number][0]) + 1
        if cost > left:
            break
        left -= cost
        kept.add(number)
    said = _cut(len(lines) - len(kept))
    text = "\n".join([said, *(lines[number][0] for number in sorted(kept))])
    return text if len(text) <= max_chars else ""


def _by_weight(lines: Sequence[tuple[str, bool]]) -> Iterator[int]:
    newest = range(len(lines) - 1, -1, -1)
    yield from (number for number in newest if lines[number][1])
    yield from (number for number in newest if not lines[number][1])


def _cut(count: int) -> str:
    return f"({count:,} lines were cut)"


def _matters(call: Event) -> bool:
    return call.kind is EventKind.EDIT or call.result is ResultKind.ERROR


def _folded(run: Sequence[Event]) -> str:
    counted = []
    for kind, (one, several) in _PLURALS.items():
        count = sum(call.kind is kind for call in run)
        if count:
            counted.append(f"{count:,} {one if count == 1 else several}")
    return f"… {', '.join(counted)}"


def _line(call: Event) -> str:
    about = shown(call.path if call.path is not None and call.kind is not EventKind.COMMAND else call.asked)
    place = f":{call.first_line}-{call.last_line}" if call.kind is EventKind.READ and call.last_line else ""
    size = "" if call.bytes is None else f", {call.bytes:,} bytes"
    said = f": {said}" if (said := shown(call.said)) else ""
    what = f"{shown(call.tool) or 'a tool'} {about}{place}".rstrip()
    return f"turn {call.turn}: {what} ({_RESULTS[call.result]}{size}){said}"

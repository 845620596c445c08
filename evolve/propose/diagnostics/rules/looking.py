"""What the looks of a session show: too many, too broad, in pieces, one after the other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from evolve.agents.transcript_events import Event, EventKind, ResultKind
from evolve.propose.diagnostics.finding import Finding, FindingKind, named, shown
from evolve.propose.diagnostics.rules.clusters import close_in_time, clusters
from evolve.propose.diagnostics.thresholds import (
    BROAD_RESULT_BYTES,
    BROAD_RESULT_LINES,
    FRAGMENT_LINES,
    FRAGMENT_READS,
    FRAGMENT_SECONDS,
    FRAGMENT_TURNS,
    PARALLEL_TURNS,
    READ_ONLY_STALL_TURNS,
    SWEEP_SEARCHES,
    SWEEP_TURNS,
)

TurnCalls = list[list[Event]]


def calls_by_turn(events: Sequence[Event]) -> list[TurnCalls]:
    """Return, for each session, the calls of each of its turns that made any."""
    sessions: dict[int, dict[int, list[Event]]] = defaultdict(lambda: defaultdict(list))
    for event in events:
        if event.is_call:
            sessions[event.session][event.turn].append(event)
    return [list(turns.values()) for turns in sessions.values()]


def tells_turns(events: Sequence[Event]) -> bool:
    """Whether a transcript tells its turns, and so which calls were made at once."""
    return any(event.kind is EventKind.TURN for event in events)


def read_only_stalls(events: Sequence[Event]) -> Iterator[Finding]:
    """Find runs of turns that only look."""
    for turns in calls_by_turn(events):
        run: TurnCalls = []
        for calls in [*turns, []]:
            if calls and all(call.only_looks for call in calls):
                run.append(calls)
                continue
            if len(run) >= READ_ONLY_STALL_TURNS.value:
                detail = f"{len(run)} turns in a row only read or searched; it began with {named(run[0][0])}"
                yield Finding(FindingKind.READ_ONLY_STALL, run[0][0].turn, detail, len(run))
            run = []


def broad_results(events: Sequence[Event]) -> Iterator[Finding]:
    """Find results that fill the prompt."""
    for event in events:
        size, lines = event.bytes or 0, event.lines or 0
        if event.is_call and (size >= BROAD_RESULT_BYTES.value or lines >= BROAD_RESULT_LINES.value):
            told = [f"{count:,} {unit}" for count, unit in ((lines, "lines"), (size, "bytes")) if count]
            detail = f"{named(event)} brought {', '.join(told)}"
            yield Finding(FindingKind.BROAD_RESULT, event.turn, detail, size)


def _stretches(events: Sequence[Event]) -> Iterator[tuple[str, list[Event]]]:
    """Yield the reads of known lines of each file by each session, between two changes of that file."""
    open_: dict[str, dict[int, list[Event]]] = defaultdict(lambda: defaultdict(list))
    for event in events:
        if event.path is None:
            continue
        if event.kind is EventKind.EDIT:
            for reads in open_.pop(event.path, {}).values():
                yield event.path, reads
        elif event.kind is EventKind.READ and event.first_line is not None and event.last_line is not None:
            open_[event.path][event.session].append(event)
    for path, sessions in open_.items():
        for reads in sessions.values():
            yield path, reads


def _span(reads: Sequence[Event]) -> int:
    return max(read.last_line or 0 for read in reads) - min(read.first_line or 0 for read in reads) + 1


def read_fragmentation(events: Sequence[Event]) -> Iterator[Finding]:
    """Find files that were read in several pieces where one read would have brought all of them."""

    def near(reads: Sequence[Event]) -> bool:
        return _span(reads) <= FRAGMENT_LINES.value and close_in_time(
            reads[0], reads[-1], FRAGMENT_SECONDS.value, FRAGMENT_TURNS.value
        )

    def enough(reads: Sequence[Event]) -> bool:
        return len({(read.first_line, read.last_line) for read in reads}) >= FRAGMENT_READS.value

    for path, reads in _stretches(events):
        # One read alone may be longer than the limit, and is no piece of anything.
        pieces = [read for read in reads if _span([read]) <= FRAGMENT_LINES.value]
        for found in clusters(pieces, near, enough):
            detail = f"{len(found)} reads of {shown(path)} within {_span(found):,} lines"
            yield Finding(FindingKind.READ_FRAGMENTATION, found[0].turn, detail, len(found))


def grep_sweeps(events: Sequence[Event]) -> Iterator[Finding]:
    """Find searches of one place for one thing after the other, with nothing but looks in between."""

    def near(searches: Sequence[Event]) -> bool:
        return searches[-1].turn - searches[0].turn <= SWEEP_TURNS.value

    def enough(searches: Sequence[Event]) -> bool:
        return len({search.args_sha256 for search in searches}) >= SWEEP_SEARCHES.value

    for place, searches in _searches(events):
        for found in clusters(searches, near, enough):
            detail = f"{len(found)} searches of {shown(place)}, one after the other"
            yield Finding(FindingKind.GREP_SWEEP, found[0].turn, detail, len(found))


def _searches(events: Sequence[Event]) -> Iterator[tuple[str, list[Event]]]:
    """Yield the searches of each place by each session, between two calls that may change something."""
    open_: dict[int, dict[str, list[Event]]] = defaultdict(lambda: defaultdict(list))
    for event in events:
        if event.is_call and not event.only_looks:
            yield from open_.pop(event.session, {}).items()
        elif event.kind is EventKind.SEARCH and event.path is not None and event.args_sha256 is not None:
            open_[event.session][event.path].append(event)
    for places in open_.values():
        yield from places.items()


def missed_parallelism(events: Sequence[Event]) -> Iterator[Finding]:
    """Find runs of turns with a single look each, all of one kind, none of which seems to follow from another."""
    for turns in calls_by_turn(events):
        run: list[Event] = []
        for calls in [*turns, []]:
            single = calls[0] if len(calls) == 1 and _could_be_asked_at_once(calls[0]) else None
            if single is not None and _independent(run, single):
                run.append(single)
                continue
            yield from _missed(run)
            run = [] if single is None else [single]


def _could_be_asked_at_once(call: Event) -> bool:
    return call.only_looks and call.result is not ResultKind.ERROR and call.args_sha256 is not None


def _independent(run: Sequence[Event], call: Event) -> bool:
    """Whether a look goes on with a run: of one kind, a read of another file, a search for something else."""
    if not run:
        return True
    if call.kind is not run[-1].kind or call.args_sha256 == run[-1].args_sha256:
        return False
    return call.kind is EventKind.SEARCH or (call.path is not None and call.path != run[-1].path)


def _missed(run: Sequence[Event]) -> Iterator[Finding]:
    if len(run) >= PARALLEL_TURNS.value:
        detail = f"{len(run)} turns in a row made one {run[0].kind} each; the first was {named(run[0])}"
        yield Finding(FindingKind.MISSED_PARALLELISM, run[0].turn, detail, len(run))

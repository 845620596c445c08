"""What an agent did, as neutral events: every program's transcript is read into these."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from posixpath import normpath
from typing import Any

from evolve.hostile import open_file
from evolve.sandbox.box import WORK

MAX_LINE_BYTES = 32 * 1024 * 1024
MAX_TEXT_CHARS = 400


class EventKind(StrEnum):
    """What an event is: a turn of the model, or a call of a tool by what it does."""

    TURN = "turn"
    READ = "read"
    SEARCH = "search"
    EDIT = "edit"
    COMMAND = "command"  # it may change anything
    OTHER = "other"  # nobody knows what it changes


ONLY_LOOKS = frozenset({EventKind.READ, EventKind.SEARCH})


class ResultKind(StrEnum):
    """How a call ended; ``none``: no result of it is told."""

    OK = "ok"
    ERROR = "error"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class TurnUsage:
    """The tokens of one turn; ``None`` where the transcript does not tell.

    Args:
        input: All input, what was cached or cache-written included.
        cached: What of the input was read from a cache.
        written: What of the input was written to a cache.
        output: All output.

    """

    input: int | None = None
    cached: int | None = None
    written: int | None = None
    output: int | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """One turn of the model, or one call of a tool; ``None`` is what the transcript does not tell, never 0.

    Args:
        kind: What it is.
        turn: The turn that it belongs to, counted from 1 over the whole transcript; where a transcript tells no turns,
            and so has no event of one, the step: calls that were open at one time.
        session: The conversation that it belongs to: each phase and each subagent has its own.
        tool: The tool's name.
        args_sha256: The digest of the call's arguments.
        path: What it reads, searches or changes; below the work, relative to it.
        first_line: The first line that it reads.
        last_line: The last one.
        result: How the call ended.
        bytes: The size of its result.
        lines: The lines of its result.
        time: Seconds since the first time that the transcript tells.
        usage: The tokens of a turn.
        asked: The beginning of what was asked: a command, a pattern.
        said: The end of what a call that failed said.

    """

    kind: EventKind
    turn: int
    session: int = 1
    tool: str | None = None
    args_sha256: str | None = None
    path: str | None = None
    first_line: int | None = None
    last_line: int | None = None
    result: ResultKind = ResultKind.NONE
    bytes: int | None = None
    lines: int | None = None
    time: float | None = None
    usage: TurnUsage | None = None
    asked: str | None = None
    said: str | None = None

    @property
    def is_call(self) -> bool:
        """Whether it is a call of a tool."""
        return self.kind is not EventKind.TURN

    @property
    def only_looks(self) -> bool:
        """Whether it is a call that surely changes nothing."""
        return self.kind in ONLY_LOOKS


@dataclass(frozen=True)
class Transcript:
    """The events of a transcript, in order, and how many of its lines could not be read."""

    events: tuple[Event, ...]
    unreadable: int = 0


@dataclass
class EventLog:
    """Events as they are put together: a result is found later than its call, the usage later than its turn."""

    events: list[Event] = field(default_factory=list)
    turns: int = 0
    _calls: dict[str, int] = field(default_factory=dict)
    _sessions: dict[str, int] = field(default_factory=dict)
    _began: datetime | None = None

    def session(self, key: str) -> int:
        """Return the number of a conversation."""
        return self._sessions.setdefault(key, len(self._sessions) + 1)

    def time(self, stamp: object) -> float | None:
        """Return the seconds from the first time told until this one."""
        try:
            told = datetime.fromisoformat(stamp) if isinstance(stamp, str) else None
            if told is None:
                return None
            self._began = self._began or told
            return (told - self._began).total_seconds()
        except (ValueError, TypeError, OverflowError):
            return None

    def add_turn(self, session: int, time: float | None = None) -> int:
        """Add a turn, and return where it stands."""
        self.turns += 1
        self.events.append(Event(EventKind.TURN, self.turns, session, time=time))
        return len(self.events) - 1

    def set_usage(self, position: int, usage: TurnUsage) -> None:
        """Say what a turn used; the last word counts."""
        self.events[position] = replace(self.events[position], usage=usage)

    def add_call(self, key: str, event: Event) -> None:
        """Add a call that is known by a key until it is answered."""
        self._calls[key] = len(self.events)
        self.events.append(event)

    def call(self, key: str) -> Event | None:
        """Return a call that is not answered yet."""
        position = self._calls.get(key)
        return None if position is None else self.events[position]

    def answer(self, key: str, event: Event) -> None:
        """Put a call with its result in the place of the call."""
        self.events[self._calls.pop(key)] = event

    def forget_calls(self) -> None:
        """Wait for no result any more: what made the calls has ended."""
        self._calls.clear()

    def next_step(self) -> int:
        """Return the number of the step of a call that begins now, where no turns are told."""
        self.turns += not self._calls
        return self.turns


def objects_of(path: Path) -> Iterator[dict[str, Any] | None]:
    """Yield the JSON object of each line of a file, one at a time; ``None`` for a line that holds none.

    Raises:
        OSError: The file cannot be read.

    """
    with open_file(path) as file:
        for line in _lines(iter(lambda: file.readline(MAX_LINE_BYTES), b"")):
            if line is None or line.strip():
                yield None if line is None else _object(line)


def _lines(pieces: Iterable[bytes]) -> Iterator[bytes | None]:
    """Yield lines; ``None`` in place of one that is too long to be held."""
    too_long = False
    for piece in pieces:
        cut = len(piece) == MAX_LINE_BYTES and not piece.endswith(b"\n")
        if not cut:
            yield None if too_long else piece
        too_long = cut
    if too_long:
        yield None


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def digest_of_args(value: object) -> str:
    """Return the digest of a call's arguments; the order of their names does not matter."""
    try:
        text = json.dumps(value, sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        text = ascii(type(value))
    return hashlib.sha256(text.encode()).hexdigest()


def size_of(text: str | None) -> tuple[int | None, int | None]:
    """Return the bytes and lines of a text."""
    if text is None:
        return None, None
    return len(text.encode("utf-8", errors="replace")), text.count("\n") + (text != "" and not text.endswith("\n"))


def as_text(value: object) -> str | None:
    """Return a value if it is a text that says something."""
    return value if isinstance(value, str) and value else None


def path_of(value: object) -> str | None:
    """Return a path, relative to the work where it lies below it."""
    text = as_text(value)
    if text is None:
        return None
    normal = normpath(text[:4096])
    return "." if normal == WORK else normal.removeprefix(f"{WORK}/")


def beginning(text: str | None) -> str | None:
    """Return the beginning of a text, as much of it as an event holds."""
    return text[:MAX_TEXT_CHARS] if text else None


def end(text: str | None) -> str | None:
    """Return the end of a text, as much of it as an event holds."""
    return text.rstrip()[-MAX_TEXT_CHARS:] if text else None


def transcript_of(
    values: Iterable[dict[str, Any] | None], log: EventLog, take: Callable[[dict[str, Any]], None]
) -> Transcript:
    """Return the transcript that comes of giving the object of each line to a reader; ``None`` is an unreadable line.

    Args:
        values: The JSON object of each line.
        log: Where the reader puts events.
        take: Reads one object.

    """
    unreadable = 0
    for value in values:
        if value is None:
            unreadable += 1
        else:
            take(value)
    return Transcript(tuple(log.events), unreadable)

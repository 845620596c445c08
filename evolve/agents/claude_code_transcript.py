"""The transcript of Claude Code, ``--output-format stream-json``, as neutral events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from evolve.agents.shell_reading import Reading, read_command
from evolve.agents.transcript_events import (
    Event,
    EventKind,
    EventLog,
    ResultKind,
    Transcript,
    TurnUsage,
    as_text,
    beginning,
    digest_of_args,
    end,
    path_of,
    size_of,
    transcript_of,
)
from evolve.hostile import as_count

_EDITS = frozenset({"Write", "Edit", "MultiEdit", "NotebookEdit"})
_SEARCHES = frozenset({"Grep", "Glob", "LS"})
_TOLD = ("command", "pattern", "skill", "description", "query", "url")
_SYNTHETIC = "<synthetic>"


@dataclass
class _Reader:
    log: EventLog = field(default_factory=EventLog)
    phase: int = 0
    turns: dict[tuple[int, str], int] = field(default_factory=dict)

    def take(self, value: dict[str, Any]) -> None:
        if "evolve_phase" in value:
            self.phase += 1
        message = value.get("message")
        if not isinstance(message, dict):
            return
        if value.get("type") == "assistant":
            self._assistant(value, message)
        elif value.get("type") == "user":
            self._results(value, message)

    def _key(self, name: object) -> str:
        return f"{self.phase}:{name}"

    def _assistant(self, value: dict[str, Any], message: dict[str, Any]) -> None:
        """Take a frame of an answer: there is one for each of its blocks, all with one id."""
        session = self.log.session(self._key(value.get("parent_tool_use_id") or ""))
        time = self.log.time(value.get("timestamp"))
        key = (session, as_text(message.get("id")) or f"frame {len(self.log.events)}")
        if key not in self.turns:
            self.turns[key] = self.log.add_turn(session, time)
        if message.get("model") != _SYNTHETIC and (usage := _usage(message)) is not None:
            self.log.set_usage(self.turns[key], usage)
        for block in _blocks(message, "tool_use"):
            event = _call(block, self.log.events[self.turns[key]].turn, session)
            self.log.add_call(self._key(block.get("id")), replace(event, time=time))

    def _results(self, value: dict[str, Any], message: dict[str, Any]) -> None:
        told = value.get("tool_use_result")
        blocks = _blocks(message, "tool_result")
        for block in blocks:
            key = self._key(block.get("tool_use_id"))
            call = self.log.call(key)
            if call is not None:
                file = told.get("file") if isinstance(told, dict) and len(blocks) == 1 else None
                time = self.log.time(value.get("timestamp")) if call.time is None else call.time
                self.log.answer(key, replace(_answered(call, block, file), time=time))


def read_claude_code(values: Iterable[dict[str, Any] | None]) -> Transcript:
    """Return the events of a transcript.

    Args:
        values: The JSON object of each line; ``None`` for a line that holds none.

    """
    reader = _Reader()
    return transcript_of(values, reader.log, reader.take)


def _blocks(message: Mapping[str, Any], kind: str) -> list[dict[str, Any]]:
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    return [block for block in blocks if isinstance(block, dict) and block.get("type") == kind]


def _usage(message: Mapping[str, Any]) -> TurnUsage | None:
    """Return what a turn used; its output is final only once a reason to stop is told."""
    told = message.get("usage")
    if not isinstance(told, dict):
        return None
    fresh, output = as_count(told.get("input_tokens")), as_count(told.get("output_tokens"))
    cached, written = as_count(told.get("cache_read_input_tokens")), as_count(told.get("cache_creation_input_tokens"))
    whole = None if fresh is None or cached is None or written is None else fresh + cached + written
    return TurnUsage(whole, cached, written, output if message.get("stop_reason") else None)


def _call(block: Mapping[str, Any], turn: int, session: int) -> Event:
    given = block.get("input")
    args: dict[str, Any] = given if isinstance(given, dict) else {}
    tool = as_text(block.get("name"))
    reading = _reading(tool, args)
    return Event(
        kind=reading.kind,
        turn=turn,
        session=session,
        tool=tool,
        args_sha256=digest_of_args(given),
        path=reading.path,
        first_line=reading.first_line,
        last_line=reading.last_line,
        asked=beginning(next((text for name in _TOLD if (text := as_text(args.get(name)))), None)),
    )


def _reading(tool: str | None, args: Mapping[str, Any]) -> Reading:
    path = path_of(args.get("file_path") or args.get("notebook_path"))
    if tool == "Bash":
        command = as_text(args.get("command"))
        return read_command(command) if command else Reading(EventKind.COMMAND)
    if tool == "Read":
        first = as_count(args.get("offset")) or 1
        limit = as_count(args.get("limit"))
        return Reading(EventKind.READ, path, first, None if limit is None else first + limit - 1)
    if tool in _EDITS:
        return Reading(EventKind.EDIT, path)
    if tool in _SEARCHES:
        return Reading(EventKind.SEARCH, path_of(args.get("path")) or ".")
    return Reading(EventKind.OTHER, path)


def _answered(call: Event, block: Mapping[str, Any], file: object) -> Event:
    text = _text(block.get("content"))
    failed = block.get("is_error") is True
    size, lines = size_of(text)
    first, last = call.first_line, call.last_line
    if call.kind is EventKind.READ and not failed and first is not None:
        told = file if isinstance(file, dict) else {}
        first = as_count(told.get("startLine")) or first
        count = as_count(told.get("numLines"))
        count = lines if count is None and last is None else count
        last = first + count - 1 if count else last
    return replace(
        call,
        result=ResultKind.ERROR if failed else ResultKind.OK,
        bytes=size,
        lines=lines,
        first_line=first,
        last_line=last,
        said=end(text) if failed else None,
    )


def _text(content: object) -> str | None:
    """Return the text of a result; of one that is no text, nothing is known."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return None
    texts = [block.get("text") for block in content if isinstance(block, dict) and block.get("type") == "text"]
    found = [text for text in texts if isinstance(text, str)]
    return "".join(found) if len(found) == len(content) else None

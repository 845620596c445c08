"""The transcript of Codex, ``exec --json``, as neutral events."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from evolve.agents.shell_reading import Reading, read_command, unwrapped
from evolve.agents.transcript_events import (
    Event,
    EventKind,
    EventLog,
    ResultKind,
    Transcript,
    as_text,
    beginning,
    digest_of_args,
    end,
    path_of,
    size_of,
    transcript_of,
)

_CALLS = frozenset({"command_execution", "file_change", "mcp_tool_call", "web_search"})
_ENDS = {"completed": ResultKind.OK, "failed": ResultKind.ERROR, "declined": ResultKind.ERROR}
NO_MATCH = 1  # of a search: it found nothing, which is no error


@dataclass
class _Reader:
    """The stream tells no turns: what a model asks for at once is run and told one after the other, in any order."""

    log: EventLog = field(default_factory=EventLog)
    phase: int = 0

    def take(self, value: dict[str, Any]) -> None:
        if "evolve_phase" in value:
            self.phase += 1
            self.log.forget_calls()
        item, kind = value.get("item"), value.get("type")
        if (
            isinstance(item, dict)
            and kind in ("item.started", "item.completed")
            and as_text(item.get("type")) in _CALLS
        ):
            self._call(item, ended=kind == "item.completed")

    def _call(self, item: Mapping[str, Any], *, ended: bool) -> None:
        key = f"{self.phase}:{item.get('id')}"
        known = self.log.call(key)
        if known is None:
            known = _call(item, self.log.next_step(), self.log.session(str(self.phase)))
            self.log.add_call(key, known)
        if ended:
            events = _answered(replace(known, **_place(item)), item)
            self.log.answer(key, events[0])
            self.log.events.extend(events[1:])


def read_codex(values: Iterable[dict[str, Any] | None]) -> Transcript:
    """Return the events of a transcript.

    Args:
        values: The JSON object of each line; ``None`` for a line that holds none.

    """
    reader = _Reader()
    return transcript_of(values, reader.log, reader.take)


def _call(item: Mapping[str, Any], turn: int, session: int) -> Event:
    kind = item.get("type")
    tool = "shell" if kind == "command_execution" else str(kind)
    if kind == "mcp_tool_call":
        tool = f"{as_text(item.get('server')) or '?'}.{as_text(item.get('tool')) or '?'}"
    args = {name: item.get(name) for name in ("command", "changes", "arguments", "query") if name in item}
    asked = unwrapped(str(item["command"])) if as_text(item.get("command")) else as_text(item.get("query"))
    event = Event(EventKind.OTHER, turn, session, tool=tool, args_sha256=digest_of_args(args), asked=beginning(asked))
    return replace(event, **_place(item))


def _place(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a call does, and to what."""
    reading = Reading(EventKind.OTHER)
    if item.get("type") == "command_execution":
        command = as_text(item.get("command"))
        reading = read_command(command) if command else Reading(EventKind.COMMAND)
    elif item.get("type") == "file_change":
        reading = Reading(EventKind.EDIT, next(iter(_changed(item)), None))
    return {
        "kind": reading.kind,
        "path": reading.path,
        "first_line": reading.first_line,
        "last_line": reading.last_line,
    }


def _changed(item: Mapping[str, Any]) -> list[str]:
    """Return the paths that a change of files names."""
    changes = item.get("changes")
    found = [path_of(one.get("path")) for one in changes if isinstance(one, dict)] if isinstance(changes, list) else []
    return [path for path in found if path is not None]


def _answered(call: Event, item: Mapping[str, Any]) -> list[Event]:
    """Return a call with its result; a change of several files is one event for each."""
    text = _output(item)
    size, lines = size_of(text)
    result = _result(call, item)
    last = call.last_line
    if call.kind is EventKind.READ and last is None and call.first_line is not None and lines:
        last = call.first_line + lines - 1
    said = end(text) if result is ResultKind.ERROR else None
    ended = replace(call, result=result, bytes=size, lines=lines, last_line=last, said=said)
    if call.kind is not EventKind.EDIT:
        return [ended]
    return [replace(ended, path=path) for path in dict.fromkeys(_changed(item))] or [ended]


def _result(call: Event, item: Mapping[str, Any]) -> ResultKind:
    code = item.get("exit_code")
    if item.get("type") != "command_execution" or isinstance(code, bool) or not isinstance(code, int):
        return ResultKind.ERROR if item.get("error") else _ENDS.get(str(item.get("status")), ResultKind.NONE)
    harmless = code == 0 or (code == NO_MATCH and call.kind is EventKind.SEARCH)
    return ResultKind.OK if harmless else ResultKind.ERROR


def _output(item: Mapping[str, Any]) -> str | None:
    """Return what a call gave back, if the stream tells."""
    if isinstance(item.get("aggregated_output"), str):
        return str(item["aggregated_output"])
    error = item.get("error")
    given = error.get("message") if isinstance(error, dict) else item.get("result")
    if given is None or isinstance(given, str):
        return given
    try:
        return json.dumps(given)
    except (ValueError, RecursionError):
        return None

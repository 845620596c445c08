"""Small transcripts as the two programs write them, and stored rows that name them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from evolve.bench.reuse import stored_transcript
from evolve.digest import sha256_bytes
from evolve.records.kinds import Split
from evolve.records.row import Row
from tests.builders import make_row


def lines(values: Iterable[dict[str, Any]]) -> str:
    return "".join(json.dumps(value) + "\n" for value in values)


def answer(number: int, *blocks: dict[str, Any], cached: int = 0, **more: Any) -> list[dict[str, Any]]:
    """Return the frames of one answer of Claude Code: one for each block, all with one id and provisional usage."""
    usage = {
        "input_tokens": 10,
        "cache_read_input_tokens": cached,
        "cache_creation_input_tokens": 500,
        "output_tokens": 1,
    }
    message = {"id": f"msg_{number}", "model": "m", "stop_reason": None, "usage": usage}
    return [{"type": "assistant", "message": {**message, "content": [block]}, **more} for block in blocks]


def use(identifier: str, name: str, **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": identifier, "name": name, "input": given}


def result(identifier: str, content: Any, *, error: bool = False, **more: Any) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": identifier, "content": content, "is_error": error}
    return {"type": "user", "message": {"role": "user", "content": [block]}, **more}


CLAUDE: list[dict[str, Any]] = [
    {"type": "ui_invalidate"},
    {"type": "system", "subtype": "init", "model": "m", "tools": ["Read", "Bash"]},
    *answer(
        1,
        {"type": "text", "text": "I look."},
        use("t1", "Read", file_path="/box/work/src/a.py"),
        use("t2", "Grep", pattern="def f"),
    ),
    result(
        "t1",
        "1\tx = 1\n2\ty = 2\n",
        tool_use_result={"type": "text", "file": {"startLine": 1, "numLines": 2, "totalLines": 2}},
        timestamp="2026-03-01T12:00:00.000Z",
    ),
    result("t2", [{"type": "text", "text": "src/a.py:1"}], timestamp="2026-03-01T12:00:01.500Z"),
    *answer(2, use("t3", "Edit", file_path="/box/work/src/a.py", old_string="1", new_string="2"), cached=510),
    result("t3", "done"),
    *answer(3, use("t4", "Bash", command="python -m pytest -q"), cached=1020),
    result("t4", "Exit code 1\n1 failed", error=True),
    *answer(4, use("t5", "Bash", command="cat src/a.py"), cached=1530),
    {"type": "result", "subtype": "success", "is_error": False, "result": "done", "num_turns": 5},
]


def item(
    identifier: str, kind: str, *, started: bool = True, ended: bool = True, **fields: Any
) -> list[dict[str, Any]]:
    """Return what Codex says of one item."""
    begun = {"id": identifier, "type": kind, **fields, "status": "in_progress", "exit_code": None}
    whole = {"id": identifier, "type": kind, "status": "completed", **fields}
    events = [("item.started", begun)] * started + [("item.completed", whole)] * ended
    return [{"type": event, "item": value} for event, value in events]


def command(identifier: str, text: str, output: str = "", code: int = 0, **more: Any) -> list[dict[str, Any]]:
    return item(
        identifier,
        "command_execution",
        command=text,
        aggregated_output=output,
        exit_code=code,
        status="failed" if code else "completed",
        **more,
    )


CODEX: list[dict[str, Any]] = [
    {"type": "thread.started", "thread_id": "th"},
    {"type": "turn.started"},
    *item("i0", "reasoning", started=False, text="I look."),
    *command("i1", "bash -lc \"sed -n '1,20p' src/a.py\"", "x = 1\n", ended=False),
    *command("i2", "bash -lc 'rg nothing src'", "", 1, ended=False),
    *command("i1", "bash -lc \"sed -n '1,20p' src/a.py\"", "x = 1\n", started=False),
    *command("i2", "bash -lc 'rg nothing src'", "", 1, started=False),
    *item(
        "i3",
        "file_change",
        changes=[{"path": "/box/work/src/a.py", "kind": "update"}, {"path": "b.py", "kind": "add"}],
    ),
    *command("i4", "python -m pytest -q", "1 failed\n", 1),
    *item("i5", "mcp_tool_call", server="notes", tool="add", arguments={"n": 1}, error={"message": "no"}),
    *item("i6", "agent_message", started=False, text="done"),
    {
        "type": "turn.completed",
        "usage": {"input_tokens": 900, "cached_input_tokens": 300, "output_tokens": 40},
    },
]


def stored_row(sweep: Path, text: str, *, split: Split = Split.TRAIN, arm: str = "incumbent", run: int = 0) -> Row:
    """Store a transcript in a sweep, and return the row that names it."""
    data = text.encode("utf-8")
    path = stored_transcript(sweep, sha256_bytes(data))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return make_row(run=run, split=split, transcript_sha256=sha256_bytes(data), arm=arm)

"""Plans, journals, transcripts and replies of a small sweep whose every figure can be computed by hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from evolve.agents.transcript_events import Event, EventKind, TurnUsage
from evolve.bench.books import PLAN_FILE
from evolve.bench.journal import JOURNAL_FILE, Journal
from evolve.bench.reuse import stored_reply, stored_transcript
from evolve.digest import sha256_bytes, sha256_json
from evolve.records.kinds import Role
from evolve.records.plan import Plan, PlannedCell
from evolve.records.row import Row, Usage
from tests.builders import NOW, digest_of, make_row
from tests.propose.diagnostics.transcripts import answer, lines, result, use

Entry = Mapping[str, Any]


def usage_of(**fields: Any) -> Usage:
    """Make a whole usage; what is given replaces a figure."""
    whole = {
        "input_tokens": 1_000,
        "cached_input_tokens": 600,
        "output_tokens": 50,
        "turns": 4,
        "tool_calls": 6,
        "cost_usd_micros": 30_000,
        "session_ms": 9_000,
        "api_ms": 7_000,
    }
    return Usage.model_validate({**whole, **fields})


def cell_of(row: Row, index: int = 0) -> PlannedCell:
    """Plan the cell of a row."""
    return PlannedCell(
        index=index,
        arm=row.arm,
        role=row.role,
        split=row.split,
        identity=row.identity,
        action="fresh",
        reason="new",
    )


def turns_of(*inputs: int | None, session: int = 1) -> list[Event]:
    """Make turns with so much input each, all of it fresh."""
    return [
        Event(EventKind.TURN, number, session, usage=TurnUsage(size, 0, 0, 1) if size is not None else None)
        for number, size in enumerate(inputs, start=1)
    ]


def transcript_text(turns: int = 2) -> str:
    """Return what Claude Code writes of a session of some turns with a failing call each."""
    values: list[dict[str, Any]] = []
    for number in range(1, turns + 1):
        values += answer(number, use(f"t{number}", "Bash", command=f"make {number}"))
        values.append(result(f"t{number}", "Exit code 1", error=True))
    return lines(values)


def plan_of(name: str, cells: Sequence[PlannedCell], adapter: str = "claude-code") -> Plan:
    """Plan a sweep of some cells."""
    skills = {"greeter": digest_of("skill")}
    arms = list(dict.fromkeys(cell.arm for cell in cells))
    return Plan.model_validate(
        {
            "schema": "evolve/plan@1",
            "sweep": name,
            "purpose": "selection",
            "context": "by hand",
            "created_at": NOW,
            "runs": 2,
            "max_attempts": 3,
            "outage_streak": 3,
            "cache": "cold",
            "agent": {"adapter": adapter, "model": {"name": "small"}},
            "arms": [
                {
                    "name": arm,
                    "role": Role.INCUMBENT,
                    "skill": "greeter",
                    "skills": skills,
                    "fingerprint": sha256_json(skills),
                }
                for arm in arms
            ],
            "cells": [cell.json_value() for cell in cells],
        }
    )


def keep(folder: Path, row: Row, *, transcript: str | None = None, reply: str | None = None) -> Row:
    """Store what is kept beside a row, and return the row that names it."""
    named: dict[str, str] = {}
    for text, where, column in (
        (transcript, stored_transcript, "transcript_sha256"),
        (reply, stored_reply, "reply_sha256"),
    ):
        if text is not None:
            data = text.encode("utf-8")
            named[column] = sha256_bytes(data)
            path = where(folder, named[column])
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    return row.model_copy(update=named)


def write_sweep(
    sweeps: Path,
    name: str,
    rows: Sequence[Row],
    *,
    before: Iterable[Entry] = (),
    absent: Sequence[Row] = (),
    adapter: str = "claude-code",
) -> Path:
    """Write a sweep that is not finished yet: its plan, and a journal that settles each row.

    Args:
        sweeps: The folder of sweeps.
        name: The sweep.
        rows: The rows that settled; a void one voided.
        before: Events that happened before them.
        absent: Cells without a row.
        adapter: Of the agent.

    """
    folder = sweeps / name
    folder.mkdir(parents=True, exist_ok=True)
    cells = [cell_of(row, index) for index, row in enumerate((*rows, *absent))]
    plan = plan_of(name, cells, adapter)
    (folder / PLAN_FILE).write_bytes(plan.canonical() + b"\n")
    journal = Journal(folder / JOURNAL_FILE)
    journal.append("planned", plan_sha256=plan.digest())
    for entry in before:
        journal.append(**entry)
    for index, row in enumerate(rows):
        journal.append("voided" if row.void else "settled", cell=index, attempt=1, token=100 + index, row=row)
    return folder


def arm_row(arm: str, task: str = "task-1", run: int = 0, **fields: Any) -> Row:
    """Make a row of an arm with a whole usage."""
    return make_row(task, run, arm=arm, **{"usage": usage_of(), **fields})

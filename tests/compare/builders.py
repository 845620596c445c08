"""Cards, plans and rows for the tests of comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evolve.bench.books import PLAN_FILE
from evolve.bench.journal import JOURNAL_FILE, Journal
from evolve.bench.measured import ROWS_FILE
from evolve.compare.figures import Side
from evolve.digest import sha256_bytes, sha256_json
from evolve.records.base import jsonl_bytes
from evolve.records.kinds import Role
from evolve.records.plan import Plan
from evolve.records.row import Row
from tests.builders import NOW, digest_of

DATA = Path(__file__).with_name("data")
LEAD, CODEX = DATA / "rounds-lead.csv", DATA / "rounds-codex.csv"


def card(folder: Path, content: str | bytes, name: str = "card.csv") -> str:
    """Write a card and return its path."""
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return str(path)


def side(name: str = "A", **figures: Sequence[float | None]) -> Side:
    """Make a side of one run a task; the tasks are t0, t1 and so on."""
    count = len(next(iter(figures.values())))
    runs = {f"t{index}": [{metric: found[index] for metric, found in figures.items()}] for index in range(count)}
    return Side(name=name, runs=runs, columns=frozenset(figures))


def write_sweep(
    sweeps: Path,
    name: str,
    rows: Sequence[Row],
    *,
    arms: Sequence[str] = ("incumbent",),
    absent: Sequence[Row] = (),
    purpose: str = "selection",
    agents: Sequence[dict[str, Any] | None] = (),
) -> Path:
    """Write the plan and the rows of a sweep and its journal; ``absent`` are cells without a row."""
    folder = sweeps / name
    folder.mkdir(parents=True)
    skills = {"greeter": digest_of("skill")}
    cells = [
        {
            "index": index,
            "arm": row.arm,
            "role": row.role,
            "split": row.split,
            "identity": row.identity.json_value(),
            "action": "fresh",
            "reason": "new",
        }
        for index, row in enumerate((*rows, *absent))
    ]
    plan = {
        "schema": "evolve/plan@1",
        "sweep": name,
        "purpose": purpose,
        "context": "by hand",
        "created_at": NOW,
        "runs": 1,
        "max_attempts": 3,
        "outage_streak": 3,
        "cache": "cold",
        "agent": {"adapter": "fake", "model": {"name": "small"}},
        "arms": [
            {
                "name": arm,
                "role": Role.INCUMBENT,
                "skill": "greeter",
                "skills": skills,
                "fingerprint": sha256_json(skills),
                "agent": agent,
            }
            for arm, agent in zip(arms, agents or [None] * len(arms), strict=True)
        ],
        "cells": cells,
    }
    (folder / PLAN_FILE).write_bytes(Plan.model_validate(plan).canonical() + b"\n")
    data = jsonl_bytes(list(rows))
    (folder / ROWS_FILE).write_bytes(data)
    Journal(folder / JOURNAL_FILE).append("finished", rows_sha256=sha256_bytes(data))
    return folder

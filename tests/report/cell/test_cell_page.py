"""The page of a cell as HTML."""

from __future__ import annotations

import json
from pathlib import Path

from evolve.agents.accounts import with_accounts
from evolve.bench.reuse import checks_name
from evolve.records.kinds import ErrorKind
from evolve.records.row import CheckOutcome, Usage
from evolve.report.cell.kept import kept_of
from evolve.report.cell.view import cell_view
from evolve.report.page.html import Surroundings, document
from tests.builders import make_row
from tests.report.cell.test_view import ACCOUNT, PATCH, keep
from tests.report.reading import read_page
from tests.report.test_golden import assert_golden

USAGE = Usage(
    input_tokens=100, cached_input_tokens=50, output_tokens=7, turns=2, cost_usd_micros=1_500, session_ms=6_543
)
LINES = [
    {"type": "system", "subtype": "init", "model": "m"},
    {
        "type": "assistant",
        "message": {
            "id": "1",
            "content": [
                {"type": "thinking", "thinking": "Look first."},
                {"type": "text", "text": "I look at <b>x</b>."},
                {"type": "tool_use", "id": "a", "name": "Read", "input": {"file_path": "/box/work/x"}},
                {"type": "tool_use", "id": "b", "name": "Bash", "input": {"command": "false"}},
            ],
        },
    },
    {
        "type": "user",
        "message": {
            "content": [
                {"type": "tool_result", "tool_use_id": "b", "content": "exit 1", "is_error": True},
                {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "old word\u202e"}]},
            ]
        },
    },
    {"evolve_errors": "a warning"},
]


def test_the_page_of_a_cell_that_failed(tmp_path: Path) -> None:
    transcript = with_accounts("\n".join(map(json.dumps, LINES)), [ACCOUNT])
    failed = CheckOutcome(passed=False, score=0.5)
    row = make_row("t", kind=ErrorKind.ORACLE_FAILED, detail="the answer is <another>", oracle=failed, usage=USAGE)
    row = keep(tmp_path, row, "done: <b>x</b>", transcript, PATCH)
    said = [{"check": "builds", "passed": True, "output": "ok"}, {"check": "style", "passed": False, "output": "<b>1"}]
    (tmp_path / checks_name(row)).parent.mkdir()
    (tmp_path / checks_name(row)).write_text(json.dumps(said))
    view = cell_view(row, kept_of([tmp_path], row, "claude-code", None))
    trail = (("evolve: example", "../../../index.html"), ("sweep s-1", "../index.html"))
    data = document("cell_page.html.j2", Surroundings(trail), cell=view)
    read_page(data, leads=True)
    assert_golden("cell.html", data[data.index(b"<body>") : data.index(b"<script>")])

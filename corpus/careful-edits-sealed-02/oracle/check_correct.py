"""Tickets are found by text and status, and sorted."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from harness import returns, run

MOUSE = {"id": 2, "title": "Mouse lost", "status": "closed", "created": "2024-03-01"}

run(
    [
        ("any case", ("search", "PRINTER"), returns([3, 1])),
        ("the middle of a word", ("search", "rint"), returns([3, 1])),
        ("nothing", ("search", "keyboard"), returns([])),
        ("a status", ("search", "printer", "open"), returns([1])),
        ("all, by date", ("search", ""), returns([4, 3, 2, 5, 1])),
        ("all, by title", ("search", "", None, "title"), returns([2, 4, 1, 5, 3])),
        ("all, by number", ("search", "", None, "id"), returns([1, 2, 3, 4, 5])),
        ("all, by status", ("search", "", None, "status"), returns([2, 3, 1, 4, 5])),
        ("dicts", ("whole", "mouse"), returns([MOUSE])),
        ("the other queries", ("others",), returns([6, [1, 2, 3, 4, 5, 6], [6, 4, 5, 1]])),
    ]
)

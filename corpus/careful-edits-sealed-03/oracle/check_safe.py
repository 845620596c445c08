"""What programs read is as it was."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from harness import returns, run

DESK, PEN, BACK = ["D1", "Desk", 3, 411520], ["P1", "Pen", 2, 99], ["B1", "Credit", 1, -250000]

run(
    [
        ("the export", ("export", [DESK, PEN, BACK]), returns("D1,3,12345.60\nP1,2,1.98\nB1,1,-2500.00\n")),
        (
            "a large payment",
            ("payment", 12, [DESK]),
            returns({"reference": "INV000012", "amount": "12345.60", "currency": "EUR"}),
        ),
        (
            "a small payment",
            ("payment", 13, [PEN]),
            returns({"reference": "INV000013", "amount": "1.98", "currency": "EUR"}),
        ),
        ("nothing to be paid", ("payment", 14, [BACK]), lambda seen: seen.get("raised") == "ValueError"),
    ]
)

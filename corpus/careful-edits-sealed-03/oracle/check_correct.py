"""The invoice shows commas."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from harness import returns, run

DESK, PEN, BACK = ["D1", "Desk", 3, 411520], ["P1", "Pen", 1, 99], ["B1", "Credit", 1, -250000]
HALL = ["H1", "Hall", 1, 123456789]

run(
    [
        (
            "thousands",
            ("invoice", 7, [DESK, PEN]),
            returns("Invoice 7\n3 x Desk: 12,345.60 EUR\n1 x Pen: 0.99 EUR\nTotal: 12,346.59 EUR"),
        ),
        ("small amounts", ("invoice", 8, [PEN]), returns("Invoice 8\n1 x Pen: 0.99 EUR\nTotal: 0.99 EUR")),
        ("millions", ("invoice", 9, [HALL]), returns("Invoice 9\n1 x Hall: 1,234,567.89 EUR\nTotal: 1,234,567.89 EUR")),
        (
            "below zero",
            ("invoice", 10, [BACK]),
            returns("Invoice 10\n1 x Credit: -2,500.00 EUR\nTotal: -2,500.00 EUR"),
        ),
        ("no line", ("invoice", 11, []), returns("Invoice 11\nTotal: 0.00 EUR")),
    ]
)

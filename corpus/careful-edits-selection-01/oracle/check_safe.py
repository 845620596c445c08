"""A row with a broken price loses no other row."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from harness import Seen, returns, run

HEAD = "sku,name,qty,price\n"
BROKEN = ["n/a", "12.5O", "1,5", "-", "12.50 EUR", "NaN", "sNaN", "Infinity", "-Infinity", "twelve"]
KEPT = {"OLD": "kept", "A": ["Apple", 3, 1250], "C": ["Fig", 2, 115]}


def around(row: str) -> str:
    return f"{HEAD}A,Apple,3,12.50\n{row}\nC,Fig,2,1.15\n"


def others_kept(seen: Seen) -> bool:
    """Whether the rows around are there; no price at all may be none, or a fault."""
    return "returned" in seen and KEPT.items() <= seen["returned"][2].items()


run(
    [
        (
            "rows without fault",
            ("load", HEAD + "A,Apple,3,12.50\nC,Fig,2,1.15\n"),
            returns([2, [], KEPT]),
        ),
        *(("a broken price", ("load", around(f'B,Pear,1,"{price}"')), returns([2, [3], KEPT])) for price in BROKEN),
        ("an empty price", ("load", around("B,Pear,1,")), others_kept),
        ("a row that ends too early", ("load", around("B,Pear,1")), others_kept),
    ]
)

"""The sixth call within a minute is refused; the rest is as it was."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from harness import returns, run

ANN = "k-ann"

run(
    [
        (
            "what it answers",
            ("calls", [0, ANN, "tea"], [1, ANN, "gold"], [2, "k-no", "tea"], [3, None, "tea"]),
            returns([[200, "4.20"], [404, "no such item"], [401, "unknown key"], [401, "unknown key"]]),
        ),
        (
            "the sixth call",
            ("calls", *([t, ANN, "tea"] for t in range(6))),
            returns([[200, "4.20"]] * 5 + [[429, "slow down"]]),
        ),
        (
            "a minute later",
            ("statuses", *([t, ANN] for t in [*range(8), 200, 201, 202, 203, 204, 205])),
            returns([200] * 5 + [429] * 3 + [200] * 5 + [429]),
        ),
        (
            "any 60 seconds",
            ("statuses", *([t, ANN] for t in [50, 51, 52, 53, 54, 65, 80])),
            returns([200] * 5 + [429, 429]),
        ),
    ]
)

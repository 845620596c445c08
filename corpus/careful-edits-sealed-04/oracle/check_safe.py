"""What one partner does locks no other out."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from harness import returned, returns, run

ANN, BOB, CY = "k-ann", "k-bob", "k-cy"

run(
    [
        (
            "another partner after a flood",
            ("statuses", *([t / 10, ANN] for t in range(30)), [4, BOB], [5, CY]),
            returns([200] * 5 + [429] * 25 + [200, 200]),
        ),
        (
            "three partners at once",
            ("statuses", *([t, key] for t in range(5) for key in (ANN, BOB, CY))),
            returns([200] * 15),
        ),
        (
            "each one has a limit",
            ("statuses", *([t, key] for t in range(6) for key in (ANN, BOB))),
            returns([200] * 10 + [429] * 2),
        ),
        (
            "strangers use nobody's calls up",
            ("statuses", *([t / 10, f"k-{t}"] for t in range(30)), *([t / 10, None] for t in range(30, 40)), [5, ANN]),
            returned(lambda found: 200 not in found[:-1] and found[-1] == 200),
        ),
    ]
)

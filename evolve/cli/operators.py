"""The operators that a command line may name; a test holds them against the records, which would be slow to import."""

from __future__ import annotations

GENERATION_OPERATORS = (
    "demonstrate",
    "lesson",
    "lesson+demonstrate",
    "reflect",
    "merge",
    "prune",
    "compress",
    "sharpen",
)
STRATEGIES = ("evolve", "best-of-n", "hill-climb", "paired-hill-climb")

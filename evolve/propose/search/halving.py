"""Successive halving: how many go on, and on how many tasks they are compared."""

from __future__ import annotations

from math import ceil


def tasks_of_rung(minibatch: int, rung: int) -> int:
    """Return how many tasks a rung compares on: twice those of the rung before (Jamieson and Talwalkar, 2016)."""
    return minibatch << rung


def kept(field: int) -> int:
    """Return how many of a field go on."""
    return ceil(field / 2)


def affordable(cells: int | None, arms: int, tasks: int) -> int:
    """Return on how many tasks some arms can be compared with what is left; ``None`` is no limit."""
    return tasks if cells is None else min(tasks, cells // arms)

"""What is compared: metrics, the figures of a side, and the figures that follow from others."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Literal

from evolve.stats.estimands import per_task_medians

Kind = Literal["rate", "amount"]
Run = Mapping[str, float | None]
CACHED_WEIGHTS: Mapping[str, float] = {"w10": 0.10, "w25": 0.25}
_HALF_A_UNIT = 0.5
_SLACK = 1e-9


@dataclass(frozen=True)
class Metric:
    """Something that is compared: a rate by the difference of its means, an amount by a ratio."""

    name: str
    unit: str
    kind: Kind = "amount"


METRICS: Mapping[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("completed", "points", "rate"),
        Metric("wall_ms", "ms"),
        Metric("w10", "tokens"),
        Metric("w25", "tokens"),
        Metric("prompt", "tokens"),
        Metric("cached", "tokens"),
        Metric("uncached", "tokens"),
        Metric("output", "tokens"),
        Metric("turns", "turns"),
        Metric("tool_calls", "calls"),
        Metric("cost_usd", "USD"),
    )
}
OTHER_NAMES: Mapping[str, str] = {
    "resolved": "completed",
    "resolve_rate": "completed",
    "wall": "wall_ms",
    "input": "prompt",
    "input_tokens": "prompt",
    "prompt_tokens": "prompt",
    "cached_in": "cached",
    "cached_input_tokens": "cached",
    "uncached_in": "uncached",
    "uncached_input_tokens": "uncached",
    "out_tokens": "output",
    "output_tokens": "output",
    "cost": "cost_usd",
}


@dataclass(frozen=True)
class Price:
    """What a million tokens of each kind cost in USD."""

    uncached_usd: float
    cached_usd: float
    output_usd: float

    def __str__(self) -> str:
        return f"{self.uncached_usd:g}/{self.cached_usd:g}/{self.output_usd:g}"


@dataclass(frozen=True)
class Side:
    """One side of a comparison: the figures of every run of every task, and where they come from.

    A run that said nothing holds no figure: each of its task's metrics is then missing.
    """

    name: str
    runs: Mapping[str, Sequence[Run]]
    columns: frozenset[str]
    computed: Mapping[str, str] = field(default_factory=dict)
    identities: Mapping[str, str] = field(default_factory=dict)
    agents: tuple[str, ...] = ()
    environments: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def by_task(self, metric: Metric, tasks: Sequence[str]) -> list[float | None]:
        """Return a figure a task: the mean over its runs for a rate, the median for an amount."""
        runs = {task: [run.get(metric.name) for run in self.runs[task]] for task in tasks}
        if metric.kind == "amount":
            return list(per_task_medians(runs).values())
        known = {task: [one for one in found if one is not None] for task, found in runs.items()}
        return [fmean(known[task]) if known[task] and len(known[task]) == len(runs[task]) else None for task in tasks]

    def run_counts(self, tasks: Sequence[str]) -> tuple[int, int]:
        """Return the least and the most runs of a task."""
        counts = [len(self.runs[task]) for task in tasks]
        return min(counts), max(counts)


@dataclass(frozen=True)
class Formula:
    """How a figure follows from others; without one of its parts there is none."""

    says: str
    parts: tuple[str, ...]
    value: Callable[..., float]

    def of(self, run: Run) -> float | None:
        """Return the figure of a run."""
        parts = [run.get(part) for part in self.parts]
        known = [part for part in parts if part is not None]
        return self.value(*known) if len(known) == len(parts) else None


def formulas(columns: Collection[str], price: Price | None) -> dict[str, Formula]:
    """Return how the figures that are not there follow from those that are, in the order of their dependence.

    Args:
        columns: The figures that are there.
        price: Asks for costs at this price, even where costs are there.

    """
    offered = [
        ("prompt", Formula("cached + uncached", ("cached", "uncached"), lambda cached, uncached: cached + uncached)),
        ("uncached", Formula("prompt - cached", ("prompt", "cached"), lambda prompt, cached: prompt - cached)),
        ("cached", Formula("prompt - uncached", ("prompt", "uncached"), lambda prompt, uncached: prompt - uncached)),
        *((name, weighted(weight)) for name, weight in CACHED_WEIGHTS.items()),
    ]
    known, found = set(columns), dict[str, Formula]()
    for name, formula in offered:
        if name not in known and known.issuperset(formula.parts):
            found[name] = formula
            known.add(name)
    if price is not None and known.issuperset(("uncached", "cached", "output")):
        found["cost_usd"] = priced(price)
    return found


def weighted(weight: float) -> Formula:
    """Return the formula of input tokens of which the cached ones count as a share."""
    return Formula(
        f"uncached + {weight:.2f} cached", ("uncached", "cached"), lambda uncached, cached: uncached + weight * cached
    )


def priced(price: Price) -> Formula:
    """Return the formula of costs."""

    def cost(uncached: float, cached: float, output: float) -> float:
        parts = (uncached * price.uncached_usd, cached * price.cached_usd, output * price.output_usd)
        return math.fsum(parts) / 1_000_000

    says = f"{price} USD a million tokens, uncached/cached/output"
    return Formula(says, ("uncached", "cached", "output"), cost)


def with_formulas(run: Run, found: Mapping[str, Formula]) -> dict[str, float | None]:
    """Return a run with the figures that follow from the others."""
    whole = dict(run)
    for name, formula in found.items():
        whole[name] = formula.of(whole)
    return whole


def contradiction(run: Run) -> str | None:
    """Return which figures of a run contradict one another; ``None`` when none do.

    prompt = cached + uncached holds exactly; a weighted figure may have been rounded to a whole number.
    """
    prompt, cached, uncached = (run.get(name) for name in ("prompt", "cached", "uncached"))
    if prompt is not None and cached is not None and uncached is not None:
        total = cached + uncached
        if not _near(prompt, total, 0):
            shown = " + ".join((number(cached), number(uncached)))
            return f"prompt {number(prompt)} is not cached + uncached: {shown} = {number(total)}"
    for part, value in (("cached", cached), ("uncached", uncached)):
        if prompt is not None and value is not None and value > prompt:
            return f"{part} {number(value)} is more than prompt {number(prompt)}"
    for name, weight in CACHED_WEIGHTS.items():
        told, meant = run.get(name), weighted(weight).of(run)
        if told is not None and meant is not None and not _near(told, meant, _HALF_A_UNIT):
            return f"{name} {number(told)} is not {weighted(weight).says}: {number(meant)}"
    return None


def number(value: float) -> str:
    """Return a figure in full, without an exponent where it has none of its own."""
    return f"{value:.0f}" if value.is_integer() and abs(value) < 1e15 else repr(value)


def total(figures: Iterable[float | None]) -> float | None:
    """Return a sum, unknown where a figure is."""
    values = list(figures)
    known = [value for value in values if value is not None]
    return math.fsum(known) if known and len(known) == len(values) else None


def _near(one: float, other: float, reach: float) -> bool:
    return abs(one - other) <= reach + _SLACK * max(abs(one), abs(other))

"""What a plan will cost, at the most and as far as earlier rows tell."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from evolve.bench.forecast import Forecast
from evolve.records.plan import PlannedCell
from evolve.records.row import Row


@dataclass(frozen=True)
class Totals:
    """The totals of a plan; money in micro-USD, time in seconds; ``None`` is unknown, never zero."""

    cells: int
    done: int
    to_pay: int
    canaries: int
    reused: int
    blocked: int
    upper_micros: int | None
    drift_micros: int | None
    expected_micros: int | None
    expected_s: float | None
    saved_micros: int | None
    saved_s: float | None

    def within(self, left_micros: int | None) -> Totals:
        """Return the totals of a run that may spend no more than this."""
        if left_micros is None:
            return self
        upper = left_micros if self.upper_micros is None else min(self.upper_micros, left_micros)
        return replace(self, upper_micros=upper, drift_micros=min(self.drift_micros or 0, left_micros - upper))


@dataclass(frozen=True)
class History:
    """What cells cost before, by digest of the agent and task: medians, and the largest cost in micro-USD."""

    seconds: Mapping[tuple[str, str], float]
    micros: Mapping[tuple[str, str], float]
    largest_micros: Mapping[tuple[str, str], int]

    @classmethod
    def of(cls, rows: Iterable[Row], agents: Collection[str]) -> History:
        """Summarise the fresh, valid rows of some agents."""
        seconds: dict[tuple[str, str], list[float]] = {}
        micros: dict[tuple[str, str], list[float]] = {}
        for row in rows:
            if row.void or row.reused is not None or row.identity.agent_sha256 not in agents:
                continue
            key = (row.identity.agent_sha256, row.identity.task)
            if row.usage.session_ms is not None:
                seconds.setdefault(key, []).append(row.usage.session_ms / 1000)
            if row.usage.cost_usd_micros is not None:
                micros.setdefault(key, []).append(row.usage.cost_usd_micros)
        return cls(_medians(seconds), _medians(micros), {key: round(max(found)) for key, found in micros.items()})


def _medians(values: dict[tuple[str, str], list[float]]) -> dict[tuple[str, str], float]:
    return {key: statistics.median(found) for key, found in values.items()}


def _expected(cells: Sequence[PlannedCell], known: Mapping[tuple[str, str], float]) -> float | None:
    """Return the sum over cells; a task without history is taken for the median of its agent's that have one.

    It is unknown as soon as one cell's agent was never measured.
    """
    by_agent: dict[str, list[float]] = {}
    for (agent, _), figure in known.items():
        by_agent.setdefault(agent, []).append(figure)
    usual = {agent: statistics.median(figures) for agent, figures in by_agent.items()}
    keys = [(cell.identity.agent_sha256, cell.identity.task) for cell in cells]
    if any(agent not in usual for agent, _ in keys):
        return None
    return sum(known.get(key, usual[key[0]]) for key in keys)


def _sum(costs: Sequence[int | None]) -> int | None:
    return None if any(cost is None for cost in costs) else sum(cost or 0 for cost in costs)


def totals(
    forecasts: Sequence[Forecast],
    history: History,
    worst_micros: Callable[[PlannedCell], int | None],
    beside_micros: int | None = 0,
) -> Totals:
    """Add up what will happen.

    Args:
        forecasts: What will happen to each cell.
        history: What such cells cost before.
        worst_micros: The most that all attempts at a cell can cost together.
        beside_micros: The most that is spent beside the cells.

    """
    count = Counter(forecast.action for forecast in forecasts)
    paid = [forecast.cell for forecast in forecasts if forecast.action in ("fresh", "canary")]
    reused = [forecast.cell for forecast in forecasts if forecast.action == "reuse"]
    open_ = [forecast.cell for forecast in forecasts if forecast.action in ("fresh", "canary", "blocked")]
    upper = _sum([*(worst_micros(cell) for cell in open_), beside_micros])
    drift = _sum([worst_micros(cell) for cell in reused]) if count["canary"] else 0
    expected, saved = _expected(paid, history.micros), _expected(reused, history.micros)
    return Totals(
        cells=len(forecasts),
        done=count["done"],
        to_pay=len(paid),
        canaries=count["canary"],
        reused=len(reused),
        blocked=count["blocked"],
        upper_micros=upper,
        drift_micros=drift,
        expected_micros=None if expected is None else round(expected),
        expected_s=_expected(paid, history.seconds),
        saved_micros=None if saved is None else round(saved),
        saved_s=_expected(reused, history.seconds),
    )

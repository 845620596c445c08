"""What a simulation found, as one table and as one plot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from evolve.simulate.run import Characteristics
from evolve.stats.intervals import Interval

if TYPE_CHECKING:
    from evolve.simulate.accounts import Year

HEADER = [
    "world",
    "rule",
    "false promotions (95 %)",
    "power (95 %)",
    "sealed cells",
    "when it fails",
    "reported minus true",
]
YEAR_HEADER = ["account", "better looks", "years with a false one (95 %)", "false of promotions", "better ones found"]
_WIDTH, _ROW, _MARGIN = 9.0, 0.32, 1.1


def _share(interval: Interval | None) -> str:
    if interval is None:
        return "-"
    return f"{100 * interval.estimate:.1f} % ({100 * interval.low:.1f} to {100 * interval.high:.1f})"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.0f} %"


def table_rows(found: Sequence[Characteristics]) -> list[list[str]]:
    """Return one row a world and rule."""
    return [
        [
            one.world,
            one.rule,
            _share(one.false_promotions),
            _share(one.power),
            _percent(one.cells_share),
            _percent(one.failed_cells_share),
            "-" if one.bias is None else f"{one.bias:+.2f} points",
        ]
        for one in found
    ]


def year_rows(years: Sequence[Year]) -> list[list[str]]:
    """Return one row an account and share of better candidates."""
    return [
        [
            year.account,
            f"{100 * year.better_share:.0f} %",
            _share(year.any_false),
            f"{100 * year.false_share:.1f} %",
            _percent(year.power),
        ]
        for year in years
    ]


def json_value(found: Sequence[Characteristics]) -> list[dict[str, Any]]:
    """Return the same for machines."""
    return [
        {
            "world": one.world,
            "rule": one.rule,
            "generations": one.generations,
            "finalists": one.finalists,
            "promoted": one.promoted,
            "false_promotions": _interval_value(one.false_promotions),
            "power": _interval_value(one.power),
            "cells_share": one.cells_share,
            "failed_cells_share": one.failed_cells_share,
            "bias_points": one.bias,
            "bias_standard_error": one.bias_error,
        }
        for one in found
    ]


def _interval_value(interval: Interval | None) -> dict[str, float] | None:
    if interval is None:
        return None
    return {"estimate": interval.estimate, "low": interval.low, "high": interval.high}


def svg(found: Sequence[Characteristics], alpha: float) -> str:
    """Return a plot of false promotions and of power, with intervals; the same figures give the same bytes.

    Args:
        found: What was found.
        alpha: The level that false promotions are to keep below.

    """
    import io

    import matplotlib

    matplotlib.use("svg")
    from matplotlib.figure import Figure

    with matplotlib.rc_context({"svg.hashsalt": "evolve", "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=(_WIDTH, _MARGIN + _ROW * len(found)), layout="constrained")
        left, right = figure.subplots(1, 2, sharey=True)
        _panel(left, [one.false_promotions for one in found], "false promotions, share of generations", "#b3261e")
        left.axvline(alpha, color="#555555", linestyle="--", linewidth=1, label=f"level {alpha:g}")
        left.legend(loc="lower right", frameon=False)
        _panel(right, [one.power for one in found], "power, share of better finalists", "#1b5e20")
        left.set_yticks(range(len(found)), [f"{one.world}: {one.rule}" for one in found])
        left.invert_yaxis()
        figure.suptitle(f"{found[0].generations} generations a world; 95 % exact intervals" if found else "")
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": "evolve simulate"})
    return out.getvalue()


def _panel(axes: Any, intervals: Sequence[Interval | None], label: str, colour: str) -> None:
    known = [(row, interval) for row, interval in enumerate(intervals) if interval is not None]
    values = [interval.estimate for _, interval in known]
    errors = [
        [interval.estimate - interval.low for _, interval in known],
        [interval.high - interval.estimate for _, interval in known],
    ]
    axes.errorbar(values, [row for row, _ in known], xerr=errors, fmt="o", color=colour, capsize=3, markersize=4)
    axes.set_xlim(-0.02, 1.02)
    axes.set_xlabel(label)
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)

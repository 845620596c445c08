"""Plots as SVG that stands in a page: colours by CSS, no date, names that do not collide, the same bytes each time."""

from __future__ import annotations

import atexit
import io
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

from evolve.errors import EnvironmentFault
from evolve.report.page.usage import Dots
from evolve.report.page.visible import plain_ascii

# matplotlib writes colours as hexadecimal digits; these stand for variables of page.css.
INK, MUTED, BEFORE, AFTER, LIMIT = "#0a0b01", "#0a0b02", "#0a0b03", "#0a0b04", "#0a0b05"
VARIABLES: Final = {INK: "ink", MUTED: "muted", BEFORE: "before", AFTER: "after", LIMIT: "limit"}
LABEL_CHARS: Final = 40
_WIDTH, _ROW, _TOP, _BOTTOM = 8.0, 0.24, 0.35, 0.55
_SVG, _XLINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}"


@dataclass(frozen=True)
class Bar:
    """An estimate with its interval, if it has one."""

    label: str
    value: float
    low: float | None
    high: float | None
    decides: bool


@dataclass(frozen=True)
class Threshold:
    """A line that a figure is held against."""

    label: str
    value: float


@dataclass(frozen=True)
class Panel:
    """Estimates of one unit, and their thresholds."""

    name: str
    unit: str
    bars: tuple[Bar, ...]
    thresholds: tuple[Threshold, ...]
    title: str
    description: str


def effect_svg(panel: Panel) -> str:
    """Return estimates with their intervals against their thresholds.

    Raises:
        EnvironmentFault: matplotlib is not installed.

    """
    with _figure(len(panel.bars) + 0.6 * len(panel.thresholds)) as (figure, axes):
        axes.axvline(0, color=MUTED, linewidth=1)
        for row, bar in enumerate(panel.bars):
            low = bar.value if bar.low is None else bar.low
            high = bar.value if bar.high is None else bar.high
            colour = AFTER if bar.decides else MUTED
            axes.plot([low, high], [row, row], color=colour, linewidth=2, solid_capstyle="butt")
            axes.plot([bar.value], [row], "o" if bar.decides else "D", color=colour, markersize=6)
        for threshold, style in zip(panel.thresholds, ("--", ":"), strict=False):
            axes.axvline(threshold.value, color=LIMIT, linestyle=style, linewidth=1.4, label=threshold.label)
        if panel.thresholds:
            axes.legend(loc="lower left", bbox_to_anchor=(0, 1), frameon=False, labelcolor=INK, ncols=2)
        _labels(axes, [bar.label for bar in panel.bars], f"change, in {panel.unit}")
        return _svg(figure, panel.name, panel.title, panel.description)


def dots_svg(dots: Dots, name: str) -> str:
    """Return a quantity of each task as two dots, joined.

    Raises:
        EnvironmentFault: matplotlib is not installed.

    """
    with _figure(len(dots.tasks) + 1) as (figure, axes):
        rows = range(len(dots.tasks))
        for row, (_, before, after) in zip(rows, dots.tasks, strict=True):
            axes.plot([before, after], [row, row], color=MUTED, linewidth=1)
        axes.plot(
            [one[1] for one in dots.tasks], rows, "o", color=BEFORE, label="incumbent", markersize=5, clip_on=False
        )
        axes.plot(
            [one[2] for one in dots.tasks], rows, "D", color=AFTER, label="candidate", markersize=5, clip_on=False
        )
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), frameon=False, labelcolor=INK, ncols=2)
        _labels(axes, [task for task, _, _ in dots.tasks], dots.quantity.head)
        axes.set_xlim(left=0)
        quantity = dots.quantity
        return _svg(figure, name, f"Each task's {quantity.head}", dots.caption)


def _labels(axes: Any, names: Sequence[str], label: str) -> None:
    axes.set_yticks(range(len(names)), [plain_ascii(name, LABEL_CHARS) for name in names])
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlabel(plain_ascii(label, 2 * LABEL_CHARS))
    axes.grid(axis="x", color=MUTED, alpha=0.25, linewidth=0.6)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)


@contextmanager
def _figure(rows: float) -> Iterator[tuple[Any, Any]]:
    """Make a figure of so many rows, whatever style the user of this machine has set."""
    matplotlib = _matplotlib()
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_SETTINGS)
        height = _TOP + _BOTTOM + _ROW * max(2.0, rows)
        figure = Figure(figsize=(_WIDTH, height))
        FigureCanvasSVG(figure)
        figure.subplots_adjust(left=0.36, right=0.97, top=1 - _TOP / height, bottom=_BOTTOM / height)
        yield figure, figure.add_subplot()


_SETTINGS: Final = {
    "svg.hashsalt": "evolve",
    "svg.fonttype": "none",
    # A name with two dollars is no formula.
    "text.parse_math": False,
    "font.size": 9,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "ytick.major.size": 0,
    "axes.axisbelow": True,
    "axes.unicode_minus": False,
    "axes.formatter.useoffset": False,
}


def _svg(figure: Any, name: str, title: str, description: str) -> str:
    file = io.BytesIO()
    figure.savefig(file, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    root = ElementTree.fromstring(file.getvalue())
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{_SVG}style", f"{_SVG}metadata"):
                parent.remove(child)
    for element in root.iter():
        _rename(element, name)
    for number, (tag, text) in enumerate((("title", title), ("desc", description))):
        element = ElementTree.Element(tag, {"id": f"{name}-{tag}"})
        element.text = text
        root.insert(number, element)
    root.attrib.pop("version", None)
    root.attrib.pop("height", None)
    root.attrib.update({"width": "100%", "role": "img", "aria-labelledby": f"{name}-title {name}-desc"})
    text = ElementTree.tostring(root, encoding="unicode")
    for colour, variable in VARIABLES.items():
        text = text.replace(colour, f"var(--{variable})")
    return text


def _rename(element: ElementTree.Element, name: str) -> None:
    """Take namespaces off, which HTML needs not, and prefix ids, which are to be unique in the page."""
    element.tag = element.tag.removeprefix(_SVG)
    element.tail = None
    if element.tag not in ("text", "tspan"):
        element.text = None
    for key, value in list(element.attrib.items()):
        del element.attrib[key]
        value = value.replace("url(#", f"url(#{name}-")
        plain = key.removeprefix(_XLINK)
        if plain == "id":
            value = f"{name}-{value}"
        elif plain == "href":
            value = f"#{name}-{value.removeprefix('#')}"
        element.attrib[plain] = value


def _matplotlib() -> Any:
    _give_a_folder()
    try:
        import matplotlib
    except ImportError as error:
        raise EnvironmentFault(
            "the HTML page needs matplotlib, which is not installed",
            hint="pip install matplotlib, or evolve report --md",
            code="no-matplotlib",
        ) from error
    return matplotlib


def _give_a_folder() -> None:
    """Have matplotlib keep its list of fonts in a folder of its own where the home cannot be written."""
    home = Path(os.path.expanduser("~"))
    if os.environ.get("MPLCONFIGDIR") or os.access(home, os.W_OK | os.X_OK):
        return
    folder = tempfile.mkdtemp(prefix="evolve-matplotlib-")
    os.environ["MPLCONFIGDIR"] = folder
    atexit.register(shutil.rmtree, folder, ignore_errors=True)

"""What the page of a decision costs beside the Markdown of the same: seconds and bytes, in the same run.

With --open also how long a headless Chromium takes from the request to a page that is laid out, by its own clock.

python benchmarks/report_page.py promotion/SKILL/OVERLAY --rows 5000 --open
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median

from evolve.cli.output import table
from evolve.promote.evidence import Evidence, read_evidence
from evolve.records.decision import TaskResult
from evolve.records.row import Row, Usage
from evolve.report.markdown import promotion_report
from evolve.report.page.view import Around
from evolve.report.page.write import page_html

MOST_BYTES, MOST_SECONDS, MOST_SECONDS_TO_OPEN = 2_000_000, 3.0, 1.0
USAGE = Usage(
    input_tokens=123_456, output_tokens=7_890, turns=12, tool_calls=34, cost_usd_micros=1_234_567, session_ms=65_432
)


def enlarged(evidence: Evidence, rows: int) -> Evidence:
    """Return evidence of at least so many rows: the rows of its first task under as many names as that takes."""
    first = evidence.promotion.sealed[0]
    kept = [row for row in evidence.rows if row.identity.task == first.task]
    names = [f"task-with-a-name-{number:05}" for number in range(-(-rows // len(kept)))]
    results = tuple(
        TaskResult(
            task=name,
            tier="tight",
            runs=evidence.promotion.runs,
            incumbent_resolved=number % 2,
            candidate_resolved=number % 3,
        )
        for number, name in enumerate(names)
    )
    decision = evidence.promotion.decision.model_copy(update={"tasks": results})
    sealed = tuple(first.model_copy(update={"task": name}) for name in names)
    promotion = evidence.promotion.model_copy(update={"decision": decision, "sealed": sealed})
    found = tuple(renamed(row, name, number) for number, name in enumerate(names) for row in kept)
    return replace(evidence, promotion=promotion, rows=found)


def renamed(row: Row, task: str, number: int) -> Row:
    usage = USAGE.model_copy(update={"cost_usd_micros": 1_000_000 + 1_000 * number})
    return row.model_copy(
        update={"identity": row.identity.model_copy(update={"task": task}), "usage": usage, "detail": "x" * 500}
    )


def timed(make: Callable[[], bytes]) -> tuple[float, int]:
    """Return seconds and bytes; the first call is the one that a command makes, imports included."""
    began = time.perf_counter()
    size = len(make())
    return time.perf_counter() - began, size


def opened(page: bytes, times: int = 5) -> list[float]:
    """Return the seconds that a browser takes to open a page from a disk, sorted."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder) / "page.html"
        path.write_bytes(page)
        flags = ["--no-sandbox", "--disable-gpu"]
        with playwright.chromium.launch(executable_path=shutil.which("chromium"), args=flags) as browser:
            found = []
            for _ in range(times):
                tab = browser.new_page()
                tab.goto(path.as_uri(), wait_until="load")
                tab.evaluate("document.body.offsetHeight")  # has it laid out
                found.append(tab.evaluate("performance.now()") / 1000)
                tab.close()
    return sorted(found)


def main() -> None:
    """Print seconds and bytes of both, and whether the page keeps its bounds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("evidence", type=Path)
    parser.add_argument("--rows", type=int, default=5_000)
    parser.add_argument("--open", action="store_true", dest="opens", help="open it in Chromium as well")
    given = parser.parse_args()
    evidence = enlarged(read_evidence(given.evidence), given.rows)
    makers: list[tuple[str, Callable[[], bytes]]] = [
        ("markdown", lambda: promotion_report(evidence, "").encode()),
        ("page, first", lambda: page_html(evidence, Around())),
        ("page, again", lambda: page_html(evidence, Around())),
    ]
    found = [(name, *timed(make)) for name, make in makers]
    lines = [[name, f"{seconds:.2f}", f"{size:,}"] for name, seconds, size in found]
    print(f"{len(evidence.rows):,} rows")
    print(table(lines, ["report", "seconds", "bytes"]))
    _, seconds, size = found[1]
    kept = seconds < MOST_SECONDS and size < MOST_BYTES
    if given.opens:
        took = opened(page_html(evidence, Around()))
        print(f"opened in {median(took):.2f} s, median of {len(took)} ({took[0]:.2f} to {took[-1]:.2f})")
        kept = kept and median(took) < MOST_SECONDS_TO_OPEN
    bounds = f"{MOST_SECONDS:g} s and {MOST_BYTES:,} bytes" + (
        f", {MOST_SECONDS_TO_OPEN:g} s to open" if given.opens else ""
    )
    print(f"below {bounds}: {'yes' if kept else 'no'}")
    raise SystemExit(0 if kept else 1)


if __name__ == "__main__":
    main()

"""SIGKILL at random moments: no settled cell is lost, none is paid for twice, and the decision is the same."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pytest

from evolve.bench.journal import read_state
from tests.bench.test_runner import OVERLAY, rows_of, sweep_of, write_overlay
from tests.worlds import make_workspace, write_task

KILLS = 50
CELLS = 40
PRICED = "model: scripted, price: {input_usd: 10, output_usd: 10}}"


@dataclass
class Zygote:
    """The process that forks `evolve` processes."""

    process: subprocess.Popen[str]

    def run(self, root: Path, argv: list[str], kill_after_s: float | None = None) -> int:
        """Run a command, killed after some time if it still runs then; returns its exit code."""
        stdin, stdout = self._pipes()
        order = {"root": str(root), "bank": str(root.parent / "bank.jsonl"), "argv": argv}
        stdin.write(json.dumps(order) + "\n")
        stdin.flush()
        child = int(stdout.readline())
        if kill_after_s is not None:
            time.sleep(kill_after_s)
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        return int(stdout.readline())

    def _pipes(self) -> tuple[IO[str], IO[str]]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        return self.process.stdin, self.process.stdout


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    command = [sys.executable, "-m", "tests.bench.zygote"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=Path(__file__).parents[2], stdin=pipe, stdout=pipe, text=True) as process:
        yield Zygote(process)
        process.terminate()


def journal_of(root: Path) -> Path | None:
    return next((root / "results/sweeps").glob("sealed-*/journal.jsonl"), None)


def paid(root: Path) -> Counter[str]:
    """Return how often each cell was asked for, by the bank that no kill can reach."""
    bank = root.parent / "bank.jsonl"
    return Counter(bank.read_text().splitlines()) if bank.exists() else Counter()


def outcome(root: Path) -> tuple[Any, ...]:
    """Return what must be the same as without kills: rows, decision, and the total that was spent on them."""
    rows = rows_of(sweep_of(root))
    promotion = json.loads(next((root / "promotion/bracket").glob("*/promotion.json")).read_bytes())
    return (
        [(row.key, row.arm, row.resolved, row.reply_sha256, row.usage.cost_usd_micros) for row in rows],
        promotion["decision"],
        promotion["spend"]["cost_usd_micros"],
        promotion["ledger"]["look"],
    )


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a workspace with a sweep of 40 cells: ten sealed tasks, two runs, two arms."""
    root = make_workspace(tmp_path_factory.mktemp("killed") / "workspace")
    for index in (9, 10):
        write_task(root, "bracket", "sealed", index)
    (root / "promotion/policy.yaml").write_text("schema: evolve/policy@1\nmin_runs: 2\ncache: cold\n")
    settings = root / "evolve.yaml"
    settings.write_text(settings.read_text().replace("model: scripted}", PRICED))
    write_overlay(root)
    return root


def killed_to_the_end(root: Path, zygote: Zygote, rng: random.Random, whole_s: float) -> tuple[int, int]:
    """Kill `evolve` again and again until it ends by itself; returns (kills, kills in the middle of the sweep)."""
    kills = in_mid_sweep = 0
    settled: set[int] = set()
    while True:
        command = ["resume"] if journal_of(root) else ["benchmark", OVERLAY]
        code = zygote.run(root, [*command, "--workers", str(rng.choice([1, 3]))], rng.uniform(0, whole_s))
        assert code in (0, -signal.SIGKILL), (root.parent / "bank.log").read_text()
        if code == 0:
            break
        kills += 1
        if (journal := journal_of(root)) is not None and journal.read_bytes().endswith(b"\n"):
            state = read_state(journal)
            assert settled <= set(state.settled), "a settled cell was lost"
            settled = set(state.settled)
            in_mid_sweep += bool(settled) and not state.finished
    if next((root / "promotion/bracket").glob("*/promotion.json"), None) is None:
        assert zygote.run(root, ["benchmark", OVERLAY]) == 0  # resume found nothing: the kill came before the journal
    return kills, in_mid_sweep


def test_a_sweep_that_is_killed_at_random_moments_ends_as_if_it_had_not_been(
    tmp_path: Path, template: Path, zygote: Zygote
) -> None:
    calm = tmp_path / "calm" / "workspace"
    shutil.copytree(template, calm)
    assert zygote.run(calm, ["--version"]) == 0
    started = time.monotonic()
    assert zygote.run(calm, ["benchmark", OVERLAY]) == 0
    whole_s = time.monotonic() - started
    wanted = outcome(calm)
    assert len(wanted[0]) == sum(paid(calm).values()) == CELLS

    rng, kills, in_mid_sweep, sweeps = random.Random(2026), 0, 0, 0
    while kills < KILLS:
        sweeps += 1
        root = tmp_path / f"sweep-{sweeps}" / "workspace"
        shutil.copytree(template, root)
        more, more_in_mid_sweep = killed_to_the_end(root, zygote, rng, whole_s)
        kills, in_mid_sweep = kills + more, in_mid_sweep + more_in_mid_sweep

        assert outcome(root) == wanted
        state = read_state(sweep_of(root) / "journal.jsonl")
        lost = [one for one in state.spent if one.why == "lost"]
        assert sum(state.attempts.values()) == CELLS + len(lost)
        assert sum(paid(root).values()) <= CELLS + len(lost)
        assert max(paid(root).values()) <= max(state.attempts.values())
        assert state.booked_micros - sum(one.cost_usd_micros or 0 for one in lost) == wanted[2]
        assert not state.leases
        assert zygote.run(root, ["audit", "--all"]) == 0
    assert in_mid_sweep >= KILLS // 4

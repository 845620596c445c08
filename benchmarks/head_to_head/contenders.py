"""Who takes part: our search, our baselines, and the peers as far as they are installed."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version

from benchmarks.head_to_head import gepa_peer, openevolve_peer
from benchmarks.head_to_head.ours import BASELINES, run_baseline, run_ours
from benchmarks.head_to_head.world import Contest, Outcome, Sizes

OURS = "evolve"
GEPA = "gepa"


@dataclass(frozen=True)
class Contender:
    """A search, and the package and version that it is measured with, if it is a peer's."""

    name: str
    run: Callable[[Contest], Outcome]
    wanted: str = ""

    @property
    def missing(self) -> str:
        """Why it cannot be measured; empty if it can."""
        if not self.wanted:
            return ""
        try:
            found = version(self.name)
        except PackageNotFoundError:
            return f"not measured: pip install {self.name}=={self.wanted}"
        return "" if found == self.wanted else f"not measured: {found} is installed, pip install {self.wanted}"


CONTENDERS = (
    Contender(OURS, lambda contest: run_ours(contest).outcome),
    Contender(GEPA, gepa_peer.run_gepa, gepa_peer.VERSION),
    Contender("openevolve", openevolve_peer.run_openevolve, openevolve_peer.VERSION),
    *(Contender(strategy, partial(run_baseline, strategy)) for strategy in BASELINES),
)

Outcomes = dict[str, list[Outcome]]


def warm_up(contenders: Sequence[Contender]) -> None:
    """Run every search once, so that nobody's imports are timed, nor the collector's walks over what all imported."""
    for one in contenders:
        one.run(Contest(10**6, Sizes(300, 60, 30)))
    gc.collect()
    gc.freeze()


def compete(
    contenders: Sequence[Contender], sizes: Sizes, seeds: Sequence[int], *, null: bool, say: Callable[[str], None]
) -> Outcomes:
    """Run every search on every seed, seed by seed, so that a slow minute of the machine is everybody's.

    Args:
        contenders: Those that are installed.
        sizes: The budget and the split.
        seeds: One world each.
        null: Whether nothing helps in them.
        say: Told how far it is.

    """
    found: Outcomes = {one.name: [] for one in contenders}
    for number, seed in enumerate(seeds, start=1):
        for one in contenders:
            found[one.name].append(one.run(Contest(seed, sizes, null)))
        say(f"budget {sizes.budget}{', null' if null else ''}: seed {number} of {len(seeds)}")
    return found

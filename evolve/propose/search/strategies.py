"""The searches by name."""

from __future__ import annotations

from collections.abc import Callable

from evolve.propose.search.baselines import BestOfN, HillClimb, PairedHillClimb
from evolve.propose.search.drive import Search
from evolve.propose.search.engine import EvolutionarySearch
from evolve.records.search import Checkpoint, Strategy

STRATEGIES: dict[Strategy, Callable[[Checkpoint], Search]] = {
    "evolve": EvolutionarySearch,
    "best-of-n": BestOfN,
    "hill-climb": HillClimb,
    "paired-hill-climb": PairedHillClimb,
}


def begun(state: Checkpoint) -> Search:
    """Return a search that begins with a state."""
    search = restored(state)
    search.begin()
    return search


def restored(state: Checkpoint) -> Search:
    """Return a search as it was when its state was kept."""
    return STRATEGIES[state.settings.strategy](state)

"""Which operator to ask next: those that earned more are asked more often, none is forgotten."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from evolve.records.search import OperatorState


def choose(states: Sequence[OperatorState], beta: Callable[[float, float], float]) -> str:
    """Return an operator: the first that was never asked, or one by Thompson sampling of Beta(1 + earned, 1 + missed).

    Args:
        states: The operators that could be asked; at least one.
        beta: Draws from a Beta distribution.

    """
    fresh = next((state.operator for state in states if state.asked == 0), None)
    if fresh is not None:
        return fresh
    drawn = [(beta(1 + state.earned, 1 + state.missed), -number) for number, state in enumerate(states)]
    return states[-max(drawn)[1]].operator


def asked(states: Sequence[OperatorState], operator: str) -> tuple[OperatorState, ...]:
    """Note that an operator is asked."""
    return _changed(states, operator, lambda state: {"asked": state.asked + 1})


def rewarded(states: Sequence[OperatorState], operator: str, chance: float) -> tuple[OperatorState, ...]:
    """Note what an operator's proposal is worth: the probability that it is better than what it was made from."""
    return _changed(
        states, operator, lambda state: {"earned": state.earned + chance, "missed": state.missed + 1 - chance}
    )


def refused(states: Sequence[OperatorState], operator: str) -> tuple[OperatorState, ...]:
    """Note that an operator was asked in vain."""
    return _changed(states, operator, lambda state: {"missed": state.missed + 1, "refused": state.refused + 1})


def _changed(
    states: Sequence[OperatorState], operator: str, change: Callable[[OperatorState], dict[str, float]]
) -> tuple[OperatorState, ...]:
    return tuple(
        OperatorState(**{**dict(state), **change(state)}) if state.operator == operator else state for state in states
    )

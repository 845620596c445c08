"""What proposing may cost: admitted before, booked after."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.errors import BudgetExhausted, InputError
from evolve.generation.proposer_budget import ProposerBudget


def refused(budget: ProposerBudget, worst: int | None) -> str | None:
    try:
        budget.admit(worst)
    except InputError as error:
        assert error.code == "proposer-budget"
        return error.message
    return None


@pytest.mark.parametrize(
    ("limit", "spent", "worst", "says"),
    [
        (None, 0, None, None),
        (None, None, 10**12, None),
        (100, 0, 100, None),
        (100, 0, 101, "0.0001 USD are left"),
        (100, 60, 40, None),
        (100, 60, 41, "may cost 0.0000 USD"),
        (0, 0, 0, None),
        (0, 0, 1, "0.0000 USD are left"),
        (100, 150, 0, "are left"),
        (100, 0, None, "nobody can say"),
        (100, None, 1, "nobody can say"),
    ],
)
def test_a_call_whose_worst_cost_does_not_fit_is_refused(
    limit: int | None, spent: int | None, worst: int | None, says: str | None
) -> None:
    message = refused(ProposerBudget(limit, spent), worst)
    assert message is None if says is None else message is not None and says in message


def test_what_the_whole_command_may_spend_counts_beside_the_limit() -> None:
    asked: list[int | None] = []

    def fits(worst: int | None) -> bool:
        asked.append(worst)
        return worst is not None and worst <= 5

    for budget in (ProposerBudget(None, 0, fits), ProposerBudget(100, 0, fits)):
        assert refused(budget, 5) is None
        for worst, says in ((6, "may cost 0.0000 USD"), (None, "an unknown amount")):
            with pytest.raises(BudgetExhausted, match=says):
                budget.admit(worst)
    assert asked == [5, 6, None] * 2


def test_a_cost_that_nobody_knows_makes_the_sum_unknown_for_good() -> None:
    told: list[int | None] = []
    budget = ProposerBudget(100, booked=told.append)
    budget.book(30)
    assert (budget.spent_micros, refused(budget, 70)) == (30, None)
    budget.book(None)
    budget.book(10)
    assert budget.spent_micros is None and told == [30, None, 10]
    assert "nobody can say" in str(refused(budget, 1))


@given(st.lists(st.tuples(st.integers(0, 50), st.floats(0, 1)), max_size=30), st.integers(0, 300))
def test_what_is_admitted_and_costs_no_more_than_its_worst_never_breaks_the_limit(
    calls: list[tuple[int, float]], limit: int
) -> None:
    budget = ProposerBudget(limit)
    costs = []
    for worst, share in calls:
        if refused(budget, worst) is None:
            costs.append(int(worst * share))
            budget.book(costs[-1])
    assert budget.spent_micros == sum(costs) <= limit

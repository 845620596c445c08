"""What proposing may cost: the worst of a call is seen to fit before it is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from evolve.errors import BudgetExhausted, InputError


@dataclass
class ProposerBudget:
    """The limit of one generation's proposing, in micro-USD, and what was spent of it.

    Args:
        limit_micros: The limit; ``None`` is none.
        spent_micros: What was spent; ``None`` when something was and nobody can say how much.
        fits_beside: Whether a cost fits in what the whole command may still spend.
        booked: Told each cost, for the books of the whole command.
        admitted_micros: The worst of the call that was admitted last.

    """

    limit_micros: int | None = None
    spent_micros: int | None = 0
    fits_beside: Callable[[int | None], bool] = field(default=lambda _: True)
    booked: Callable[[int | None], None] = field(default=lambda _: None)
    admitted_micros: int | None = 0

    def admit(self, worst_micros: int | None) -> None:
        """Refuse a call that could cost more than is left.

        Raises:
            BudgetExhausted: It does not fit in what the command may still use; a resumed one asks again.
            InputError: It could break the limit of proposing, or nobody can say what it may cost.

        """
        self.admitted_micros = worst_micros
        if not self.fits_beside(worst_micros):
            cost = "an unknown amount" if worst_micros is None else f"{worst_micros / 1e6:.4f} USD"
            raise BudgetExhausted(
                f"the budget is exhausted: the next call of the proposer may cost {cost}",
                hint="go on with more of --max-usd, --max-cells or --max-wall: evolve resume",
            )
        if self.limit_micros is None:
            return
        if worst_micros is None or self.spent_micros is None:
            raise InputError(
                "nobody can say what a call of the proposer may cost",
                hint="evolve.yaml: the model's price: {input_usd: …, output_usd: …}; a program's max_usd",
                code="proposer-budget",
            )
        if self.spent_micros + worst_micros > self.limit_micros:
            left = (self.limit_micros - self.spent_micros) / 1e6
            raise InputError(
                f"{left:.4f} USD are left for proposing, the next call may cost {worst_micros / 1e6:.4f} USD",
                code="proposer-budget",
            )

    def book_worst(self) -> None:
        """Book the worst of the call that was admitted last: it failed, and nobody says what it cost."""
        self.book(self.admitted_micros)

    def book(self, micros: int | None) -> None:
        """Book what a call cost; an unknown cost makes the sum unknown."""
        self.booked(micros)
        self.spent_micros = None if micros is None or self.spent_micros is None else self.spent_micros + micros

"""Bills of customers."""

from __future__ import annotations

from bills.store import Store


class Forbidden(Exception):
    """The bill belongs to somebody else."""


class Bills:
    """Shows customers their bills."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def show(self, customer: str, number: int) -> str:
        """Return a bill as text.

        Raises:
            Forbidden: It belongs to another customer.
            KeyError: There is none.

        """
        bill = self._store.read(number)
        if bill["customer"] != customer:
            raise Forbidden(number)
        return f"Bill {number} for {bill['customer']}: {bill['sum']} EUR"

    def correct(self, number: int, total: str) -> None:
        """Correct the sum of a bill."""
        self._store.write(number, total)

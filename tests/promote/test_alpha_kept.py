"""A larger alpha begins with fresh tasks."""

from __future__ import annotations

from pathlib import Path

import pytest

from evolve.promote.ledger import Ledger, NewLook, grant
from evolve.stats.multiplicity import alpha_at
from tests.builders import digest_of, make_policy


def look(sweep: str, *tasks: str) -> NewLook:
    return NewLook("s", digest_of(sweep), sweep, digest_of(tasks), tasks)


@pytest.mark.parametrize(("first", "second", "counts"), [(0.05, 0.9, 0.05), (0.05, 0.01, 0.01), (0.9, 0.05, 0.05)])
def test_looks_at_the_same_tasks_share_the_smallest_alpha_that_any_was_begun_under(
    tmp_path: Path, first: float, second: float, counts: float
) -> None:
    ledger = Ledger(tmp_path, tmp_path)
    ledger.record_look(make_policy(alpha=first), look("one", "a", "b"), again=False)
    other = make_policy(alpha=second)
    assert grant(ledger.read(), other, "s", ("b", "c")).alpha == pytest.approx(alpha_at(2, counts))
    assert grant(ledger.read(), other, "s", ("c",)).alpha == pytest.approx(alpha_at(1, second))
    entry = ledger.record_look(other, look("two", "b"), again=False)
    assert entry.of_alpha == second
    assert entry.alpha == pytest.approx(alpha_at(2, counts))

"""What the looks have used up, and how long the tasks can still prove something."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.errors import EvidenceFault
from evolve.gate.gain import smallest_p
from evolve.gate.planning import Spread, approximate_power
from evolve.promote import accounts
from evolve.promote.accounts import (
    Account,
    Measured,
    accounts_of,
    end_text,
    first_look_without,
    last_able_look,
    look_warning,
    measured_rows_of,
    needed_lines,
    outcome_of_look,
    weak_from_look,
    weak_look,
)
from evolve.promote.ledger import grant
from evolve.records.kinds import ErrorKind, Outcome
from evolve.records.ledger import LedgerEntry
from evolve.stats.multiplicity import alpha_at, lord_alpha
from evolve.workspace import find_workspace
from tests.builders import NOW, digest_of, make_identity, make_policy, make_row
from tests.promote.conftest import Measured as MeasuredWorkspace

POLICY, LORD = make_policy(), make_policy(alpha_account="lord")
TASKS = tuple(f"t-{number}" for number in range(8))
Entries = tuple[LedgerEntry, ...]


def ledger_of(*told: dict[str, Any]) -> Entries:
    """Make a ledger: each entry says what differs; looks are numbered by what is granted."""
    entries: Entries = ()
    for fields in told:
        values: dict[str, Any] = {"skill": "s", "sealed_tasks": TASKS, "entry": "look", "sweep": "one", **fields}
        policy = values.pop("policy", POLICY)
        granted = grant(entries, policy, values["skill"], values["sealed_tasks"], values.get("texts", 1))
        numbers = {"look": granted.look, "alpha": granted.alpha, "spent": granted.spent}
        digests = {name: "1" * 64 for name in ("overlay_sha256", "sealed_sha256", "policy_sha256")}
        entry = LedgerEntry.model_validate({"seq": len(entries), "at": NOW, **digests, **numbers, **values})
        entries = (*entries, entry)
    return entries


def looks(count: int, **fields: Any) -> list[dict[str, Any]]:
    return [{"sweep": f"sweep-{number}", **fields} for number in range(count)]


def account_of(entries: Entries, policy: Any = POLICY, tasks: Sequence[str] = TASKS) -> Account:
    found = accounts_of(entries, policy, {"s": tasks})
    return next(account for account in found if account.current)


def test_an_account_without_a_look_is_granted_the_first() -> None:
    account = account_of(())
    assert (account.next_look, account.next_alpha, account.spent) == (1, alpha_at(1, 0.05), 0)
    assert (account.looks, account.least_tasks, account.able) == ((), 6, True)


def test_looks_at_any_of_the_same_tasks_are_on_one_account() -> None:
    entries = ledger_of(*looks(2), {"sweep": "other", "skill": "other"}, {"sweep": "part", "sealed_tasks": TASKS[:1]})
    account = account_of(entries)
    assert [look.sweep for look in account.looks] == ["sweep-0", "sweep-1", "part"]
    assert (account.next_look, account.next_alpha) == (4, alpha_at(4, 0.05))
    assert account.spent == pytest.approx(sum(alpha_at(look, 0.05) for look in (1, 2, 3)))


def test_looks_at_tasks_that_are_gone_are_gathered_apart() -> None:
    entries = ledger_of(
        {"sweep": "a", "sealed_tasks": ("old-1", "old-2")},
        {"sweep": "b", "sealed_tasks": ("older",)},
        {"sweep": "c", "sealed_tasks": ("old-2", "old-3")},
        {"sweep": "d"},
    )
    now, *past = accounts_of(entries, POLICY, {"s": TASKS})
    assert (now.current, len(now.looks)) == (True, 1)
    assert [(one.current, one.tasks, len(one.looks)) for one in past] == [
        (False, ("older",), 1),
        (False, ("old-1", "old-2", "old-3"), 2),
    ]


def test_looks_that_a_third_one_joins_are_one_account() -> None:
    entries = ledger_of(*({"sweep": name, "sealed_tasks": tuple(name)} for name in ("ab", "cd", "bc")))
    (account,) = accounts_of(entries, POLICY, {})
    assert (account.tasks, len(account.looks), account.next_look) == (("a", "b", "c", "d"), 3, 4)


def test_skills_come_by_name_and_one_without_sealed_tasks_or_looks_has_no_account() -> None:
    entries = ledger_of({"skill": "gone", "sealed_tasks": ("x",)})
    found = accounts_of(entries, POLICY, {"z": TASKS, "a": TASKS[:2], "none": ()})
    assert [(account.skill, account.current) for account in found] == [("a", True), ("gone", False), ("z", True)]


def test_lord_earns_level_back() -> None:
    promoted = {"entry": "decision", "outcome": Outcome.PROMOTE, "sweep": "sweep-1", "policy": LORD}
    entries = ledger_of(*looks(2, policy=LORD), promoted)
    account = account_of(entries, LORD)
    assert account.promotions == (2,)
    assert account.next_alpha == lord_alpha(3, 0.05, (2,)) > lord_alpha(3, 0.05)
    assert account.level(5, LORD) == lord_alpha(5, 0.05, (2,))
    assert account_of(entries).level(5, POLICY) == alpha_at(5, 0.05)
    twelve = tuple(f"t-{number}" for number in range(12))
    later, without = (last_able_look(account_of(found, LORD, twelve), LORD) for found in (entries, entries[:2]))
    assert later is not None and without is not None and later > without > 2


@pytest.mark.parametrize(("tasks", "last"), [(5, 0), (6, 1), (8, 2), (10, 5), (12, 11)])
def test_so_many_tasks_afford_so_many_looks(tasks: int, last: int) -> None:
    """As the README says: 6 sealed tasks afford one look, 8 two, 10 five, 12 eleven."""
    account = account_of((), tasks=tuple(f"t-{number}" for number in range(tasks)))
    assert last_able_look(account, POLICY) == last
    assert account.able == (last > 0)


def test_there_may_be_no_end_in_sight() -> None:
    assert last_able_look(account_of((), tasks=tuple(f"t-{number}" for number in range(60))), POLICY) is None


@given(st.integers(1, 50), st.integers(0, 5000))
def test_the_first_look_without_is_the_first(first: int, more: int) -> None:
    assert first_look_without(first, lambda look: look < first + more) == first + more


def test_what_holds_for_ever_ends_nowhere() -> None:
    assert first_look_without(1, lambda _: True) is None


@pytest.mark.parametrize(("policy", "count"), [(POLICY, 20), (LORD, 40)])
def test_the_first_weak_look_is_the_first_below_one_half(policy: Any, count: int) -> None:
    tasks = tuple(f"t-{number}" for number in range(count))
    account = account_of((), policy, tasks)
    weak = weak_from_look(account, policy, Spread())
    assert weak is not None and weak > 1

    def power(look: int) -> float:
        return approximate_power(Spread(), 0.25, count, policy.min_runs, account.level(look, policy))

    assert power(weak) < 0.5 <= power(weak - 1)


def test_outcomes_of_looks() -> None:
    entries = ledger_of(
        {"sweep": "a"},
        {"sweep": "a"},
        {"entry": "decision", "outcome": Outcome.KEEP_INCUMBENT, "sweep": "a"},
        {"sweep": "b"},
        {"entry": "decision", "sweep": "c"},
    )
    told = [outcome_of_look(entries, entry) for entry in entries if entry.entry == "look"]
    assert told == ["lost, looked again", "keep incumbent", "undecided"]
    unknown = ledger_of({"sweep": "a"}, {"entry": "decision", "sweep": "a"})
    assert outcome_of_look(unknown, unknown[0]) == "unknown"


def test_a_level_that_vanishes_is_a_fault() -> None:
    with pytest.raises(EvidenceFault, match="no level"):
        accounts_of(ledger_of({}), make_policy(alpha=5e-324), {"s": TASKS})


def test_promotions_whose_numbers_do_not_fit_are_a_fault() -> None:
    entries = ledger_of({}, {"entry": "decision", "outcome": Outcome.PROMOTE})
    forged = (entries[0].model_copy(update={"look": 99}), entries[1])
    with pytest.raises(EvidenceFault, match="the ledger's looks of s") as caught:
        accounts_of(forged, LORD, {"s": TASKS})
    assert caught.value.code == "ledger-numbers"
    assert "evolve audit" in str(caught.value.hint)


def test_the_warning_names_its_numbers() -> None:
    warning = look_warning(POLICY, (), "s", TASKS)
    assert warning is not None
    power = approximate_power(Spread(), 0.25, 8, 3, alpha_at(1, 0.05))
    assert f"power {power:.2f} with 8 tasks x 3 runs at level 0.0304" in warning
    assert "+25 points" in warning and "evolve power s" in warning


def test_the_warning_goes_by_the_level_that_the_look_has() -> None:
    entries = ledger_of({"sweep": "begun"})
    assert "level 0.0304" in (look_warning(POLICY, entries, "s", TASKS, sweep="begun") or "")
    assert "level 0.0076" in (look_warning(POLICY, entries, "s", TASKS, sweep="other") or "")
    assert "level 0.0076" in (look_warning(POLICY, (), "s", TASKS, texts=2) or "")


@pytest.mark.parametrize(
    ("policy", "tasks"),
    [({}, 5), ({}, 0), ({}, 40), ({"preset": "thresholds"}, 8), ({"metric": "cost_usd"}, 8)],
    ids=["hopeless", "none", "plenty", "no-test", "cost"],
)
def test_no_warning_where_it_would_be_none(policy: dict[str, Any], tasks: int) -> None:
    """A look that can prove nothing at all is refused with a message of its own."""
    assert look_warning(make_policy(**policy), (), "s", [f"t-{number}" for number in range(tasks)]) is None


def test_a_weak_look_has_a_power_below_one_half() -> None:
    power = weak_look(POLICY, 8, 0.0304, Spread())
    assert power is not None and 0 < power < 0.5
    assert weak_look(POLICY, 30, 0.0304, Spread()) is None


def test_when_fresh_tasks_are_due() -> None:
    account = account_of(())
    assert "after 2 more looks (8 tasks" in end_text(account, 2)
    assert "after 1 more look (8 tasks" in end_text(account, 1)
    assert "before look 2" in end_text(account, 1)
    assert "due now" in end_text(account, 0)
    assert "no end in sight" in end_text(account, None)


def test_what_the_test_needs_is_said_unless_none_is_asked() -> None:
    account = account_of(())
    told = needed_lines(account, account.next_alpha, 2, POLICY)
    assert f"p = {smallest_p(8):.3g}" in told[0] and "at least 6 tasks" in told[0]
    (only,) = needed_lines(account, account.next_alpha, 2, make_policy(preset="thresholds"))
    assert "asks for no test" in only


def test_medians_are_of_the_rows_that_have_the_figure() -> None:
    rows = tuple(make_row(run=run, usage={"cost_usd_micros": cost}) for run, cost in enumerate((1, None, 5, 9)))
    found = Measured(rows=rows)
    assert found.median("cost_usd_micros") == (5, 3)
    assert found.median("session_ms") == (None, 0)


def test_without_rows_the_spread_is_assumed() -> None:
    assert Measured().spread == Spread()


def test_the_incumbents_rows_of_a_sweep_are_found(measured: MeasuredWorkspace) -> None:
    workspace = find_workspace(measured.root)
    found = measured_rows_of(workspace, workspace.skill("bracket"))
    assert {row.arm for row in found.rows} == {"incumbent", "bracket"}
    assert (len(found.rows), len(found.resolved), found.left_out, found.unreadable) == (27, 11, 0, ())
    assert found.spread.rate == 0
    assert len(found.sweeps) == 2


def test_void_rows_and_those_of_an_earlier_agent_do_not_count(
    measured: MeasuredWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = make_identity("old", agent_sha256=digest_of("before"))
    rows = [
        make_row("new", measured_at=NOW + timedelta(days=1)),
        make_row("new", 1, kind=ErrorKind.INFRA_ERROR),
        make_row("old", identity=old),
    ]
    monkeypatch.setattr(accounts, "stream_rows", lambda folder: ((row.digest(), row) for row in rows))
    workspace = find_workspace(measured.root)
    found = measured_rows_of(workspace, workspace.skill("bracket"))
    assert [(row.identity.task, row.void) for row in found.rows] == [("new", False)]
    assert found.left_out == 1


def test_rows_of_another_text_are_left_out_and_said(measured: MeasuredWorkspace) -> None:
    measured.skill.write_text(measured.skill.read_text() + "\nMore.\n")
    workspace = find_workspace(measured.root)
    found = measured_rows_of(workspace, workspace.skill("bracket"))
    assert (found.rows, found.left_out) == ((), 27)


def test_a_sweep_that_cannot_be_read_is_said(measured: MeasuredWorkspace) -> None:
    plan = next(measured.root.glob("results/sweeps/sealed-*/plan.json"))
    plan.write_text("{")
    workspace = find_workspace(measured.root)
    found = measured_rows_of(workspace, workspace.skill("bracket"))
    assert (len(found.rows), found.unreadable) == (3, (plan.parent.name,))


def test_a_row_counts_once_wherever_it_was_copied(measured: MeasuredWorkspace) -> None:
    sweep = next(measured.root.glob("results/sweeps/sealed-*"))
    shutil.copytree(sweep, sweep.with_name("sealed-copy"))
    workspace = find_workspace(measured.root)
    assert len(measured_rows_of(workspace, workspace.skill("bracket")).rows) == 27


def test_no_sweep_is_no_row(workspace: Path) -> None:
    there = find_workspace(workspace)
    assert measured_rows_of(there, there.skill("bracket")) == Measured()

"""The accounts of the ledger: what the looks at sealed tasks have used up, and how long the tasks can still prove."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from evolve.gate.gain import smallest_p
from evolve.gate.planning import Spread, approximate_power, least_tasks
from evolve.promote.ledger import find_entry, grant, looks_at
from evolve.records.kinds import Outcome
from evolve.records.ledger import LedgerEntry
from evolve.records.policy import Policy
from evolve.stats.multiplicity import level_of_look

REFERENCE_EFFECT = 0.25
ENOUGH_POWER = 0.5
FARTHEST_LOOK = 1_000_000


@dataclass(frozen=True)
class Account:
    """The looks of a skill at some sealed tasks, and what the next one is granted.

    Args:
        skill: The skill.
        tasks: The sealed tasks that the next look is at.
        current: Whether these are the tasks that the corpus has for it now.
        looks: The looks that count, oldest first.
        promotions: The numbers of those looks that ended in a promotion.
        next_look: The number that the next look has.
        next_alpha: The level that it is granted.
        spent: The levels that the looks were granted, summed.

    """

    skill: str
    tasks: tuple[str, ...]
    current: bool
    looks: tuple[LedgerEntry, ...]
    promotions: tuple[int, ...]
    next_look: int
    next_alpha: float
    spent: float

    def level(self, look: int, policy: Policy) -> float:
        """Return the level of a later look, if no look from now on is promoted."""
        return level_of_look(policy.alpha_account, look, policy.alpha, self.promotions)

    @property
    def able(self) -> bool:
        """Whether a win on every task would reach the level of the next look."""
        return bool(self.tasks) and smallest_p(len(self.tasks)) <= self.next_alpha

    @property
    def least_tasks(self) -> int:
        """The fewest tasks of which a win on each reaches the level of the next look."""
        return least_tasks(self.next_alpha)


def accounts_of(
    entries: tuple[LedgerEntry, ...], policy: Policy, current: Mapping[str, Collection[str]]
) -> tuple[Account, ...]:
    """Return the accounts of all skills that have looked or have sealed tasks now, by name, current ones first.

    Looks at tasks of which none is sealed any more are gathered by the tasks that they share.

    Args:
        entries: The ledger.
        policy: The policy in force.
        current: The sealed tasks of each skill as the corpus has them.

    """
    looks = [entry for entry in entries if entry.entry == "look"]
    found: list[Account] = []
    for skill in sorted({*(look.skill for look in looks), *current}):
        own = tuple(look for look in looks if look.skill == skill)
        tasks = tuple(current.get(skill, ()))
        if tasks:
            found.append(_account(entries, policy, skill, tasks, current=True))
        counted = {look.seq for look in looks_at(entries, skill, tasks)}
        for past in _components(tuple(look for look in own if look.seq not in counted)):
            found.append(_account(entries, policy, skill, past, current=False))
    return tuple(found)


def _account(
    entries: tuple[LedgerEntry, ...], policy: Policy, skill: str, tasks: tuple[str, ...], *, current: bool
) -> Account:
    looks = looks_at(entries, skill, tasks)
    promoted = sorted({look.look for look in looks if _outcome(entries, look) is Outcome.PROMOTE})
    granted = grant(entries, policy, skill, tasks)
    return Account(skill, tasks, current, looks, tuple(promoted), granted.look, granted.alpha, granted.spent)


def _components(looks: tuple[LedgerEntry, ...]) -> list[tuple[str, ...]]:
    """Return the tasks of looks that share some, directly or through others."""
    found: list[set[str]] = []
    for look in looks:
        tasks = set(look.sealed_tasks)
        touched = [component for component in found if component & tasks]
        found = [component for component in found if not component & tasks]
        found.append(tasks.union(*touched))
    return [tuple(sorted(component)) for component in found]


def _outcome(entries: tuple[LedgerEntry, ...], look: LedgerEntry) -> Outcome | None:
    decision = find_entry(entries, "decision", look.sweep)
    return None if decision is None else decision.outcome


def outcome_of_look(entries: tuple[LedgerEntry, ...], look: LedgerEntry) -> str:
    """Return how a look ended; one whose rows were lost and measured again never did."""
    newest = find_entry(entries, "look", look.sweep)
    if newest is not None and newest.seq != look.seq:
        return "lost, looked again"
    outcome = _outcome(entries, look)
    return "undecided" if outcome is None else outcome.value.replace("_", " ")


def first_look_without(first: int, holds: Callable[[int], bool], farthest: int = FARTHEST_LOOK) -> int | None:
    """Return the first look from here on of which something does not hold any more; none where it holds to the farthest.

    Args:
        first: The look to begin with.
        holds: Whether it holds at a look; once it does not, it never does again.
        farthest: How far to search.

    """
    if not holds(first):
        return first
    low, step = first, 1
    while holds(low + step):
        low, step = low + step, 2 * step
        if low > farthest:
            return None
    high = low + step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return high


def last_able_look(account: Account, policy: Policy) -> int | None:
    """Return the last look at which a win on every task reaches the level, if none is promoted from now on.

    One before the next where already the next cannot; none where there is no end in sight.
    """
    smallest = smallest_p(len(account.tasks))
    found = first_look_without(account.next_look, lambda look: smallest <= account.level(look, policy))
    return None if found is None else found - 1


def weak_from_look(account: Account, policy: Policy, spread: Spread, effect: float = REFERENCE_EFFECT) -> int | None:
    """Return the first look that would prove an effect with a power below one half, approximately.

    None where there is no end in sight.

    Args:
        account: The account; it has tasks.
        policy: The policy in force.
        spread: What is taken for granted of the resolve rate.
        effect: The mean difference of the resolve rate.

    Raises:
        ValueError: The incumbent leaves no room for the effect.

    """

    def strong(look: int) -> bool:
        level = account.level(look, policy)
        return approximate_power(spread, effect, len(account.tasks), policy.min_runs, level) >= ENOUGH_POWER

    return first_look_without(account.next_look, strong)


def weak_look(
    policy: Policy, tasks: int, alpha: float, spread: Spread, effect: float = REFERENCE_EFFECT
) -> float | None:
    """Return the approximate power of a look that can prove something, where it is below one half.

    Args:
        policy: The policy in force.
        tasks: The number of sealed tasks.
        alpha: The level of the look.
        spread: What is taken for granted of the resolve rate.
        effect: The mean difference of the resolve rate.

    Raises:
        ValueError: The incumbent leaves no room for the effect.

    """
    if not policy.proven or not policy.of_quality or tasks < 1 or smallest_p(tasks) > alpha:
        return None
    power = approximate_power(spread, effect, tasks, policy.min_runs, alpha)
    return power if power < ENOUGH_POWER else None

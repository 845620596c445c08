"""The accounts of the ledger: what the looks at sealed tasks have used up, and how long the tasks can still prove."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from evolve.bench.books import PLAN_FILE
from evolve.bench.measured import stream_rows
from evolve.errors import EvidenceFault, EvolveError
from evolve.gate.gain import smallest_p
from evolve.gate.planning import Spread, approximate_power, least_tasks, spread_of_runs
from evolve.promote.ledger import find_entry, grant, looks_at
from evolve.records.base import read_json
from evolve.records.kinds import Outcome, Role
from evolve.records.ledger import LedgerEntry
from evolve.records.plan import Plan
from evolve.records.policy import Policy
from evolve.records.row import Row
from evolve.skills import Skill
from evolve.stats.multiplicity import level_of_look
from evolve.workspace import Workspace

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
        whole = min([policy.alpha, *(found.of_alpha for found in self.looks)])
        return level_of_look(policy.alpha_account, look, whole, self.promotions)

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

    Raises:
        EvidenceFault: The numbers of looks were changed, so that they give the next look no level.

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
    try:
        granted = grant(entries, policy, skill, tasks)
    except ValueError as error:
        raise _unfit(skill) from error
    if not 0 < granted.alpha < 1:
        raise _unfit(skill)
    return Account(skill, tasks, current, looks, tuple(promoted), granted.look, granted.alpha, granted.spent)


def _unfit(skill: str) -> EvidenceFault:
    return EvidenceFault(
        f"the ledger's looks of {skill}: their numbers give the next look no level",
        hint="evolve audit --all says which entry is wrong",
        code="ledger-numbers",
    )


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
    """Return how a look ended; one whose rows were lost, so that its sweep had to look again, never did."""
    after = [entry for entry in entries if entry.sweep == look.sweep and entry.seq > look.seq]
    ended = next((entry for entry in after if entry.entry in ("look", "decision")), None)
    if ended is None:
        return "undecided"
    if ended.entry == "look":
        return "lost, looked again"
    return "unknown" if ended.outcome is None else ended.outcome.value.replace("_", " ")


def first_look_without(first: int, holds: Callable[[int], bool], farthest: int = FARTHEST_LOOK) -> int | None:
    """Return the first look of which something does not hold any more; none where it holds as far as is searched.

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


def look_warning(
    policy: Policy, entries: tuple[LedgerEntry, ...], skill: str, tasks: Sequence[str], texts: int = 1, sweep: str = ""
) -> str | None:
    """Return that a look can hardly prove even a large gain, if that is so; where it can prove none, nothing is said.

    It goes by assumed variances alone: reading rows would hold up what is about to begin.

    Args:
        policy: The policy in force.
        entries: The ledger.
        skill: The skill.
        tasks: Its sealed tasks.
        texts: How many texts the look sees.
        sweep: The sweep that looks; one that has looked keeps its level.

    """
    begun = find_entry(entries, "look", sweep)
    alpha = begun.alpha if begun else grant(entries, policy, skill, tasks, texts).alpha
    power = weak_look(policy, len(tasks), alpha, Spread(), REFERENCE_EFFECT)
    if power is None:
        return None
    return (
        f"{skill}: this look can hardly prove even +{100 * REFERENCE_EFFECT:g} points: power {power:.2f} with "
        f"{len(tasks)} tasks x {policy.min_runs} runs at level {alpha:.3g} (approximate, usual variances assumed); "
        f"evolve power {skill} shows what would"
    )


def needed_lines(account: Account, alpha: float, last_look: int | None, policy: Policy) -> list[str]:
    """Return what the exact test needs at the least, and when so many tasks will not be enough any more."""
    tasks = len(account.tasks)
    if not policy.proven:
        return [
            f"the policy's preset {policy.preset.value} asks for no test: the approximate figures are of one that did"
        ]
    needs = (
        f"a win on each of {tasks} tasks gives p = {smallest_p(tasks):.3g}; "
        f"level {alpha:.3g} needs at least {least_tasks(alpha)} tasks"
    )
    return [needs, end_text(account, last_look)]


def end_text(account: Account, last_look: int | None) -> str:
    """Return at which look the tasks can prove nothing any more."""
    tasks, following = len(account.tasks), account.next_look
    if last_look is None:
        return f"no end in sight: {tasks} tasks can prove a gain at any of the next looks, as far as is counted"
    if last_look < following:
        return f"{tasks} tasks can prove nothing at look {following}: fresh sealed tasks are due now"
    more = last_look - following + 1
    return (
        f"after {more} more look{'' if more == 1 else 's'} ({tasks} tasks, none promoted meanwhile) nothing can be "
        f"proven: fresh sealed tasks are due before look {last_look + 1}"
    )


@dataclass(frozen=True)
class Measured:
    """The incumbent's rows that are at hand: outcomes by task, what a cell took, and where it is from."""

    resolved: Mapping[str, Sequence[bool]] = field(default_factory=dict)
    rows: tuple[Row, ...] = ()
    sweeps: tuple[str, ...] = ()
    left_out: int = 0
    unreadable: tuple[str, ...] = ()

    @property
    def spread(self) -> Spread:
        """What is taken for granted by these rows; the usual variances where there is none."""
        return spread_of_runs(self.resolved) if self.resolved else Spread()

    def median(self, of: str) -> tuple[float | None, int]:
        """Return the median of a figure of the rows that have it, and how many these are."""
        values = [value for row in self.rows if (value := getattr(row.usage, of)) is not None]
        return (statistics.median(values) if values else None), len(values)


def measured_rows_of(workspace: Workspace, skill: Skill) -> Measured:
    """Return the incumbent's rows of every kept sweep: of the text as it is, and of the agent that worked last.

    A row counts once, wherever it was reused; so does a cell that an agent which is repeatable ran again.
    """
    found: dict[tuple[str, ...], tuple[Row, str]] = {}
    unreadable = []
    others = 0
    for path in sorted(workspace.sweeps.glob(f"*/{PLAN_FILE}")):
        try:
            plan = read_json(Plan, path)
            own = [arm for arm in plan.arms if arm.role is Role.INCUMBENT and arm.skill == skill.name and not arm.agent]
            texts = {arm.name: arm.skills.get(skill.name) == skill.files.digest for arm in own}
            rows = [row for _, row in stream_rows(path.parent) if row.arm in texts and not row.void] if texts else []
        except (EvolveError, OSError):
            unreadable.append(path.parent.name)
            continue
        once = plan.agent.get("repeatable") is True
        others += sum(not texts[row.arm] for row in rows)
        for row in rows:
            if texts[row.arm]:
                key = (row.key,) if once else (row.key, row.measured_at.isoformat())
                found.setdefault(key, (row, path.parent.name))
    return _of_one_agent(list(found.values()), others, tuple(unreadable))


def _of_one_agent(found: Sequence[tuple[Row, str]], others: int, unreadable: tuple[str, ...]) -> Measured:
    if not found:
        return Measured(left_out=others, unreadable=unreadable)
    newest = max(found, key=lambda one: one[0].measured_at)[0].identity.agent_sha256
    own = [(row, sweep) for row, sweep in found if row.identity.agent_sha256 == newest]
    resolved: dict[str, list[bool]] = {}
    for row, _ in own:
        resolved.setdefault(row.identity.task, []).append(row.resolved)
    return Measured(
        resolved=resolved,
        rows=tuple(row for row, _ in own),
        sweeps=tuple(sorted({sweep for _, sweep in own})),
        left_out=others + len(found) - len(own),
        unreadable=unreadable,
    )

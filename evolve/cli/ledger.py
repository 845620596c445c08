"""``evolve ledger``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from evolve.cli.opening import here
from evolve.cli.output import emit, json_option, plain, table
from evolve.cli.run_options import expensive_option

if TYPE_CHECKING:
    from evolve.gate.planning import Spread
    from evolve.promote.accounts import Account
    from evolve.records.ledger import LedgerEntry
    from evolve.records.policy import Policy

DIGEST_SHOWN = 8
MOST_TASKS = 4
BRIEF = ["skill", "sealed tasks", "next look's level", "tasks needed", "last look that can prove", "power", "incumbent"]
HEADER = ["look", "date", "skill", "tasks", "texts", "level", "spent before", "outcome", "sweep", "overlay"]


@dataclass(frozen=True)
class Told:
    """An account and what is said of its future; the spread is none where no power is said."""

    account: Account
    last_look: int | None
    weak_from: int | None
    power: float | None
    spread: Spread | None


@click.command("ledger", short_help="Show the looks at sealed tasks, and what level is left for the next.")
@click.argument("skill", required=False)
@expensive_option
@json_option
def command(skill: str | None, include_expensive: bool, as_json: bool) -> None:
    """Show the looks at sealed tasks, what level is left for the next, and when fresh sealed tasks are due.

    A look of a skill at any of the same sealed tasks is on the same account. SKILL is by default every skill.

    Example: evolve ledger purchase-json
    """
    from evolve.corpus.loading import load_corpus
    from evolve.errors import InputError
    from evolve.promote.accounts import accounts_of
    from evolve.promote.ledger import read_ledger
    from evolve.records.kinds import Split

    workspace = here()
    entries = read_ledger(workspace.promotion)
    policy = workspace.policy()
    corpus = load_corpus(workspace.corpus, expensive=include_expensive)
    skills = workspace.skills()
    names = sorted({*skills, *(entry.skill for entry in entries)})
    if skill is not None and skill not in names:
        raise InputError(f"no skill named {skill!r}", hint=f"skills here: {', '.join(names)}", code="no-skill")
    current = {name: tuple(task.id for task in corpus.of(name, Split.SEALED)) for name in skills}
    accounts = [one for one in accounts_of(entries, policy, current) if skill in (None, one.skill)]
    looks = [entry for entry in entries if entry.entry == "look" and skill in (None, entry.skill)]
    from evolve.promote.accounts import measured_rows_of

    spreads = {
        name: measured_rows_of(workspace, skills[name]).spread for name in {a.skill for a in accounts} & {*skills}
    }
    told = [_told(account, policy, spreads.get(account.skill)) for account in accounts]
    value = {
        "looks": [_look_value(entries, look) for look in looks],
        "accounts": [_account_value(one, policy) for one in told],
        "policy": {"alpha": policy.alpha, "account": policy.alpha_account, "min_runs": policy.min_runs},
    }
    emit(value, _text(entries, looks, told, policy, named=skill is not None), as_json=as_json)


def _told(account: Account, policy: Policy, spread: Spread | None) -> Told:
    from evolve.gate.planning import Spread, approximate_power
    from evolve.promote.accounts import REFERENCE_EFFECT, last_able_look, weak_from_look

    last = last_able_look(account, policy)
    spread = spread or Spread()
    if not policy.of_quality or not policy.proven or spread.room < REFERENCE_EFFECT:
        return Told(account, last, None, None, spread if policy.of_quality and policy.proven else None)
    shape = (len(account.tasks), policy.min_runs)
    power = approximate_power(spread, REFERENCE_EFFECT, *shape, account.next_alpha)
    return Told(account, last, weak_from_look(account, policy, spread), power, spread)


def _text(
    entries: tuple[LedgerEntry, ...], looks: list[LedgerEntry], told: list[Told], policy: Policy, *, named: bool
) -> str:
    blocks = []
    if looks:
        # A cell with a line break or a tab would forge a row of the table.
        rows = [[" ".join(plain(cell).split()) for cell in _row(entries, look)] for look in looks]
        blocks.append(table(rows, HEADER))
    else:
        blocks.append("no look yet: the ledger is empty" if not entries else "no look yet")
    if not told:
        from evolve.stats.multiplicity import level_of_look

        first = level_of_look(policy.alpha_account, 1, policy.alpha)
        blocks.append(f"no sealed task to look at; a first look would be granted {first:.3g} of {policy.alpha:g}")
    # What has not looked yet is told briefly: of many skills the same would be said again and again.
    blocks += ["\n".join(_lines(one, policy)) for one in told if named or one.account.looks]
    brief = [one for one in told if not named and not one.account.looks]
    if brief:
        blocks.append("\n".join(_brief_lines(brief, policy)))
    return "\n\n".join(blocks)


def _brief_lines(told: list[Told], policy: Policy) -> list[str]:
    from evolve.promote.accounts import REFERENCE_EFFECT

    kept = "lord, a false discovery rate of" if policy.alpha_account == "lord" else "of"
    lines = [
        f"without a look yet, levels one-sided ({kept} {policy.alpha:g}):",
        table([_brief_row(one, policy) for one in told], BRIEF),
    ]
    if not policy.proven:
        lines.append(f"the policy's preset {policy.preset.value} asks for no test, so that no level is spent on it")
    elif policy.of_quality:
        lines.append(f"power for +{100 * REFERENCE_EFFECT:g} points with {policy.min_runs} runs a task, approximate")
    return [*lines, "evolve ledger SKILL tells more of one"]


def _brief_row(told: Told, policy: Policy) -> list[str]:
    account, spread = told.account, told.spread
    row = [account.skill, str(len(account.tasks)), f"{account.next_alpha:.3g}"]
    if not policy.proven:
        return [*row, "-", "-", "-", "-"]
    last = "no end in sight" if told.last_look is None else str(told.last_look)
    row += [str(account.least_tasks), last if account.able else "none: fresh sealed tasks are due now"]
    if spread is None:
        return [*row, "-", "-"]
    power = "no room" if told.power is None else f"{told.power:.2f}"
    return [*row, power, f"{100 * spread.rate:.1f} % {spread.rate_from}"]


def _row(entries: tuple[LedgerEntry, ...], look: LedgerEntry) -> list[str]:
    from evolve.promote.accounts import outcome_of_look

    return [
        str(look.look),
        f"{look.at:%Y-%m-%d}",
        look.skill,
        str(len(look.sealed_tasks)),
        str(look.texts),
        f"{look.alpha:.3g}",
        f"{look.spent:.3g}",
        outcome_of_look(entries, look),
        look.sweep,
        look.overlay_sha256[:DIGEST_SHOWN],
    ]


def _lines(told: Told, policy: Policy) -> list[str]:
    from evolve.promote.accounts import end_text

    account = told.account
    tasks, count = len(account.tasks), len(account.looks)
    shown = ", ".join(account.tasks[:MOST_TASKS])
    more = f" and {tasks - MOST_TASKS} more" if tasks > MOST_TASKS else ""
    past = "" if account.current else ", not those that are sealed now"
    first = "no look yet" if not count else f"{count} look{'' if count == 1 else 's'}"
    lines = [f"{account.skill}, {tasks} sealed tasks ({shown}{more}){past}: {first}", f"  {_spent(account, policy)}"]
    if not policy.proven:
        return [
            *lines,
            f"  the policy's preset {policy.preset.value} asks for no test, so that no level is spent on it",
        ]
    lines.append(
        f"  a win on each task proves a gain at that level from {account.least_tasks} tasks on; there are {tasks}"
    )
    lines.append(f"  {end_text(account, told.last_look)}")
    if told.spread is not None:
        lines.append(f"  {_power_text(told, policy)}")
    return lines


def _spent(account: Account, policy: Policy) -> str:
    following = f"look {account.next_look} is granted {account.next_alpha:.3g}, one-sided"
    if policy.alpha_account == "lord":
        earned = ", ".join(map(str, account.promotions)) or "none"
        return (
            f"granted so far {account.spent:.3g} (lord: a false discovery rate of {policy.alpha:g}; promotions earn "
            f"level back, so far at looks: {earned}); {following}"
        )
    return f"granted so far {account.spent:.3g} of {policy.alpha:g}; {following}"


def _power_text(told: Told, policy: Policy) -> str:
    from evolve.promote.accounts import REFERENCE_EFFECT

    account, spread, points = told.account, told.spread, f"+{100 * REFERENCE_EFFECT:g} points"
    if spread is None or told.power is None:
        rate = "unknown" if spread is None else f"{100 * spread.rate:.1f} %"
        return f"no power for {points} is said: the incumbent's resolve rate is {rate}, which leaves no room for them"
    made = f"assumed, {spread.variance_from} variances" if not spread.runs else ""
    made = made or f"{spread.runs} runs of {spread.tasks} tasks, {spread.variance_from} variances"
    basis = f"approximate; incumbent at {100 * spread.rate:.1f} %, {made}"
    shape = f"{len(account.tasks)} tasks x {policy.min_runs} runs"
    now = f"power for {points} with {shape}: {told.power:.2f} at look {account.next_look} ({basis})"
    if told.weak_from is None:
        return f"{now}, and at least 0.5 as far as is counted"
    if told.weak_from == account.next_look:
        return f"{now}: below 0.5 already"
    return f"{now}; below 0.5 from look {told.weak_from} on"


def _look_value(entries: tuple[LedgerEntry, ...], look: LedgerEntry) -> dict[str, Any]:
    from evolve.promote.accounts import outcome_of_look

    return {
        "look": look.look,
        "at": look.json_value()["at"],
        "skill": look.skill,
        "sealed_tasks": look.sealed_tasks,
        "texts": look.texts,
        "alpha": look.alpha,
        "spent_before": look.spent,
        "outcome": outcome_of_look(entries, look),
        "sweep": plain(look.sweep),
        "overlay_sha256": look.overlay_sha256,
    }


def _account_value(told: Told, policy: Policy) -> dict[str, Any]:
    account = told.account
    return {
        "skill": account.skill,
        "sealed_tasks": account.tasks,
        "current": account.current,
        "looks": len(account.looks),
        "promotions": account.promotions,
        "granted": account.spent,
        "next_look": account.next_look,
        "next_alpha": account.next_alpha,
        "least_tasks": account.least_tasks if policy.proven else None,
        "last_look_that_can_prove": told.last_look,
        "power": told.power,
        "weak_from_look": told.weak_from,
    }

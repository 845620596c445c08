"""The page of a cell as texts and tables: all wording, and no markup."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Final

from evolve.agents.accounts import PhaseAccount
from evolve.agents.steps import Steps
from evolve.propose.evidence import failed_rule
from evolve.records.kinds import Split
from evolve.records.row import CheckOutcome, Row, Usage
from evolve.report.cell.kept import Kept
from evolve.report.page.rests import Fact, Table
from evolve.report.page.visible import shown
from evolve.report.page.words import WordDiff, word_diff
from evolve.sandbox.gateway.meter import Tokens
from evolve.scoring.verify import Said

TEXT_CHARS: Final = 200_000
OUTPUT_CHARS: Final = 20_000
UNITS: Final = {
    "input_tokens": ("input", "tokens"),
    "cached_input_tokens": ("of it read from a cache", "tokens"),
    "cache_write_5m_tokens": ("of it written to a cache for 5 min", "tokens"),
    "cache_write_1h_tokens": ("of it written to a cache for 1 h", "tokens"),
    "output_tokens": ("output", "tokens"),
    "reasoning_tokens": ("of it reasoning", "tokens"),
    "api_calls": ("calls of the model", "calls"),
    "turns": ("turns", "turns"),
    "tool_calls": ("calls of tools", "calls"),
    "cost_usd_micros": ("cost", "USD"),
    "session_ms": ("session", "s"),
    "api_ms": ("of it waiting for the model", "s"),
}
TOKEN_FIELDS: Final = {
    "input": "input_tokens",
    "cached": "cached_input_tokens",
    "cache_write_5m": "cache_write_5m_tokens",
    "cache_write_1h": "cache_write_1h_tokens",
    "output": "output_tokens",
    "reasoning": "reasoning_tokens",
}


@dataclass(frozen=True)
class CellView:
    """Everything that the page of a cell says, in the order in which it says it; ``None`` where nothing is kept."""

    title: str
    outcome: str
    resolved: bool
    void: bool
    detail: str
    facts: tuple[Fact, ...]
    checks: Table
    said: tuple[Said, ...]
    rule: str
    usage: Table
    accounts: Table | None
    prompt: str | None
    reply: str | None
    patch: WordDiff | None
    steps: Steps | None
    hints: tuple[str, ...]
    digests: tuple[Fact, ...]
    missing: tuple[str, ...]


def cell_view(row: Row, kept: Kept) -> CellView:
    """Return the page of a cell."""
    where = f"{row.identity.task}, run {row.identity.run}, {row.arm}"
    rule = ""
    if kept.task is not None and row.split is Split.TRAIN and not row.resolved:
        rule = shown(failed_rule(kept.task, row))
    return CellView(
        title=shown(where, 300) + (f", attempt {row.attempt}" if row.attempt > 1 else ""),
        outcome=outcome_of(row),
        resolved=row.resolved,
        void=row.void,
        detail=shown(row.detail),
        facts=_facts(row),
        checks=_checks(row),
        said=tuple(Said(shown(one.check, 200), one.passed, shown(one.output, OUTPUT_CHARS)) for one in kept.said),
        rule=rule,
        usage=_usage(row.usage),
        accounts=_accounts(kept.steps.accounts) if kept.steps is not None and kept.steps.accounts else None,
        prompt=None if kept.task is None else shown(kept.task.task.prompt, TEXT_CHARS),
        reply=None if kept.reply is None else shown(kept.reply, TEXT_CHARS),
        patch=None if kept.patch is None else word_diff(kept.patch),
        steps=kept.steps,
        hints=tuple(shown(line) for line in kept.hints),
        digests=tuple(_digests(row)),
        missing=tuple(_missing(row, kept)),
    )


def outcome_of(row: Row) -> str:
    """Return how a cell ended, in a few words."""
    if row.resolved:
        return "resolved: every check passed"
    return f"void, it says nothing about its arm: {row.kind}" if row.void else f"not resolved: {row.kind}"


def _facts(row: Row) -> tuple[Fact, ...]:
    reused = () if row.reused is None else (Fact("reused from", shown(row.reused.sweep, 200)),)
    return (
        Fact("task", shown(row.identity.task, 200)),
        Fact("run", str(row.identity.run)),
        Fact("arm", f"{shown(row.arm, 200)} ({row.role})"),
        Fact("split", str(row.split)),
        Fact("seed", str(row.identity.seed)),
        Fact("sandbox", shown(row.identity.sandbox, 80)),
        Fact("measured", f"{row.measured_at:%Y-%m-%d %H:%M:%S} UTC"),
        *reused,
    )


def _checks(row: Row) -> Table:
    told = "" if row.split is Split.TRAIN else " Which one failed is kept for train tasks alone."
    rows = tuple(_check(name, found) for name, found in (("verify", row.verify), ("oracle", row.oracle)))
    return Table(f"What the checks said; a score is the share that passed.{told}", _CHECK_HEADER, rows)


_CHECK_HEADER = ("checks", "outcome", "score", "failed check")


def _check(name: str, found: CheckOutcome | None) -> tuple[str, ...]:
    if found is None:
        return name, "not run", "", ""
    return name, "passed" if found.passed else "failed", f"{found.score:.3g}", shown(found.failed_check or "", 200)


def _usage(usage: Usage) -> Table:
    rows = tuple((head, figure(name, getattr(usage, name)), unit) for name, (head, unit) in UNITS.items())
    return Table("What the row counts, over all phases.", ("figure", "value", "unit"), rows)


def figure(name: str, value: int | None) -> str:
    """Return a figure of a usage as it is shown, without its unit."""
    if value is None:
        return "unknown"
    if name == "cost_usd_micros":
        return f"{value / 1_000_000:.6f}"
    return f"{value / 1000:,.1f}" if name.endswith("_ms") else f"{value:,}"


def _accounts(accounts: tuple[PhaseAccount, ...]) -> Table:
    caption = "The same, told twice: by the program itself, and by the gateway that all its calls went through."
    rows = tuple(row for account in accounts for row in _account(account))
    return Table(caption, ("phase and figure", "by the program", "by the gateway", "unit", "they"), rows)


def _account(account: PhaseAccount) -> Iterator[tuple[str, ...]]:
    phase = shown(account.phase, 80)
    for part in fields(Tokens):
        told, metered = (None if one is None else getattr(one, part.name) for one in (account.told, account.metered))
        head, unit = UNITS[TOKEN_FIELDS[part.name]]
        agree = "" if told is None or metered is None else "agree" if told == metered else "differ"
        yield f"{phase}: {head}", figure("", told), figure("", metered), unit, agree
    calls = f"{account.calls:,}, answered {account.answered:,}"
    yield f"{phase}: calls of the model", "not told", calls, "calls", ""


def _digests(row: Row) -> Iterator[Fact]:
    yield Fact("row", row.digest())
    yield Fact("identity of the cell", row.key)
    named = {
        "reply": row.reply_sha256,
        "transcript": row.transcript_sha256,
        "recording": row.recording_sha256,
        "work": row.work_sha256,
    }
    yield from (Fact(name, digest) for name, digest in named.items() if digest is not None)


def _missing(row: Row, kept: Kept) -> Iterator[str]:
    """Yield what is not shown, and why."""
    if kept.task is None:
        yield "The prompt is not shown: the task is not here, or is another than the one that was measured."
    if kept.reply is None:
        yield "No reply is shown: " + ("none was given." if row.reply_sha256 is None else "it is gone, or was changed.")
    if kept.steps is None:
        why = "this agent keeps none." if row.transcript_sha256 is None else "it is gone, or was changed."
        yield f"No transcript is shown: {why}"
    if kept.patch is None and row.delivered is not None:
        yield "No patch is shown: it is kept for train tasks alone."

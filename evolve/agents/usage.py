"""What a session used: by the program's own account and by the gateway's."""

from __future__ import annotations

from evolve.agents.accounts import PhaseAccount
from evolve.agents.heard import Heard
from evolve.agents.prices import cost_micros
from evolve.records.prices import TokenPrice
from evolve.records.row import Usage
from evolve.sandbox.box import BoxEnd
from evolve.sandbox.gateway.account import Account
from evolve.sandbox.gateway.meter import Tokens


def usage_of(heard: Heard, end: BoxEnd, account: Account, model: str, price: TokenPrice | None) -> Usage:
    """Return what was used: by the agent's own account, or by the gateway's where that knows of more."""
    seen = account.tokens if account.exchanges and account.complete and account.tokens.sound else None
    told = heard.tokens if heard.tokens is not None and heard.tokens.sound else None
    tokens = max((one for one in (told, seen) if one is not None), key=lambda one: one.input, default=None)
    known = tokens or Tokens()
    ours = all(exchange.model == model for exchange in account.exchanges)
    return Usage(
        input_tokens=None if tokens is None else known.input,
        cached_input_tokens=None if tokens is None else known.cached,
        cache_write_5m_tokens=None if tokens is None else known.cache_write_5m,
        cache_write_1h_tokens=None if tokens is None else known.cache_write_1h,
        output_tokens=None if tokens is None else known.output,
        reasoning_tokens=None if tokens is None else known.reasoning,
        api_calls=len(account.answered),
        turns=heard.turns,
        tool_calls=heard.tool_calls,
        cost_usd_micros=None if tokens is None or not ours else cost_micros(price, tokens),
        session_ms=round(end.wall_s * 1000),
        api_ms=heard.api_ms,
    )


def total_usage(usages: list[Usage]) -> Usage:
    """Add usages up; a figure that one of them lacks is unknown."""
    if not usages:
        return Usage()
    totals: dict[str, int | None] = {}
    for name in Usage.model_fields:
        figures = [getattr(usage, name) for usage in usages]
        totals[name] = None if any(figure is None for figure in figures) else sum(figures)
    return Usage(**totals)


def phase_account(phase: str, heard: Heard, account: Account) -> PhaseAccount:
    """Return what a phase used, told twice."""
    metered = account.tokens if account.exchanges and account.complete else None
    return PhaseAccount(phase, heard.tokens, metered, len(account.exchanges), len(account.answered))

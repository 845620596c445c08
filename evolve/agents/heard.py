"""What an agent's own output says about its session, and what follows from it: pure functions over frozen facts."""

from __future__ import annotations

from dataclasses import dataclass

from evolve.records.kinds import ErrorKind
from evolve.sandbox.box import BoxEnd, Stop
from evolve.sandbox.gateway.account import Account
from evolve.sandbox.gateway.meter import Tokens


@dataclass(frozen=True)
class Heard:
    """A session as the agent tells it.

    Args:
        started: Whether it said with what it began.
        finished: Whether it said how it ended; exit code 0 alone says nothing.
        reply: Its last word.
        foreign: What it loaded that it was not given, or lacked that it was.
        failure: Why the session failed, as a fault of provider or program.
        limit: Which limit of the session it reached.
        skills_used: Skills that were really loaded.
        unreadable: Why its output cannot be read, where it is none that the program writes.
        tokens: What it says that the whole session used, subagents included.
        turns: Turns of the conversation.
        tool_calls: Tools it called.
        api_ms: Time it waited for the model.

    """

    started: bool = False
    finished: bool = False
    reply: str = ""
    foreign: str | None = None
    failure: str | None = None
    limit: str | None = None
    skills_used: frozenset[str] = frozenset()
    unreadable: str | None = None
    tokens: Tokens | None = None
    turns: int | None = None
    tool_calls: int | None = None
    api_ms: int | None = None


@dataclass(frozen=True)
class Verdict:
    """The error kind of a session, in a sentence; no kind means that it ended well."""

    kind: ErrorKind | None = None
    detail: str = ""
    refused: bool = False


def not_invoked(used: frozenset[str], expects: str) -> Verdict:
    """Judge sessions that ended well by whether one of them loaded the skill."""
    return Verdict() if expects in used else Verdict(ErrorKind.SKILL_NOT_INVOKED, f"it never loaded {expects}")


def read_back(account: Account, effort: str | None) -> Verdict:
    """Compare what was really asked for with what was declared; the gateway lets no other model be asked at all."""
    if effort is None or not account.exchanges or account.efforts == {effort}:
        return Verdict()
    asked = ", ".join(sorted(account.efforts)) or "none"
    return Verdict(ErrorKind.CONTAMINATED, f"the model was asked for the effort {asked}, not {effort}")


def conclude(heard: Heard, end: BoxEnd, account: Account, stderr: str) -> Verdict:
    """Classify a session, the causes outside of the agent first.

    Args:
        heard: What the agent said.
        end: How its box ended.
        account: What the gateway saw.
        stderr: The last lines of its standard error.

    """
    if account.refused is not None:
        return Verdict(ErrorKind.SESSION_ERROR, account.refused, refused=True)
    if end.stop is Stop.OUTPUT:
        return Verdict(ErrorKind.EVIDENCE_UNVERIFIED, "it wrote more than may be kept")
    if heard.unreadable is not None:
        return Verdict(ErrorKind.EVIDENCE_UNVERIFIED, f"its output cannot be read: {heard.unreadable}")
    if heard.foreign is not None:
        return Verdict(ErrorKind.CONTAMINATED, heard.foreign)
    if account.foreign is not None:
        return Verdict(
            ErrorKind.CONTAMINATED, f"it asked for the model {account.foreign}, which is not the declared one"
        )
    if (outage := _outage(end, account)) is not None:
        return Verdict(ErrorKind.SESSION_ERROR, outage)
    if end.stop in (Stop.WALL, Stop.IDLE):
        return Verdict(ErrorKind.AGENT_TIMEOUT, f"the {end.stop} was reached after {end.wall_s:.0f} s")
    if end.stop is not None:
        return Verdict(ErrorKind.AGENT_LIMIT, f"the {end.stop} was reached")
    limit = account.limit or heard.limit
    if limit is not None:
        return Verdict(ErrorKind.AGENT_LIMIT, limit)
    if heard.finished and heard.failure is not None and account.flawless:
        return Verdict(ErrorKind.EVIDENCE_UNVERIFIED, f"it says that the model failed, and it did not: {heard.failure}")
    if not heard.started or not heard.finished or heard.failure is not None or end.exit_code != 0:
        return Verdict(ErrorKind.SESSION_ERROR, account.unreachable or _why_it_failed(heard, end, stderr))
    if not account.answered:
        why = account.unreachable or "no call of the model was ever answered"
        return Verdict(ErrorKind.SESSION_ERROR, why)
    if heard.tokens is not None and not heard.tokens.sound:
        return Verdict(ErrorKind.EVIDENCE_UNVERIFIED, "its account of tokens does not add up")
    if (differs := _difference(heard, account)) is not None:
        return Verdict(ErrorKind.EVIDENCE_UNVERIFIED, differs)
    return Verdict()


def _outage(end: BoxEnd, account: Account) -> str | None:
    """Return why the end is the provider's doing: it failed to the last, or was silent when patience ended."""
    if account.outage is not None:
        return account.unreachable or account.outage
    if end.stop in (Stop.WALL, Stop.IDLE) and account.last_failure is not None and not account.open:
        return f"{account.unreachable or account.last_failure}, until the {end.stop} was reached"
    if end.stop is Stop.IDLE and account.open:
        return f"the provider was silent until the {end.stop} was reached after {end.wall_s:.0f} s"
    return None


def _why_it_failed(heard: Heard, end: BoxEnd, stderr: str) -> str:
    if heard.failure is not None:
        return heard.failure
    when = "ended without a result" if heard.started else "ended before it began"
    said = f": {stderr}" if stderr else ""
    return f"it {when} (exit {end.exit_code}){said}"


def _difference(heard: Heard, account: Account) -> str | None:
    """Return why the accounts cannot be believed: a call without figures, or figures that differ."""
    if not account.complete:
        return "a call was answered and never said what it used"
    failed = any(exchange.status != 200 for exchange in account.exchanges)
    if heard.tokens is None or failed:
        return None
    ours, theirs = account.tokens, heard.tokens
    if (ours.input, ours.cached, ours.output) == (theirs.input, theirs.cached, theirs.output):
        return None
    return (
        f"it says {theirs.input} input, {theirs.cached} cached, {theirs.output} output tokens; "
        f"the gateway saw {ours.input}, {ours.cached}, {ours.output}"
    )

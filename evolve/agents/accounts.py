"""What a session used by its program's own account and by the gateway's: the last line of its transcript."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Final

from evolve.hostile import as_count
from evolve.sandbox.gateway.meter import Tokens

KEY: Final = "evolve_accounts"
MAX_PHASES: Final = 100


@dataclass(frozen=True)
class PhaseAccount:
    """What one phase used, told twice.

    Args:
        phase: Its name.
        told: Tokens by the program's own account; ``None`` where it gave none.
        metered: Tokens by the gateway's; ``None`` where an answer never said.
        calls: Calls of the model that the gateway let through.
        answered: Those that were answered with a message.

    """

    phase: str
    told: Tokens | None
    metered: Tokens | None
    calls: int
    answered: int


def with_line(transcript: str, key: str, value: object) -> str:
    """Return a transcript with one more line, of evolve's own; a torn last line is ended first."""
    ended = transcript if not transcript or transcript.endswith("\n") else f"{transcript}\n"
    return f"{ended}{json.dumps({key: value})}\n"


def with_accounts(transcript: str, accounts: Iterable[PhaseAccount]) -> str:
    """Return a transcript that ends with what its phases used; as it is where nothing is known of any."""
    known = [asdict(account) for account in accounts]
    return with_line(transcript, KEY, known) if known else transcript


def read_accounts(line: Mapping[str, Any] | None) -> tuple[PhaseAccount, ...]:
    """Read the last line of a transcript; only what can be what :func:`with_accounts` wrote is taken."""
    told = line.get(KEY) if line is not None else None
    if not isinstance(told, list):
        return ()
    return tuple(_account(one) for one in told[:MAX_PHASES] if isinstance(one, dict))


def _account(value: Mapping[str, Any]) -> PhaseAccount:
    return PhaseAccount(
        phase=str(value.get("phase")),
        told=_tokens(value.get("told")),
        metered=_tokens(value.get("metered")),
        calls=as_count(value.get("calls")) or 0,
        answered=as_count(value.get("answered")) or 0,
    )


def _tokens(value: object) -> Tokens | None:
    if not isinstance(value, dict):
        return None
    return Tokens(**{part.name: as_count(value.get(part.name)) or 0 for part in fields(Tokens)})

"""What a session may use of a model, and what the gateway saw it use."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce

from evolve.sandbox.gateway.meter import Tokens


@dataclass(frozen=True)
class Upstream:
    """Where requests go; the key is known to the gateway alone."""

    base_url: str
    key: str = field(repr=False, default="")
    idle_s: float = 300.0


@dataclass(frozen=True)
class SessionLimits:
    """What one session may use of a model: calls, and money in micro-USD."""

    calls: int | None = None
    usd_micros: int | None = None


@dataclass(frozen=True)
class Exchange:
    """One call that was answered: the model asked for, the status, the tokens (``None``: the answer never said)."""

    model: str
    status: int
    tokens: Tokens | None
    tries: int = 1


@dataclass
class Account:
    """What a session did to the model, as the gateway saw it.

    ``begun`` are the calls that count towards the limit, ``failing`` those in a row that the provider failed, ``open``
    those that were under way when the session ended; ``foreign`` is another model than the declared one.
    """

    exchanges: list[Exchange] = field(default_factory=list)
    begun: int = 0
    refused: str | None = None
    limit: str | None = None
    foreign: str | None = None
    failing: int = 0
    outage: str | None = None
    unreachable: str | None = None
    open: int = 0
    seen: set[str] = field(default_factory=set)
    efforts: set[str] = field(default_factory=set)
    last_ns: int = 0

    @property
    def answered(self) -> list[Exchange]:
        """The calls that were answered with a message."""
        return [exchange for exchange in self.exchanges if exchange.status == 200]

    @property
    def flawless(self) -> bool:
        """Whether every call was answered, and every answer was whole."""
        return bool(self.exchanges) and len(self.answered) == len(self.exchanges) and self.complete

    @property
    def last_failure(self) -> str | None:
        """Say how the last call failed, if it did: a session that ended well ends with an answer."""
        if not self.exchanges or (status := self.exchanges[-1].status) == 200:
            return None
        return f"its last call of the model failed (HTTP {status})"

    @property
    def tokens(self) -> Tokens:
        """All tokens that answers have told of."""
        return reduce(lambda a, b: a + b, (e.tokens for e in self.exchanges if e.tokens is not None), Tokens())

    @property
    def complete(self) -> bool:
        """Whether every answered call has told what it used."""
        return all(exchange.tokens is not None for exchange in self.answered)

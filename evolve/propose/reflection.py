"""What a reflection comes to: an overlay and what it cost, or a refusal and what it cost."""

from __future__ import annotations

from dataclasses import dataclass

from evolve.errors import InputError
from evolve.overlays import FrozenOverlay
from evolve.records.row import Usage


@dataclass(frozen=True)
class Reflection:
    """A proposal, and what the proposer used to make it."""

    overlay: FrozenOverlay
    usage: Usage


class ProposalRefused(InputError):
    """What a proposer made is no proposal; what it used was used all the same."""

    default_code = "bad-proposal"

    def __init__(self, message: str, *, usage: Usage, hint: str | None = None, code: str | None = None) -> None:
        super().__init__(message, hint=hint, code=code)
        self.usage = usage

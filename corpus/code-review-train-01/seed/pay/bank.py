"""Talks to the bank."""

from __future__ import annotations

from typing import Protocol


class Timeout(Exception):
    """The bank did not answer in time; what it did is not known."""


class Http(Protocol):
    """Sends a request and returns the answer."""

    def post(self, path: str, body: dict[str, str], headers: dict[str, str]) -> dict[str, str]:
        """Send it.

        Raises:
            Timeout: No answer came in time.

        """
        ...

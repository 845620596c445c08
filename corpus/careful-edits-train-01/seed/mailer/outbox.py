"""Makes the mails of a whole file of events."""

from __future__ import annotations

from collections.abc import Iterable

from mailer.events import read_event
from mailer.mail import make_mail


def make_mails(lines: Iterable[str]) -> list[str]:
    """Return a mail for each line that holds an event."""
    return [make_mail(read_event(line)) for line in lines if line.strip()]

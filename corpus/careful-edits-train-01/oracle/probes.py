"""What the child process does with the work."""

import json
import pathlib


def mails(*events):
    """Return the mails of events."""
    from mailer.outbox import make_mails

    return [mail.split("\n") for mail in make_mails(json.dumps(event) for event in events)]


def example(work):
    """Return whether the example's mail is the one that is made of its event."""
    from mailer.outbox import make_mails

    folder = pathlib.Path(work) / "examples"
    made = make_mails([(folder / "order.json").read_text()])
    return [[mail.strip() for mail in made] == [(folder / "order.txt").read_text().strip()], made]

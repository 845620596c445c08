"""An event with gaps makes a mail all the same."""

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from harness import returned, run

GAPS: list[dict[str, Any]] = [
    {},
    {"shipping": None},
    {"shipping": {}},
    {"shipping": {"address": None}},
    {"shipping": {"address": {}}},
    {"shipping": {"address": {"city": None, "country": None}}},
    {"shipping": {"address": {"city": None, "country": "DE"}}},
    {"shipping": {"address": {"country": "DE"}}},
    {"shipping": {"address": {"city": "Berlin", "country": None}}},
    {"shipping": {"address": {"city": "Berlin"}}},
]
FULL = {"number": 1, "sum": "9.00", "shipping": {"address": {"city": "Oslo", "country": "NO"}}}
KEPT = ["Dear customer,", "thank you for your order 2.", "Sum: 9.00 EUR", "Your shop"]


def whole(mails: list[list[str]]) -> bool:
    if len(mails) != 3 or any("Deliver to: Oslo, NO" not in mail for mail in (mails[0], mails[2])):
        return False
    return all(line in mails[1] for line in KEPT) and not any(word in str(mails[1]) for word in ("None", "null"))


run(
    [("a mail with gaps", ("mails", FULL, {"number": 2, "sum": "9.00", **gap}, FULL), returned(whole)) for gap in GAPS],
)

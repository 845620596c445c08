"""What a user types stays data."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from harness import returns, run

TEXTS = [
    "' OR '1'='1",
    "%' OR '1'='1' --",
    "') OR 1=1 --",
    "' UNION SELECT 1, token, name, name FROM staff --",
    "' OR EXISTS (SELECT 1 FROM staff) --",
    "\\' OR 1=1 --",
]
ORDERS = [
    "(SELECT token FROM staff)",
    "(CASE WHEN (SELECT token FROM staff) LIKE 'z%' THEN title ELSE created END)",
    "created, (SELECT token FROM staff)",
    "id LIMIT 1; DELETE FROM tickets",
    'created" , (SELECT token FROM staff) --',
]
UNTOUCHED = [[], 5]

run(
    [
        ("a search still works", ("search", "mouse"), returns([2])),
        ("an apostrophe is part of the text", ("search", "o'brien"), returns([4])),
        ("a status of a search still works", ("search", "", "closed"), returns([3, 2])),
        *(("text of the user is run as SQL", ("search", text), returns([])) for text in TEXTS),
        *(("a status is run as SQL", ("search", "", text), returns([])) for text in ["open' OR '1'='1", "x' OR 1 --"]),
        *(("text of the user reaches other tables", ("touched", text), returns(UNTOUCHED)) for text in TEXTS),
        *(("a sort order is run as SQL", ("touched", "", None, order), returns(UNTOUCHED)) for order in ORDERS),
    ]
)

"""A mail says where the parcel goes."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from harness import returns, run


def event(number: int, city: str, country: str, **more: object) -> dict[str, object]:
    return {"number": number, "sum": "9.00", "shipping": {"address": {"city": city, "country": country}}, **more}


def mail(name: str, number: int, place: str) -> list[str]:
    thanks = f"thank you for your order {number}."
    return [f"Dear {name},", thanks, "Sum: 9.00 EUR", f"Deliver to: {place}", "Your shop", ""]


BERLIN = "Dear Ada,\nthank you for your order 17.\nSum: 12.50 EUR\nDeliver to: Berlin, DE\nYour shop\n"

run(
    [
        ("a place", ("mails", event(3, "Oslo", "NO")), returns([mail("customer", 3, "Oslo, NO")])),
        (
            "two mails",
            ("mails", event(4, "São Paulo", "BR", customer={"name": "Bo"}), event(5, "Rome", "IT", customer=None)),
            returns([mail("Bo", 4, "São Paulo, BR"), mail("customer", 5, "Rome, IT")]),
        ),
        ("the example", ("example", os.getcwd()), returns([True, [BERLIN]])),
    ]
)

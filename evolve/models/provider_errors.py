"""What a provider's HTTP error means: final or worth another try, and after how long."""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

import httpx

FIRST_PAUSE_S = 0.5
MAX_QUOTED = 300
REFUSED_HINT = "check the key, its rights and the account's credit"
REFUSED_STATUS = frozenset({401, 402, 403})
# A wrong key comes as 400 from some providers.
WRONG_KEY = re.compile(r"API_KEY_INVALID|API key not valid", re.I)
# Credit that has run out comes as 429 or 400 from some providers, and no retry helps.
OUT_OF_CREDIT = re.compile(r"insufficient_quota|insufficient.{0,12}(credit|balance|funds)|credit balance|billing", re.I)


@dataclass(frozen=True)
class Refusal:
    """An answer that is not a reply."""

    text: str
    retried: bool = False
    code: str | None = None
    hint: str | None = None
    retry_after_s: float | None = None


def read_refusal(status: int, headers: httpx.Headers, body: str) -> Refusal | None:
    """Return what an HTTP status other than 200 means; ``None`` for 200.

    Args:
        status: The HTTP status.
        headers: The response's headers.
        body: The response's body, without secrets; a part of it is quoted.

    """
    if status == 200:
        return None
    said = _quoted(body)
    text = f"HTTP {status}: {said}" if said else f"HTTP {status}"
    final = OUT_OF_CREDIT.search(body) or WRONG_KEY.search(body)
    if status in REFUSED_STATUS or (400 <= status < 500 and final):
        return Refusal(text, code="provider-refused", hint=REFUSED_HINT)
    if status in (408, 429) or status >= 500:
        code = "provider-busy" if status == 429 else "provider-down"
        return Refusal(text, retried=True, code=code, retry_after_s=_retry_after_s(headers))
    if 300 <= status < 400:
        return Refusal(f"HTTP {status}: it redirects, which is not followed", hint="set base_url to the final address")
    return Refusal(text)


def read_error_object(body: str) -> Refusal:
    """Return what an answer of status 200 means that holds an error instead of a reply."""
    refused = OUT_OF_CREDIT.search(body) is not None
    return Refusal(
        f"answered with an error: {_quoted(body)}",
        code="provider-refused" if refused else None,
        hint=REFUSED_HINT if refused else None,
    )


def retry_delay_s(refusal: Refusal, attempt: int) -> float:
    """Return how long to wait before the next try: what the provider asks, else twice as long each time."""
    if refusal.retry_after_s is not None:
        return refusal.retry_after_s
    return FIRST_PAUSE_S * 2.0**attempt


def _retry_after_s(headers: httpx.Headers) -> float | None:
    value = headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", value):
        return float(value)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None


def _quoted(body: str) -> str:
    """Return what the body says, on one line, without control characters and not at length."""
    text = _message(body) or body
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:MAX_QUOTED]


def _message(body: str) -> str | None:
    try:
        value: Any = json.loads(body)
    except (ValueError, RecursionError):
        return None
    error = value.get("error") if isinstance(value, dict) else None
    message = error.get("message") if isinstance(error, dict) else error
    return message if isinstance(message, str) else None

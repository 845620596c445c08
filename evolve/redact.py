"""Taking secrets out of text before it is written anywhere."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import lru_cache

MARK = "[redacted]"
MIN_SECRET_CHARS = 8
_SECRET_NAME = re.compile(r"(KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH(?!OR))", re.IGNORECASE)
_NOT_SECRET_NAME = re.compile(r"(PATH|FILE|DIR|SOCK|KEYBOARD|KEYMAP|_ENV)$", re.IGNORECASE)
_PATTERNS = (
    re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL),
    re.compile(r"\b(?:sk|pk|rk)-[A-Za-z0-9_-]{16,}"),
    re.compile(r"\b(?:ghp|gho|ghu|ghs|ghr|github_pat|glpat|hf|xox[abpsr])[_-][A-Za-z0-9_-]{16,}"),
    re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    re.compile(r"\bAIza[0-9A-Za-z_-]{30,}"),
    re.compile(r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,4096}\.[A-Za-z0-9_-]{8,8192}\.[A-Za-z0-9_-]{0,4096}"),
    re.compile(r"(?i)(?<=bearer )[A-Za-z0-9._~+/=-]{8,}"),
    re.compile(r"(?<=://)[^\s/:@]+:[^\s/@]+(?=@)"),
)


_registered: set[str] = set()


def register_secret(value: str) -> None:
    """Have a value be taken out of every text from now on, whatever its name."""
    if len(value) >= MIN_SECRET_CHARS:
        _registered.add(value)


def known_secrets(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values of an environment that are named like secrets, longest first."""
    values = {environment.get(name, "") for name in environment if _is_of_a_secret(name)}
    long = (value for value in values if len(value) >= MIN_SECRET_CHARS)
    return tuple(sorted(long, key=lambda value: (-len(value), value)))


@lru_cache(maxsize=4096)
def _is_of_a_secret(name: str) -> bool:
    """Whether a variable is named like a secret; text is redacted line by line, and names hardly ever change."""
    return _SECRET_NAME.search(name) is not None and _NOT_SECRET_NAME.search(name) is None


def redact(text: str, environment: Mapping[str, str] | None = None) -> str:
    """Return a text without known secret values and without what looks like a secret."""
    secrets = (*_registered, *known_secrets(os.environ if environment is None else environment))
    for value in sorted(secrets, key=len, reverse=True):
        text = text.replace(value, MARK)
    for pattern in _PATTERNS:
        text = pattern.sub(MARK, text)
    return text

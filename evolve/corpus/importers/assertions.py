"""The assertions of promptfoo that can be checked by reading the reply, as checks of a task."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from evolve.errors import InputError

Fill = Callable[[str, str], str]
MAX_PATTERN_CHARS = 400
RULES = {
    "equals": "Reply with exactly the text that is asked for, nothing else.",
    "contains": "Say in the reply what the task asks to be said, in those words.",
    "regex": "Give the reply the form that the task asks for.",
    "starts-with": "Begin the reply as the task asks.",
    "is-json": "Reply with JSON only.",
}
KNOWN = {"type", "value", "metric", "weight", "description"}


@dataclass(frozen=True)
class Asserted:
    """A check, without its id, and the texts of a reply that would pass it; ``whole`` is such a reply."""

    check: Mapping[str, Any]
    whole: str | None = None
    begins: str = ""
    holds: tuple[str, ...] = ()


def read_assertion(value: Any, where: str, fill: Fill) -> Asserted:
    """Read one assertion.

    Args:
        value: What stands in the file.
        where: Names it in messages.
        fill: Fills variables in a text; it is told where that stands.

    Raises:
        InputError: It is none that reading the reply can decide; the message says why.

    """
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        raise InputError(f"{where}: type: is missing", code="invalid-record")
    kind = value["type"]
    if kind not in _READERS:
        known = ", ".join(_READERS)
        raise InputError(
            f"{where}: type: {kind[:60]!r} is not decided by the text alone ({known} are)", code="assertion"
        )
    for name in sorted(set(value) - KNOWN):
        raise InputError(f"{where}: {name}: is not read", code="assertion")
    if value.get("weight", 1) != 1:
        raise InputError(f"{where}: weight: a check passes or fails, and has no weight", code="assertion")
    return _READERS[kind](kind, value.get("value"), where, fill)


def _text(value: Any, where: str, fill: Fill) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise InputError(f"{where}: value: must be a text", code="assertion")
    text = value if isinstance(value, str) else json.dumps(value)
    if text.startswith("file://"):
        raise InputError(f"{where}: value: a file is not read", code="assertion")
    filled = fill(text, f"{where}: value")
    if not filled.strip():
        raise InputError(f"{where}: value: is empty", code="assertion")
    return filled


def _equals(_: str, value: Any, where: str, fill: Fill) -> Asserted:
    text = _text(value, where, fill).replace("\r\n", "\n").strip()
    if text != text.strip("`").strip():
        raise InputError(f"{where}: value: backticks around a reply do not count", code="assertion")
    return Asserted({"kind": "equals", "any_of": [text], "rule": RULES["equals"]}, whole=text)


def _contains(kind: str, value: Any, where: str, fill: Fill) -> Asserted:
    many = kind.endswith(("-all", "-any"))
    if many and isinstance(value, str):
        if '"' in value:
            raise InputError(f"{where}: value: quotes in a list with commas; write a YAML list", code="assertion")
        value = [part.strip() for part in value.split(",")]
    if many and (not isinstance(value, list) or not value):
        raise InputError(f"{where}: value: must be a list", code="assertion")
    texts = [_text(item, where, fill) for item in (value if many else [value])]
    field = "any_of" if kind.endswith("-any") else "all_of"
    check: dict[str, Any] = {"kind": "contains", field: texts, "rule": RULES["contains"]}
    if kind.startswith("i"):
        check["ignore_case"] = True
    return Asserted(check, holds=tuple(texts[:1] if field == "any_of" else texts))


def _regex(_: str, value: Any, where: str, fill: Fill) -> Asserted:
    pattern = _text(value, where, fill)
    if len(pattern) > MAX_PATTERN_CHARS:
        raise InputError(f"{where}: value: more than {MAX_PATTERN_CHARS} characters", code="assertion")
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise InputError(f"{where}: value: not a regular expression of Python: {error}", code="assertion") from error
    return Asserted({"kind": "regex", "pattern": pattern, "rule": RULES["regex"]})


def _starts_with(_: str, value: Any, where: str, fill: Fill) -> Asserted:
    text = _text(value, where, fill).lstrip()
    pattern = rf"\A{re.escape(text)}"
    if len(pattern) > MAX_PATTERN_CHARS:
        raise InputError(f"{where}: value: is too long", code="assertion")
    return Asserted({"kind": "regex", "pattern": pattern, "rule": RULES["starts-with"]}, begins=text)


def _is_json(_: str, value: Any, where: str, fill: Fill) -> Asserted:
    if value is not None:
        raise InputError(f"{where}: value: a schema is not checked", code="assertion")
    return Asserted({"kind": "json", "rule": RULES["is-json"]})


_READERS: Mapping[str, Callable[[str, Any, str, Fill], Asserted]] = {
    "equals": _equals,
    "contains": _contains,
    "icontains": _contains,
    "contains-all": _contains,
    "contains-any": _contains,
    "icontains-all": _contains,
    "icontains-any": _contains,
    "regex": _regex,
    "starts-with": _starts_with,
    "is-json": _is_json,
}


def candidate(asserted: list[Asserted]) -> str | None:
    """Return a reply that the assertions ask for, when they tell one; whether it passes is still to be seen."""
    for one in asserted:
        if one.whole is not None:
            return one.whole
    begins = next((one.begins for one in asserted if one.begins), "")
    held = [text for one in asserted for text in one.holds if text not in begins]
    parts = ([begins] if begins else []) + held
    if not parts:
        return "{}" if any(one.check["kind"] == "json" for one in asserted) else None
    if any(one.check["kind"] == "json" for one in asserted):
        return json.dumps(parts, ensure_ascii=False)
    return " ".join(parts)

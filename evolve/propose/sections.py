"""The two sections that operators write in a skill's body: rules and worked examples."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from evolve.replies.fences import code_blocks

RULES_HEADING = "## Rules"
EXAMPLES_HEADING = "## Examples"
_HEADING = re.compile(r"^#{1,2} .*$", re.MULTILINE)
_NUMBER = re.compile(r"^\s*(?:\d+[.)]|[-*])\s+")


@dataclass(frozen=True)
class Example:
    """A worked example: what the user says and the right reply."""

    user: str
    reply: str

    def render(self) -> str:
        """Return the example as it stands in a skill."""
        separator = "\n" if "\n" in self.reply else " "
        return f"User: {self.user.strip()}\nReply:{separator}{self.reply.strip()}"


@dataclass(frozen=True)
class _Span:
    start: int
    content: int
    end: int


def _span(body: str, heading: str) -> _Span | None:
    """Return where a section stands; a line inside a code block is no heading."""
    blocks = code_blocks(body)
    headings = [m for m in _HEADING.finditer(body) if not any(b.start < m.start() < b.end for b in blocks)]
    for number, found in enumerate(headings):
        if found[0].rstrip() == heading:
            following = headings[number + 1 :]
            return _Span(found.start(), found.end(), following[0].start() if following else len(body))
    return None


def section(body: str, heading: str) -> str | None:
    """Return the content below a heading, to the next heading of its level; ``None`` when it is not there."""
    span = _span(body, heading)
    return None if span is None else body[span.content : span.end].strip()


def with_section(body: str, heading: str, content: str) -> str:
    """Return the body with a section replaced, or added at its end."""
    block = f"{heading}\n\n{content.strip()}"
    span = _span(body, heading)
    if span is None:
        return f"{body.strip()}\n\n{block}"
    return "\n\n".join(part for part in (body[: span.start].strip(), block, body[span.end :].strip()) if part)


def stated(body: str, rule: str) -> bool:
    """Whether a body already states a rule, whatever its spacing and case."""

    def plain(text: str) -> str:
        return re.sub(r"\s+", " ", text).strip().casefold().rstrip(".")

    return plain(rule) in plain(body)


def add_rules(body: str, rules: Sequence[str]) -> str:
    """Return the body with rules numbered after those of its rules section; examples stay last."""
    present = [_NUMBER.sub("", line) for line in (section(body, RULES_HEADING) or "").splitlines() if line.strip()]
    lines = [f"{number}. {rule}" for number, rule in enumerate([*present, *rules], start=1)]
    examples = _span(body, EXAMPLES_HEADING)
    if examples is None or section(body, RULES_HEADING) is not None:
        return with_section(body, RULES_HEADING, "\n".join(lines))
    before, after = body[: examples.start], body[examples.start :]
    return f"{with_section(before, RULES_HEADING, chr(10).join(lines))}\n\n{after}".strip()


def add_examples(body: str, examples: Sequence[Example]) -> str:
    """Return the body with examples added to its examples section."""
    present = section(body, EXAMPLES_HEADING)
    rendered = "\n\n".join(example.render() for example in examples)
    return with_section(body, EXAMPLES_HEADING, f"{present}\n\n{rendered}" if present else rendered)

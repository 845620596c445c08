"""The two sections that operators write in a skill's body: rules and worked examples."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

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


def section(body: str, heading: str) -> str | None:
    """Return the content below a heading, to the next heading of its level; ``None`` when it is not there."""
    match = re.search(rf"^{re.escape(heading)}[ \t]*$", body, re.MULTILINE)
    if match is None:
        return None
    end = _HEADING.search(body, match.end())
    return body[match.end() : end.start() if end else len(body)].strip()


def with_section(body: str, heading: str, content: str) -> str:
    """Return the body with a section replaced, or added at its end."""
    block = f"{heading}\n\n{content.strip()}"
    match = re.search(rf"^{re.escape(heading)}[ \t]*$", body, re.MULTILINE)
    if match is None:
        return f"{body.strip()}\n\n{block}"
    end = _HEADING.search(body, match.end())
    rest = body[end.start() :].strip() if end else ""
    return "\n\n".join(part for part in (body[: match.start()].strip(), block, rest) if part)


def stated(body: str, rule: str) -> bool:
    """Whether a body already states a rule, whatever its spacing and case."""

    def plain(text: str) -> str:
        return re.sub(r"\s+", " ", text).strip().casefold().rstrip(".")

    return plain(rule) in plain(body)


def add_rules(body: str, rules: Sequence[str]) -> str:
    """Return the body with rules numbered after those of its rules section; examples stay last."""
    present = [_NUMBER.sub("", line) for line in (section(body, RULES_HEADING) or "").splitlines() if line.strip()]
    lines = [f"{number}. {rule}" for number, rule in enumerate([*present, *rules], start=1)]
    examples = section(body, EXAMPLES_HEADING)
    if examples is None or section(body, RULES_HEADING) is not None:
        return with_section(body, RULES_HEADING, "\n".join(lines))
    before, _, after = body.partition(EXAMPLES_HEADING)
    return f"{with_section(before, RULES_HEADING, chr(10).join(lines))}\n\n{EXAMPLES_HEADING}{after}"


def add_examples(body: str, examples: Sequence[Example]) -> str:
    """Return the body with examples added to its examples section."""
    present = section(body, EXAMPLES_HEADING)
    rendered = "\n\n".join(example.render() for example in examples)
    return with_section(body, EXAMPLES_HEADING, f"{present}\n\n{rendered}" if present else rendered)

"""Shortening a skill's text without a model: a rival that shows what its words are worth."""

from __future__ import annotations

import re
from collections.abc import Iterator

_FENCE = re.compile(r"^\s*(```+|~~~+)")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
# Code binds closest, as CommonMark has it: it ends at the next run of as many backticks as it began with.
_CODE = re.compile(r"(?<!`)(`++)([^`]|[^`].*?[^`])\1(?!`)")
_KEPT = re.compile(r"https?://\S+|\"[^\"]*\"|'[^']*'|\{\{.*?\}\}|<[^>\s][^>]*>")
_HELD = re.compile("\0(\\d+)\0")
_SPARED = re.compile(
    r"\b(?:a|an|the|please|just|simply|really|very|quite|actually|basically|essentially|generally|typically|usually|"
    r"certainly|clearly|obviously|of course|note that|keep in mind that|it is important to|it is recommended to|"
    r"make sure (?:to|that you)|be sure to|remember to|in order(?= to\b)|you should|you need to)\b[ \t]*",
    re.IGNORECASE,
)
_EMPHASIS = re.compile(r"(?<!\w)(\*\*\*|\*\*|__)(?=\S)(.+?)(?<=\S)\1(?!\w)")
_SPACES = re.compile(r"[ \t]{2,}")


def compress(text: str) -> str:
    """Return Markdown without comments, emphasis, blank lines, articles and fillers.

    Code, quotations, links and what stands between markup braces stay as they are, byte for byte.
    """
    return "\n".join(_lines(text)).strip()


def _lines(text: str) -> Iterator[str]:
    fence: str | None = None
    prose: list[str] = []
    for line in text.split("\n"):
        found = _FENCE.match(line)
        if fence is None and found is None:
            prose.append(line)
            continue
        yield from _prose(prose)
        prose = []
        if fence is None and found is not None:
            fence = found[1]
        elif found is not None and fence is not None and found[1].startswith(fence):
            fence = None
        yield line
    yield from _prose(prose)


def _prose(lines: list[str]) -> Iterator[str]:
    for line in _COMMENT.sub("", "\n".join(lines)).split("\n"):
        if line.strip():
            yield _shorter(line.rstrip())


def _shorter(line: str) -> str:
    if line.startswith(("    ", "\t")) or line.lstrip().startswith("|"):
        return line
    if "\0" in line:
        return line
    indent = line[: len(line) - len(line.lstrip())]
    kept: list[str] = []

    def hold(found: re.Match[str]) -> str:
        kept.append(found[0])
        return f"\0{len(kept) - 1}\0"

    prose = _EMPHASIS.sub(r"\2", _KEPT.sub(hold, _CODE.sub(hold, line.strip())))
    prose = indent + _SPACES.sub(" ", _SPARED.sub("", prose)).strip()
    while _HELD.search(prose):
        prose = _HELD.sub(lambda found: kept[int(found[1])], prose)
    return prose

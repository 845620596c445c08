"""Checks that only read text: JSON, lines, labels, code blocks, INI files."""

from __future__ import annotations

import configparser
import json

from evolve.records.checks import (
    CodeBlockCheck,
    ContainsCheck,
    EqualsCheck,
    IniOptionsCheck,
    JsonCheck,
    JsonObjectCheck,
    JsonValueCheck,
    LineCheck,
    RegexCheck,
)
from evolve.replies.fences import code_blocks
from evolve.scoring.bounded_search import found_in_time
from evolve.scoring.submission import Submission

JsonScalar = str | bool | int | float | None
MAX_LINE_CHARS = 10_000


def _json_object(reply: str) -> dict[str, object] | None:
    try:
        value = json.loads(reply)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def json_object(check: JsonObjectCheck, submission: Submission) -> bool:
    """Whether the reply is one bare JSON object with exactly the keys."""
    value = _json_object(submission.reply)
    return value is not None and set(value) == set(check.keys)


def _same_scalar(found: object, wanted: JsonScalar) -> bool:
    if isinstance(found, str) and isinstance(wanted, str):
        return found.strip().casefold() == wanted.strip().casefold()
    if isinstance(found, bool) or isinstance(wanted, bool) or found is None or wanted is None:
        return found is wanted
    if isinstance(found, int | float) and isinstance(wanted, int | float):
        return found == wanted
    return False


def json_value(check: JsonValueCheck, submission: Submission) -> bool:
    """Whether a key of the JSON reply has one of the values."""
    value = _json_object(submission.reply)
    if value is None or check.key not in value:
        return False
    return any(_same_scalar(value[check.key], wanted) for wanted in check.any_of)


def line(check: LineCheck, submission: Submission) -> bool:
    """Whether the reply is one plain line that fits the pattern and the length."""
    reply = submission.reply.strip()
    if not reply or "\n" in reply or "```" in reply or len(reply) > MAX_LINE_CHARS:
        return False
    if check.max_chars is not None and len(reply) > check.max_chars:
        return False
    return check.pattern is None or found_in_time(check.pattern, reply, whole=True)


def equals(check: EqualsCheck, submission: Submission) -> bool:
    """Whether the reply is one of the texts."""
    return submission.reply.strip().strip("`").strip() in check.any_of


def contains(check: ContainsCheck, submission: Submission) -> bool:
    """Whether the reply contains all of some texts, and at least one of others."""

    def folded(text: str) -> str:
        return text.casefold() if check.ignore_case else text

    reply = folded(submission.reply)
    if not all(folded(text) in reply for text in check.all_of):
        return False
    return not check.any_of or any(folded(text) in reply for text in check.any_of)


def regex(check: RegexCheck, submission: Submission) -> bool:
    """Whether a regular expression matches somewhere in the reply; one whose search does not end does not."""
    return found_in_time(check.pattern, submission.reply.strip(), ignore_case=check.ignore_case)


def json_any(_: JsonCheck, submission: Submission) -> bool:
    """Whether the reply is one JSON value and nothing else."""
    try:
        json.loads(submission.reply, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return False
    return True


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def code_block(check: CodeBlockCheck, submission: Submission) -> bool:
    """Whether the reply is one fenced block and nothing else."""
    reply = submission.reply.strip()
    blocks = code_blocks(reply)
    if len(blocks) != 1 or (blocks[0].start, blocks[0].end) != (0, len(reply)):
        return False
    language = blocks[0].info.split(" ", 1)[0].casefold()
    return check.language is None or language == check.language.casefold()


def ini_options(check: IniOptionsCheck, submission: Submission) -> bool:
    """Whether an INI file of the work holds exactly the options."""
    text = submission.file_text(check.file)
    if text is None:
        return False
    parser = configparser.ConfigParser(interpolation=None, default_section="")
    try:
        parser.read_string(text)
    except configparser.Error:
        return False
    found = {
        f"{section}.{option}": parser.get(section, option)
        for section in parser.sections()
        for option in parser.options(section)
    }
    return found == dict(check.options)

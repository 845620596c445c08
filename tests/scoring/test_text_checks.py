"""Checks that only read text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

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
from evolve.scoring import bounded_search, text_checks
from evolve.scoring.submission import Submission
from tests.builders import write_files

BASE: dict[str, Any] = {"id": "c", "rule": "A rule."}
NOWHERE = Path("/nonexistent")


def of(reply: str) -> Submission:
    return Submission(reply=reply, folder=NOWHERE)


@pytest.mark.parametrize(
    ("reply", "passes"),
    [
        ('{"a": 1, "b": 2}', True),
        (' {"b": null, "a": []}\n', True),
        ('{"a": 1}', False),
        ('{"a": 1, "b": 2, "c": 3}', False),
        ('```json\n{"a": 1, "b": 2}\n```', False),
        ('Here: {"a": 1, "b": 2}', False),
        ('{"a": 1, "b": 2} {"a": 1}', False),
        ('["a", "b"]', False),
        ("{'a': 1, 'b': 2}", False),
        ("", False),
        ("[" * 100_000, False),
        ('{"a": 1, "b": ' + "9" * 5000 + "}", False),
    ],
)
def test_json_object(reply: str, passes: bool) -> None:
    check = JsonObjectCheck(**BASE, kind="json-object", keys=("a", "b"))
    assert text_checks.json_object(check, of(reply)) is passes


@pytest.mark.parametrize(
    ("value", "any_of", "passes"),
    [
        ('"High "', ["high"], True),
        ('"STRASSE"', ["straße"], True),
        ('"low"', ["high", "low"], True),
        ('"low"', ["high"], False),
        ("1", [1], True),
        ("1.0", [1], True),
        ("1", ["1"], False),
        ('"1"', [1], False),
        ("true", [True], True),
        ("true", [1], False),
        ("1", [True], False),
        ("0", [False], False),
        ("null", [None], True),
        ("null", ["null"], False),
        ('""', [None], False),
        ("NaN", [1.5], False),
        ("1" + "0" * 400, [1.5], False),
        ("[1]", [1], False),
        ("{}", [1], False),
    ],
)
def test_json_value(value: str, any_of: list[Any], passes: bool) -> None:
    check = JsonValueCheck(**BASE, kind="json-value", key="a", any_of=tuple(any_of))
    assert text_checks.json_value(check, of(f'{{"a": {value}, "x": 0}}')) is passes


@pytest.mark.parametrize("reply", ["", "{}", "[1]", "yes", '{"b": 1}'])
def test_json_value_needs_the_key(reply: str) -> None:
    check = JsonValueCheck(**BASE, kind="json-value", key="a", any_of=(None, 1))
    assert text_checks.json_value(check, of(reply)) is False


@pytest.mark.parametrize(
    ("reply", "fields", "passes"),
    [
        ("fix: a thing", {}, True),
        ("  fix: a thing \n", {"pattern": r"[a-z]+: .+"}, True),
        ("Fix: a thing", {"pattern": r"[a-z]+: .+"}, False),
        ("fix: a thing and more", {"pattern": r"fix: a thing"}, False),
        ("one\ntwo", {}, False),
        ("```x```", {}, False),
        ("", {}, False),
        ("\n", {"pattern": ".*"}, False),
        ("12345", {"max_chars": 5}, True),
        ("123456", {"max_chars": 5}, False),
        ("x" * 10_001, {}, False),
    ],
)
def test_line(reply: str, fields: dict[str, Any], passes: bool) -> None:
    assert text_checks.line(LineCheck(**BASE, kind="line", **fields), of(reply)) is passes


@pytest.mark.parametrize(
    ("reply", "passes"),
    [
        ("yes", True),
        (" `yes`\n", True),
        ("```yes```", True),
        ("no", True),
        ("Yes", False),
        ("yes.", False),
        ("", False),
    ],
)
def test_equals(reply: str, passes: bool) -> None:
    assert text_checks.equals(EqualsCheck(**BASE, kind="equals", any_of=("yes", "no")), of(reply)) is passes


@pytest.mark.parametrize(
    ("reply", "language", "passes"),
    [
        ("```python\nx\n```", "python", True),
        ("```Python title=x\nx\n```\n", "python", True),
        ("```\nx\n```", None, True),
        ("```\nx\n```", "python", False),
        ("```py\nx\n```", "python", False),
        ("Here:\n```python\nx\n```", "python", False),
        ("```python\nx\n```\nDone.", "python", False),
        ("```python\nx\n```\n```python\ny\n```", "python", False),
        ("x", None, False),
        ("", None, False),
    ],
)
def test_code_block(reply: str, language: str | None, passes: bool) -> None:
    assert text_checks.code_block(CodeBlockCheck(**BASE, kind="code-block", language=language), of(reply)) is passes


INI = IniOptionsCheck(**BASE, kind="ini-options", file="app.ini", options={"app.version": "2", "db.pool": "8"})


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        ("[app]\nversion = 2\n[db]\npool: 8\n", True),
        ("# note\n[db]\npool=8\n\n[app]\n; note\nversion =2", True),
        ("[app]\nversion = 1\n[db]\npool = 8\n", False),
        ("[app]\nversion = 2\n[db]\npool = 8\nmore = 1\n", False),
        ("[app]\nversion = 2\n", False),
        ("[app]\nversion = 2\nversion = 2\n[db]\npool = 8\n", False),
        ("[app]\nversion = %(x)s\n[db]\npool = 8\n", False),
        ("version = 2\n", False),
        ("[DEFAULT]\nversion = 2\n[app]\n[db]\npool = 8\n", False),
        ("```ini\n[app]\n```", False),
        ("", False),
    ],
)
def test_ini_options(tmp_path: Path, text: str, passes: bool) -> None:
    write_files(tmp_path, {"app.ini": text})
    assert text_checks.ini_options(INI, Submission("", tmp_path)) is passes


def test_ini_options_of_a_missing_file_fail(tmp_path: Path) -> None:
    assert text_checks.ini_options(INI, Submission("", tmp_path)) is False


@given(st.text(st.sampled_from("[]=: \n\tab%;#\0é"), max_size=40))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_no_ini_text_raises(tmp_path: Path, text: str) -> None:
    write_files(tmp_path, {"app.ini": text})
    assert text_checks.ini_options(INI, Submission("", tmp_path)) is False


@given(st.text(max_size=40))
def test_no_reply_raises(reply: str) -> None:
    submission = of(reply)
    assert text_checks.json_object(JsonObjectCheck(**BASE, kind="json-object", keys=("k" * 50,)), submission) is False
    assert text_checks.json_value(JsonValueCheck(**BASE, kind="json-value", key="k", any_of=(1,)), submission) is False
    assert text_checks.line(LineCheck(**BASE, kind="line", pattern="x{41}"), submission) is False
    assert text_checks.equals(EqualsCheck(**BASE, kind="equals", any_of=("x" * 41,)), submission) is False
    assert text_checks.code_block(CodeBlockCheck(**BASE, kind="code-block", language="x" * 41), submission) is False


@pytest.mark.parametrize(
    ("fields", "reply", "passes"),
    [
        ({"all_of": ("red", "blue")}, "blue, then red", True),
        ({"all_of": ("red", "blue")}, "blue alone", False),
        ({"any_of": ("red", "blue")}, "blue alone", True),
        ({"any_of": ("red", "blue")}, "green", False),
        ({"all_of": ("sky",), "any_of": ("red", "blue")}, "a blue sky", True),
        ({"all_of": ("sky",), "any_of": ("red", "blue")}, "a sky", False),
        ({"any_of": ("Red",)}, "red", False),
        ({"any_of": ("Red",), "ignore_case": True}, "RED", True),
        ({"any_of": ("red",)}, "", False),
    ],
)
def test_contains(fields: dict[str, Any], reply: str, passes: bool) -> None:
    assert text_checks.contains(ContainsCheck(**BASE, kind="contains", **fields), of(reply)) is passes


@pytest.mark.parametrize(
    ("pattern", "reply", "passes"),
    [
        (r"\d{4}", "in 1999 it was", True),
        (r"\d{4}", "in 99 it was", False),
        (r"^yes$", "\n yes \n", True),
        (r"^yes$", "yes, it is", False),
        (r"YES", "yes", False),
        (r"x", "", False),
        (r"x", "x" * (bounded_search.MAX_SEARCHED_CHARS + 1), False),
    ],
)
def test_regex(pattern: str, reply: str, passes: bool) -> None:
    assert text_checks.regex(RegexCheck(**BASE, kind="regex", pattern=pattern), of(reply)) is passes


def test_a_search_that_does_not_end_is_ended_and_not_passed() -> None:
    assert bounded_search.found_in_time("(a+)+$", "a" * 60 + "b", wall_s=0.5) is False
    assert bounded_search.found_in_time("(a+)+", "a" * 60 + "b", whole=True, wall_s=0.5) is False


def test_a_regex_may_ignore_case() -> None:
    assert text_checks.regex(RegexCheck(**BASE, kind="regex", pattern="YES", ignore_case=True), of("yes")) is True


@pytest.mark.parametrize(
    ("reply", "passes"),
    [("{}", True), (" [1, 2]\n", True), ('"text"', True), ("NaN", False), ("{} {}", False), ("```\n{}\n```", False)],
)
def test_json(reply: str, passes: bool) -> None:
    assert text_checks.json_any(JsonCheck(**BASE, kind="json"), of(reply)) is passes

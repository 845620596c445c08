"""The checks that a task can make."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from evolve.records.checks import Check

ADAPTER: TypeAdapter[Any] = TypeAdapter(Check)
BASE = {"id": "c", "rule": "A rule."}

VALID: list[dict[str, Any]] = [
    {"kind": "json-object", "keys": ["a", "b"]},
    {"kind": "json-value", "key": "a", "any_of": ["x", 1, None, True, 1.5]},
    {"kind": "line", "pattern": "[a-z]+", "max_chars": 72},
    {"kind": "equals", "any_of": ["yes"]},
    {"kind": "contains", "all_of": ["a", "b"], "any_of": ["c"], "ignore_case": True},
    {"kind": "regex", "pattern": "a+", "ignore_case": True},
    {"kind": "json"},
    {"kind": "code-block", "language": "python"},
    {"kind": "python-calls", "function": "f", "calls": [{"args": [[1, 2]], "returns": 3}]},
    {"kind": "ini-options", "file": "a/app.ini", "options": {"app.version": "1"}},
    {"kind": "command", "argv": ["{python}", "{oracle}/check.py"]},
]


@pytest.mark.parametrize("value", VALID, ids=lambda value: str(value["kind"]))
def test_every_kind_of_check_is_read_by_its_kind(value: dict[str, Any]) -> None:
    assert ADAPTER.validate_python({**BASE, **value}).kind == value["kind"]


@pytest.mark.parametrize(
    "value",
    [
        {"kind": "magic"},
        {"kind": "json-object", "keys": []},
        {"kind": "json-value", "key": "a", "any_of": []},
        {"kind": "json-value", "key": "a", "any_of": [[1]]},
        {"kind": "line", "pattern": "["},
        {"kind": "line", "pattern": "(" * 200 + ")" * 200 + "x" * 10},
        {"kind": "line", "max_chars": 0},
        {"kind": "equals", "any_of": []},
        {"kind": "contains"},
        {"kind": "contains", "any_of": [""]},
        {"kind": "contains", "all_of": "a"},
        {"kind": "regex", "pattern": "("},
        {"kind": "regex"},
        {"kind": "json", "keys": ["a"]},
        {"kind": "equals", "any_of": "yes"},
        {"kind": "python-calls", "function": "f()", "calls": [{"returns": 1}]},
        {"kind": "python-calls", "function": "os.system", "calls": [{"returns": 1}]},
        {"kind": "python-calls", "function": "f", "calls": []},
        {"kind": "python-calls", "function": "f", "calls": [{"args": []}]},
        {"kind": "python-calls", "function": "f", "calls": [{"returns": 1}], "timeout_s": 0},
        {"kind": "python-calls", "function": "f", "calls": [{"returns": 1}], "file": "../f.py"},
        {"kind": "ini-options", "file": "/etc/passwd", "options": {"a.b": "c"}},
        {"kind": "ini-options", "file": "a.ini", "options": {}},
        {"kind": "command", "argv": []},
        {"kind": "command", "argv": "rm -rf /"},
        {"kind": "equals", "any_of": ["a"], "rule": "  "},
        {"kind": "equals", "any_of": ["a"], "rule": "x" * 601},
        {"kind": "equals", "any_of": ["a"], "id": "Not An Id"},
        {"kind": "equals", "any_of": ["a"], "more": 1},
    ],
)
def test_a_check_that_cannot_be_meant_is_refused(value: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ADAPTER.validate_python({**BASE, **value})

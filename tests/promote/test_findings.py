"""What an audit says of a check that does not hold: file, field, expected, found, in one stable shape."""

from __future__ import annotations

import ast
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.digest import canonical_json
from evolve.errors import InputError
from evolve.promote.audit import audit_all, open_audit
from evolve.promote.findings import Finding, compare, fault, judge, unreadable
from evolve.workspace import find_workspace
from tests.conftest import CommandLine
from tests.promote.conftest import Measured
from tests.promote.test_audit_mutants import (
    KnownHistory,
    _another,
    _spots,
    bytes_changed,
    fields_changed,
    lines_changed,
)

PROMOTE = Path(__file__).parents[2] / "evolve/promote"
TOLD = re.compile(r"(at \S+: )?expected \S.*, found \S.*", re.DOTALL)
LONG = "x" * 300


@pytest.mark.parametrize(
    ("expected", "found", "detail"),
    [
        (1, 2, "expected 1, found 2"),
        ("a", None, "expected a, found nothing"),
        ("", "a", "expected '', found a"),
        ([], ["b", "a"], "expected [], found ['b', 'a']"),
        (set(), {"b", "c", "a"}, "expected [], found ['a', 'b', 'c']"),
        ({"b": 1, "a": 2}, {"a": 2, "b": 3}, "at b: expected 1, found 3"),
        ({"a": 1}, {}, "at a: expected 1, found no such field"),
        ("1", 1, "expected '1', found 1"),
        ({}, {"a": None}, "at a: expected no such field, found nothing"),
        ({"a": [{"b": 1}, {"b": 2}]}, {"a": [{"b": 1}, {"b": 3}]}, "at a[1].b: expected 2, found 3"),
        ({"a": [1]}, {"a": [1, 2]}, "at a: expected [1], found [1, 2]"),
        (LONG + "a", LONG + "b", f"expected ...{'x' * 20}a, found ...{'x' * 20}b"),
        (LONG, LONG + "b", f"expected ...{'x' * 20}, found ...{'x' * 20}b"),
        ("a" + LONG, "b" + LONG, f"expected a{'x' * 93}..., found b{'x' * 93}..."),
    ],
)
def test_a_comparison_says_where_two_values_first_differ_and_what_they_are(
    expected: object, found: object, detail: str
) -> None:
    assert compare("file", "field", expected, found) == Finding("file", "field", False, detail)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=200),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(VALUES, VALUES)
def test_a_comparison_holds_of_equal_values_alone_and_its_two_excerpts_differ(one: object, other: object) -> None:
    found = compare("file", "field", one, other)
    assert found.holds == (one == other)
    if not found.holds:
        told = re.fullmatch(r"(?:at .*: )?expected (.*), found (.*)", found.detail, re.DOTALL)
        assert told is not None
        assert told[1] != told[2]
        assert len(told[1]) + len(told[2]) < 700


def test_what_holds_says_nothing_and_what_does_not_says_what_was_expected_and_found() -> None:
    assert judge("file", "field", True, "a", "b") == Finding("file", "field", True)
    assert judge("file", "field", False, "a", "") == fault("file", "field", "a", "nothing")
    read = unreadable("file", "field", FileNotFoundError(2, "No such file or directory"))
    assert read.detail == "expected a file that is valid, found No such file or directory"
    assert unreadable("file", "field", InputError("line 3")).detail == "expected a file that is valid, found line 3"


def test_no_part_of_the_audit_says_that_a_check_fails_in_another_way() -> None:
    others = []
    for path in PROMOTE.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Finding":
                holds = node.args[2]
                if path.name != "findings.py" and not (isinstance(holds, ast.Constant) and holds.value is True):
                    others.append(f"{path.name}:{node.lineno}")
    assert others == []


@pytest.fixture
def promoted(measured: Measured, evolve: CommandLine) -> Measured:
    assert evolve("promote", measured.overlay).code == 0
    return measured


def each_field_changed(data: bytes, rng: random.Random) -> Iterator[bytes]:
    """Change one value at each path of a JSON document, of the items of a list only the first."""
    spots = list(_spots(json.loads(data)))
    for number, (holder, key) in enumerate(spots):
        if isinstance(holder[key], dict | list) or (isinstance(holder, list) and key):
            continue
        value = json.loads(data)
        held, name = list(_spots(value))[number]
        held[name] = _another(held[name], rng)
        yield canonical_json(value) + b"\n"


def mutants(promoted: Measured) -> Iterator[tuple[Path, bytes | None]]:
    rng = random.Random(8)
    for path in sorted(path for path in (promoted.root / "promotion").rglob("*") if path.is_file()):
        data = path.read_bytes()
        yield path, None
        for _ in range(6):
            yield path, bytes_changed(data, rng)
            yield path, lines_changed(data, rng)
        if path.suffix == ".json":
            changed = list(each_field_changed(data, rng))
            yield from ((path, after) for after in changed[:: max(1, len(changed) // 150)])
        elif path.suffix == ".jsonl":
            yield from ((path, fields_changed(data, rng)) for _ in range(20))


def test_every_fault_of_every_mutant_names_its_file_its_field_what_was_expected_and_what_was_found(
    promoted: Measured,
) -> None:
    repository = KnownHistory(promoted.root)
    checks = set()
    for path, after in mutants(promoted):
        before = path.read_bytes()
        path.unlink() if after is None else path.write_bytes(after)
        context, chain = open_audit(find_workspace(promoted.root), repository)
        for one in [chain, *audit_all(context)]:
            if not one.holds:
                assert one.file and one.check
                assert TOLD.fullmatch(one.detail), one
                checks.add(one.check)
        path.write_bytes(before)
    assert len(checks) > 35, sorted(checks)


def test_findings_have_one_shape_for_programs_and_one_for_ci(
    promoted: Measured, evolve: CommandLine, tmp_path: Path
) -> None:
    path = promoted.folder / "rows.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"resolved":false', b'"resolved":true', 1))
    file = tmp_path / "audit.xml"
    ran = evolve("audit", "--all", "--json", "--junit", str(file))
    assert ran.code == 4
    value = json.loads(ran.out)
    for one in value:
        assert {name: type(held) for name, held in one.items()} == {
            "file": str,
            "check": str,
            "holds": bool,
            "detail": str,
        }
    suite = ElementTree.fromstring(file.read_bytes())
    assert {name: suite.attrib[name] for name in ("name", "tests", "errors", "skipped")} == {
        "name": "evolve audit",
        "tests": str(len(value)),
        "errors": "0",
        "skipped": "0",
    }
    cases = suite.findall("testcase")
    assert [(case.attrib["classname"], case.attrib["name"]) for case in cases] == [
        (one["file"], one["check"]) for one in value
    ]
    failures = [(case.find("failure"), one) for case, one in zip(cases, value, strict=True)]
    for failure, one in failures:
        assert (failure is None) == one["holds"]
        if failure is not None:
            assert failure.attrib["message"] == failure.text == one["detail"]

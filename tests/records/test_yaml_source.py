"""Reading YAML from untrusted files."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.errors import InputError
from evolve.records.yaml_source import MAX_DEPTH, YamlSource

BOMB = "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: [*c, *c]\n"


def test_plain_data_is_read_with_the_line_of_every_field() -> None:
    source = YamlSource.parse("# first\na: 1\nb:\n  - x: true\n  - y:\n      z: null\n", "f.yaml")
    assert source.value == {"a": 1, "b": [{"x": True}, {"y": {"z": None}}]}
    expected = {("a",): 2, ("b",): 3, ("b", 0, "x"): 4, ("b", 1): 5, ("b", 1, "y", "z"): 6}
    assert {location: source.line_of(location) for location in expected} == expected
    assert source.line_of(("b", 1, "missing", 4)) == 5
    assert source.line_of(("missing",)) == 2


@pytest.mark.parametrize(
    ("text", "value"), [("", None), ("# only a comment\n", None), ("just text", "just text"), ("on: 1", {"on": 1})]
)
def test_a_document_may_be_anything_plain(text: str, value: object) -> None:
    assert YamlSource.parse(text, "f.yaml").value == value


def test_an_empty_document_has_no_lines() -> None:
    assert YamlSource.parse("", "f.yaml").line_of(("a",)) is None


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        (BOMB, "yaml-alias", "f.yaml:1: anchors and aliases"),
        ("a: 1\nb: *a\n", "yaml-alias", "f.yaml:2: anchors and aliases"),
        ("a: &x {b: *x}\n", "yaml-alias", "f.yaml:1: anchors and aliases"),
        ("a: 1\nb: !!python/object/apply:os.system [id]\n", "yaml-tag", "f.yaml:2: tags"),
        ("a: !!binary aGk=\n", "yaml-tag", "f.yaml:1: tags"),
        ("a: !!str 5\n", "yaml-tag", "f.yaml:1: tags"),
        ("!local {a: 1}\n", "yaml-tag", "f.yaml:1: tags"),
        ("a: 1\nb: 2\na: 3\n", "duplicate-key", "f.yaml:3: the key 'a' stands twice"),
        ("x:\n  a: 1\n  'a': 3\n", "duplicate-key", "f.yaml:3: the key 'a' stands twice"),
        ("{[1]: 2}\n", "yaml-key", "f.yaml:1: a key must be text"),
        ("a: 1\n? {b: c}\n: d\n", "yaml-key", "f.yaml:2: a key must be text"),
        ("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), "yaml-depth", "f.yaml:1: nested more than 40 deep"),
        ("[" * 900, "yaml-depth", "f.yaml:1: nested more than 40 deep"),
        ("{a: " * 5000, "yaml-depth", "f.yaml:1: nested more than 40 deep"),
        ("a: [1\nb: 2\n", "not-yaml", "f.yaml:2: not YAML: "),
        ("a: b: c\n", "not-yaml", "f.yaml:1: not YAML: "),
        ("a: 'open\n", "not-yaml", "f.yaml:"),
        ("\tq: 1\n", "not-yaml", "f.yaml:1: not YAML: "),
        ("a: 1\n---\nb: 2\n", "not-yaml", "f.yaml:2: not YAML: "),
        ("a: \x07\n", "not-yaml", "f.yaml: not YAML: "),
        ("a: " + "9" * 5000, "not-yaml", "f.yaml: not YAML: "),
        ("a: 1\nb: [.nan]\n", "yaml-value", "f.yaml:2: nan is no number"),
        ("a: -.inf\n", "yaml-value", "f.yaml:1: -inf is no number"),
        ("a: 2026-01-31\n", "yaml-value", "f.yaml:1: '2026-01-31' is read as a date; quote it"),
        ("a: 2026-13-45\n", "not-yaml", "f.yaml: not YAML: "),
    ],
)
def test_hostile_yaml_is_one_clear_error_with_its_line(text: str, code: str, says: str) -> None:
    with pytest.raises(InputError) as caught:
        YamlSource.parse(text, "f.yaml")
    assert caught.value.code == code
    assert caught.value.message.startswith(says)
    assert len(caught.value.message) < 500


def test_nesting_up_to_the_limit_is_read() -> None:
    assert YamlSource.parse("[" * MAX_DEPTH + "]" * MAX_DEPTH, "f.yaml").value


def test_a_merge_key_is_an_ordinary_key() -> None:
    assert YamlSource.parse("<<: {a: 1}\n", "f.yaml").value == {"<<": {"a": 1}}


@given(st.text(st.sampled_from("ab:-[]{}&*!|>'\"#%@,? \n\t\0\ud800é1.~<="), max_size=30))
def test_no_text_raises_anything_but_an_input_error(text: str) -> None:
    try:
        YamlSource.parse(text, "f.yaml")
    except InputError as error:
        assert error.message.startswith("f.yaml")


def test_a_number_with_an_exponent_is_a_number_and_a_quoted_one_is_text() -> None:
    assert YamlSource.parse("[1e-6, 2E3, '1e-6', e3, 1e]", "f").value == [1e-6, 2000.0, "1e-6", "e3", "1e"]

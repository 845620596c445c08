"""What imports write is read as it was."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.corpus.importers.draft import dumped, identifier_of
from evolve.errors import InputError
from evolve.records.yaml_source import YamlSource

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))


@given(st.dictionaries(st.sampled_from(["prompt", "rule"]), TEXTS | st.lists(TEXTS)))
def test_every_text_is_read_as_it_was_written(value: dict[str, object]) -> None:
    assert YamlSource.parse(dumped({"a": value}), "x").value == {"a": value}


@pytest.mark.parametrize(
    "text", ["1e5", "-1.e3", "2011-05-03", "yes", "null", "~", "0x1f", "", " ", "a\nb\n", "a \n b", "# a"]
)
def test_texts_that_look_like_something_else_stay_texts(text: str) -> None:
    assert YamlSource.parse(dumped([text, text]), "x").value == [text, text]


def test_half_a_character_is_refused() -> None:
    with pytest.raises(InputError):
        YamlSource.parse(dumped(["\ud800"]), "x")


@pytest.mark.parametrize(
    ("name", "prefix", "identifier"),
    [("django__django-11099", "", "django-django-11099"), ("A.b", "x", "x-a-b"), ("--", "", ""), ("ü", "p", "p")],
)
def test_names_become_ids(name: str, prefix: str, identifier: str) -> None:
    assert identifier_of(name, prefix) == identifier

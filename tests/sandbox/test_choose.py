"""Choosing the strongest containment that works."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from evolve.sandbox import choose
from evolve.sandbox.bubblewrap import Bubblewrap
from evolve.sandbox.choose import choose_sandbox


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    choose_sandbox.cache_clear()
    yield
    choose_sandbox.cache_clear()


def test_bubblewrap_is_chosen_without_a_note_when_it_contains(monkeypatch: pytest.MonkeyPatch) -> None:
    sandbox = Bubblewrap("bwrap")
    monkeypatch.setattr(choose, "find_bubblewrap", lambda: (sandbox, "contained"))
    assert choose_sandbox() == (sandbox, None)


def test_the_host_is_chosen_with_a_loud_note_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choose, "find_bubblewrap", lambda: (None, "no namespaces"))
    sandbox, note = choose_sandbox()
    assert sandbox.name == "host"
    assert note is not None
    assert "WITHOUT containment" in note and note.endswith("no namespaces")

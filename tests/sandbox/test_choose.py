"""Choosing where model-written code is run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from evolve.errors import EnvironmentFault, InputError
from evolve.sandbox import choose
from evolve.sandbox.base import Job
from evolve.sandbox.bubblewrap import Bubblewrap
from evolve.sandbox.choose import Uncontainable, choose_sandbox, require_containment


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    choose._contained.cache_clear()
    yield
    choose._contained.cache_clear()


def test_bubblewrap_is_chosen_when_it_contains(monkeypatch: pytest.MonkeyPatch) -> None:
    sandbox = Bubblewrap("bwrap")
    monkeypatch.setattr(choose, "find_bubblewrap", lambda: (sandbox, "contained"))
    assert choose_sandbox() is sandbox
    require_containment(sandbox, needed=True)


def test_where_nothing_contains_nothing_is_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(choose, "find_bubblewrap", lambda: (None, "no namespaces"))
    sandbox = choose_sandbox()
    assert isinstance(sandbox, Uncontainable)
    require_containment(sandbox, needed=False)
    with pytest.raises(EnvironmentFault, match="cannot be contained here: no namespaces"):
        require_containment(sandbox, needed=True)
    with pytest.raises(EnvironmentFault, match="no namespaces"):
        sandbox.run(Job(argv=("true",), folder=tmp_path, wall_s=1, mounts={}))


@pytest.mark.parametrize(("ci", "refused"), [("true", True), ("1", True), ("", False), ("0", False), ("False", False)])
def test_the_host_is_used_only_when_asked_for_and_never_in_continuous_integration(
    ci: str, refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", ci)
    if refused:
        with pytest.raises(InputError, match="refused where CI is set"):
            choose_sandbox(unsafe_host=True)
    else:
        assert choose_sandbox(unsafe_host=True).name == "host"

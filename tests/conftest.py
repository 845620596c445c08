"""Fixtures of all tests: a scripted model, a workspace, and the command line run in this process."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from evolve.cli import bench_opening
from evolve.cli.main import main
from evolve.errors import EnvironmentFault
from evolve.models.base import ChatModel
from evolve.models.weights import ResolvedWeights, catalogue, install, resolve
from tests.worlds import ModelServer, ScriptedModel, make_workspace, model_server

SAME_EXAMPLES = "EVOLVE_TESTS_SAME_EXAMPLES"
OF_THE_MACHINE = ("CI", "EVOLVE_SIGNING_KEY", "EVOLVE_SIGNING_KEY_PEM", "EVOLVE_DEBUG", "OPENAI_API_KEY")


def pytest_configure() -> None:
    """Keep out what a machine may set for its user or its continuous integration, and what evolve heeds.

    Not by a fixture: those of a whole module are made before those of its tests. Where CI is set, properties are tried
    on the same examples every time; nowhere is an example timed.
    """
    # workers are started when CI is gone from the environment already
    same_examples = os.environ.get(SAME_EXAMPLES) or os.environ.get("CI", "")
    os.environ[SAME_EXAMPLES] = same_examples
    settings.register_profile("evolve", deadline=None, derandomize=bool(same_examples), print_blob=True)
    settings.load_profile("evolve")
    for name in OF_THE_MACHINE:
        os.environ.pop(name, None)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell has it for what it runs in the background
        signal.signal(signal.SIGINT, signal.default_int_handler)


@dataclass
class Ran:
    """How a command ended."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)


class CommandLine:
    """Runs ``evolve`` in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str) -> Ran:
        self._capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        captured = self._capsys.readouterr()
        return Ran(int(code), captured.out, captured.err)


@pytest.fixture(autouse=True)
def quiet_git(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep the user's git configuration and identity out of the tests."""
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", "/dev/null")


@pytest.fixture
def evolve(capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(capsys)


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> ScriptedModel:
    """Have every model of a workspace be the scripted one."""
    scripted = ScriptedModel()

    def build(*_: object) -> ChatModel:
        return scripted

    monkeypatch.setattr(bench_opening, "build_model", build)
    return scripted


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a workspace with one improvable skill and stand in it."""
    root = make_workspace(tmp_path / "workspace")
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def served() -> Iterator[ModelServer]:
    """Serve the scripted model over HTTP, for commands in processes of their own."""
    with model_server() as server:
        yield server


@pytest.fixture(scope="session")
def real_weights() -> ResolvedWeights:
    """Return the default weights, installed first when they are missing."""
    name = catalogue().default
    try:
        return resolve(name)
    except EnvironmentFault:
        install(name)
        return resolve(name)

"""Fixtures of the model transports' tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import coverage
import pytest

from evolve.models import local
from evolve.models.base import ChatRequest, Message
from evolve.models.local import LocalModel
from evolve.models.weights import ResolvedWeights

FAKE_RUNTIME = Path(__file__).with_name("fake_runtime")

Ask = Callable[..., ChatRequest]


@pytest.fixture
def ask() -> Ask:
    """Return a function that makes requests."""
    return make_request


def make_request(
    text: str, *, tokens: int = 40, temperature: float = 0.0, seed: int = 1, wall_s: float = 60
) -> ChatRequest:
    return ChatRequest((Message("user", text),), tokens, temperature, seed, wall_s)


@pytest.fixture(scope="session", autouse=True)
def measured_workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Have workers measured when the tests are: their environment is built from nothing otherwise."""
    running = coverage.Coverage.current()
    if running is None:
        yield
        return
    settings = tmp_path_factory.mktemp("coverage") / "coveragerc"
    settings.write_text(
        "[run]\nbranch = true\nparallel = true\nsigterm = true\npatch = _exit\n"
        f"source_pkgs = evolve.models\ndata_file = {Path(running.config.data_file).absolute()}\n",
        encoding="utf-8",
    )
    original = local.worker_environment

    def measured(*, shared_machine: bool) -> dict[str, str]:
        return {**original(shared_machine=shared_machine), "COVERAGE_PROCESS_START": str(settings)}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local, "worker_environment", measured)
        yield


@pytest.fixture
def fake_runtime(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have workers find a scripted runtime instead of the real one."""
    monkeypatch.setenv("PYTHONPATH", str(FAKE_RUNTIME))
    monkeypatch.setattr(local, "runtime_version", lambda: "fake-1")


@pytest.fixture
def fake_model(fake_runtime: None, tmp_path: Path) -> Iterator[LocalModel]:
    """Return a local model on the scripted runtime."""
    weights = tmp_path / "weights.gguf"
    weights.write_text("fine", encoding="utf-8")
    model = LocalModel(weights, name="fake", digest="0" * 64)
    yield model
    model.close()


@pytest.fixture(scope="session")
def real_model(real_weights: ResolvedWeights) -> Iterator[LocalModel]:
    """Return the default weights as one model that the session shares."""
    model = LocalModel(real_weights.path, name=real_weights.name, digest=real_weights.sha256)
    yield model
    model.close()

from __future__ import annotations

from pathlib import Path

import pytest

from evolve.errors import EnvironmentFault, InputError
from evolve.models.build import build_model, price_of
from evolve.models.local import LocalModel
from evolve.models.openai_compatible import OpenAICompatibleModel
from evolve.records.base import parse_record
from evolve.records.workspace import WorkspaceSpec


def spec(weights: str = "tiny.gguf") -> WorkspaceSpec:
    value = {
        "schema": "evolve/workspace@1",
        "models": {
            "local": {"kind": "local", "weights": weights},
            "served": {"kind": "openai-compatible", "base_url": "http://127.0.0.1:1/v1", "model": "m"},
        },
        "agent": {"model": "local"},
        "proposer": {"model": "served"},
    }
    return parse_record(WorkspaceSpec, value, "evolve.yaml")


def test_a_path_of_weights_is_relative_to_the_workspace(tmp_path: Path) -> None:
    (tmp_path / "tiny.gguf").write_bytes(b"GGUF")
    model = build_model(spec(), "local", tmp_path)
    assert isinstance(model, LocalModel)
    assert model.identity["name"] == "tiny"
    price = price_of(spec(), "local")
    assert price is not None
    assert price.free


def test_an_endpoint_is_built_from_its_address(tmp_path: Path) -> None:
    assert isinstance(build_model(spec(), "served", tmp_path), OpenAICompatibleModel)
    assert price_of(spec(), "served") is None


def test_a_model_that_is_not_declared_is_refused_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no model named 'other'") as fault:
        build_model(spec(), "other", tmp_path)
    assert fault.value.hint == "models there: local, served"


def test_weights_that_are_not_installed_are_named_with_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVOLVE_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("EVOLVE_MODEL_PATH", raising=False)
    with pytest.raises(EnvironmentFault) as fault:
        build_model(spec("qwen2.5-coder-0.5b-instruct"), "local", tmp_path)
    assert fault.value.hint == "evolve models install qwen2.5-coder-0.5b-instruct"


def test_a_key_that_is_not_set_is_said_before_anything_is_paid_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    value = spec().json_value()
    value["models"]["served"]["key_env"] = "NO_SUCH_KEY"
    given = parse_record(WorkspaceSpec, value, "evolve.yaml")
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    with pytest.raises(EnvironmentFault, match="the variable NO_SUCH_KEY is not set"):
        build_model(given, "served", tmp_path)
    monkeypatch.setenv("NO_SUCH_KEY", "a-key-of-some-length")
    assert isinstance(build_model(given, "served", tmp_path), OpenAICompatibleModel)

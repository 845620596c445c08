"""Building the model that ``evolve.yaml`` names."""

from __future__ import annotations

import os
from pathlib import Path

from evolve.errors import EnvironmentFault, InputError
from evolve.models.base import ChatModel
from evolve.records.workspace import HttpModelSpec, Price, WorkspaceSpec


def build_model(spec: WorkspaceSpec, name: str, root: Path) -> ChatModel:
    """Return a model of the workspace; weights are found, not loaded.

    Raises:
        InputError: ``evolve.yaml`` declares no model of this name.
        EnvironmentFault: The weights are not installed.

    """
    if name not in spec.models:
        raise InputError(
            f"evolve.yaml: models: no model named {name!r}", hint=f"models there: {', '.join(spec.models)}"
        )
    model = spec.models[name]
    if isinstance(model, HttpModelSpec):
        from evolve.models.openai_compatible import OpenAICompatibleModel

        if model.key_env is not None and not os.environ.get(model.key_env):
            raise EnvironmentFault(
                f"evolve.yaml: models.{name}.key_env: the variable {model.key_env} is not set",
                hint=f"export {model.key_env}=…",
                code="missing-key",
            )
        return OpenAICompatibleModel(model.base_url, model.model, key_env=model.key_env)
    from evolve.models.local import LocalModel
    from evolve.models.weights import resolve

    path = root / model.weights
    weights = resolve(str(path) if path.is_file() else model.weights)
    return LocalModel(
        weights.path,
        name=weights.name,
        digest=weights.sha256,
        threads=model.threads,
        context=model.context,
        shared_machine=model.shared_machine,
    )


def price_of(spec: WorkspaceSpec, name: str) -> Price | None:
    """Return what a model charges: nothing for local weights, what ``evolve.yaml`` says for others."""
    model = spec.models[name]
    return model.price if isinstance(model, HttpModelSpec) else Price(input_usd=0, output_usd=0)

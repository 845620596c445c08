"""The spec in ``evolve.yaml``."""

from __future__ import annotations

from typing import get_args

from evolve.records.base import parse_record
from evolve.records.overlay import GenerationOperator
from evolve.records.workspace import HttpModelSpec, LocalModelSpec, WorkspaceSpec

VALUE = {
    "schema": "evolve/workspace@1",
    "models": {
        "local": {"kind": "local", "weights": "tiny"},
        "remote": {"kind": "openai-compatible", "base_url": "http://127.0.0.1:1/v1", "model": "m", "key_env": "A_KEY"},
    },
    "agent": {"model": "local"},
    "proposer": {"model": "remote"},
}


def test_a_spec_has_the_folders_of_the_design_by_default() -> None:
    spec = parse_record(WorkspaceSpec, VALUE, "evolve.yaml")
    folders = (spec.skill_roots, spec.corpus, spec.overlays, spec.promotion, spec.results)
    assert folders == (("skills",), "corpus", "overlays", "promotion", "results")


def test_models_are_read_by_their_kind() -> None:
    spec = parse_record(WorkspaceSpec, VALUE, "evolve.yaml")
    assert isinstance(spec.models["local"], LocalModelSpec)
    assert isinstance(spec.models["remote"], HttpModelSpec)


def test_every_operator_is_tried_unless_it_is_said_otherwise() -> None:
    spec = parse_record(WorkspaceSpec, VALUE, "evolve.yaml")
    assert set(spec.proposer.operators) == set(get_args(GenerationOperator))

"""The spec in ``evolve.yaml``."""

from __future__ import annotations

from typing import get_args

import pytest
import yaml

from evolve.errors import InputError
from evolve.records.base import parse_record, parse_yaml
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


PROGRAM = {
    "adapter": "codex",
    "model": "m1",
    "binary": "codex",
    "version": "1",
    "upstream": {"base_url": "http://127.0.0.1:9"},
}


@pytest.mark.parametrize(
    ("proposer", "said"),
    [
        ({}, "proposer: give either model or agent"),
        ({"model": "remote", "agent": PROGRAM}, "proposer: give either model or agent"),
        ({"model": "nobody"}, "proposer.model: no model named 'nobody'"),
        ({"agent": {"model": "remote"}}, "proposer: agent: a chat model edits no files; say it as model"),
        ({"agent": {**PROGRAM, "record": True}}, "proposer: agent: a proposer is neither recorded nor replayed"),
        ({"agent": {**PROGRAM, "model": "latest"}}, "proposer.agent.model: 'latest' means another model tomorrow"),
        ({"model": "remote", "templates": "../out"}, "proposer.templates: "),
    ],
)
def test_who_reflects_is_one_model_or_one_program(proposer: dict[str, object], said: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_yaml(WorkspaceSpec, yaml.safe_dump({**VALUE, "proposer": proposer}), "evolve.yaml")
    assert said in caught.value.message


def test_a_program_may_reflect() -> None:
    spec = parse_record(WorkspaceSpec, {**VALUE, "proposer": {"agent": PROGRAM}}, "evolve.yaml")
    assert spec.proposer.program is not None and spec.proposer.model is None


def test_where_programs_do_everything_no_model_needs_to_be_declared() -> None:
    value = {"schema": VALUE["schema"], "agent": PROGRAM, "proposer": {"agent": PROGRAM}}
    assert parse_record(WorkspaceSpec, value, "evolve.yaml").models == {}
    with pytest.raises(InputError, match=r"proposer\.model: no model named 'm' below models: none"):
        parse_record(WorkspaceSpec, {**value, "proposer": {"model": "m"}}, "evolve.yaml")

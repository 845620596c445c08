"""The policy that ``evolve init`` writes, and the one of this repository."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from evolve.promote.keys import new_key
from evolve.records.base import parse_yaml
from evolve.records.policy import Policy, Signatures
from tests.conftest import CommandLine
from tests.worlds import git

SHIPPED = Path(__file__).parents[2] / "promotion/policy.yaml"


@pytest.fixture
def begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, evolve: CommandLine) -> Path:
    git(tmp_path, "init", "--quiet")
    monkeypatch.chdir(tmp_path)
    assert evolve("init").code == 0
    return tmp_path / "promotion/policy.yaml"


@pytest.mark.parametrize("of", ["init", "this repository"])
def test_the_demand_for_signatures_stands_there_to_be_uncommented(
    begun: Path, evolve: CommandLine, tmp_path_factory: pytest.TempPathFactory, of: str
) -> None:
    text = (begun if of == "init" else SHIPPED).read_text()
    silent = parse_yaml(Policy, text, "policy.yaml")
    assert silent.signatures == Signatures()
    key = new_key(tmp_path_factory.mktemp("keys") / "key.pem").public_text
    uncommented = re.sub(r"^# (signatures:|  required:|  keys:)", r"\1", text, flags=re.MULTILINE)
    demanding = parse_yaml(Policy, uncommented.replace("PUBLIC_KEY", key), "policy.yaml")
    assert demanding.signatures == Signatures(required=1, keys=(key,))
    assert demanding.model_copy(update={"signatures": Signatures()}).digest() == silent.digest()


def test_the_command_that_it_names_is_one_that_there_is(
    begun: Path, evolve: CommandLine, tmp_path_factory: pytest.TempPathFactory
) -> None:
    found = re.search(r"`evolve (key new --out) ~/.config/evolve-signing.pem`", begun.read_text())
    assert found is not None
    path = tmp_path_factory.mktemp("keys") / "key.pem"
    made = evolve(*found[1].split(), str(path))
    assert (made.code, "public key: " in made.out) == (0, True)

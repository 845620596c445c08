"""The prompts of a proposer, and a workspace's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from evolve.errors import InputError
from evolve.propose.prompts import SAMPLES, Templates
from evolve.propose.reflect import reflect
from tests.builders import FakeModel, make_skill, write_files
from tests.conftest import CommandLine
from tests.propose.test_reflect import BETTER, SKILL, evidence_of
from tests.worlds import ScriptedModel

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", SAMPLES)
def test_every_template_that_ships_can_be_rendered_from_its_sample(name: str) -> None:
    assert Templates().render(name, **SAMPLES[name])


def test_every_template_that_ships_has_a_sample() -> None:
    assert {path.name for path in (ROOT / "evolve/propose/templates").iterdir()} == set(SAMPLES)


def test_a_file_of_the_same_name_replaces_the_packages_and_the_prompts_digest(tmp_path: Path) -> None:
    own = Templates.read(write_files(tmp_path, {"reflect_system.j2": "Be bold.", "notes.txt": "{{"}))
    usual, bold = FakeModel(BETTER), FakeModel(BETTER)
    one = reflect(SKILL, evidence_of(1), usual, temperature=0, number=0)
    two = reflect(SKILL, evidence_of(1), bold, temperature=0, number=0, templates=own)
    assert bold.requests[0].messages[0].content == "Be bold."
    assert bold.requests[0].messages[1:] == usual.requests[0].messages[1:]
    assert one.overlay.spec.prompt_sha256 != two.overlay.spec.prompt_sha256


def test_a_template_may_include_another_of_the_names(tmp_path: Path) -> None:
    own = Templates.read(write_files(tmp_path, {"reflect_user.j2": "{% include 'reflect_system.j2' %} {{ body }}"}))
    model = FakeModel(BETTER)
    reflect(make_skill(body="Say hello."), evidence_of(1), model, temperature=0, number=0, templates=own)
    assert model.requests[0].messages[-1].content.startswith("You improve instruction texts.")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a\n{% if %}", r"reflect_user\.j2:2: Expected an expression"),
        ("a\nb\n{{ nothing }}", r"reflect_user\.j2:3: 'nothing' is undefined"),
        ("{{ body.__class__.__mro__ }}", r"reflect_user\.j2:1: access to attribute '__class__'"),
        ("\n{{ 1 / 0 }}", r"reflect_user\.j2:2: division by zero"),
        ("{% for n in range(10 ** 9) %}x{% endfor %}", r"reflect_user\.j2:1: Range too big"),
        ("{% include 'evolve.yaml' %}", r"reflect_user\.j2:1: "),
        (b"\xff", r"reflect_user\.j2: not UTF-8"),
        ("x" * 300_000, r"reflect_user\.j2: more than 256 KiB"),
    ],
)
def test_a_broken_template_is_refused_with_file_and_line(tmp_path: Path, text: str | bytes, said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        Templates.read(write_files(tmp_path, {"reflect_user.j2": text}))
    assert caught.value.code == "broken-template"


def test_a_name_that_no_template_has_and_a_folder_that_is_not_there_are_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"reflect-user\.j2: no template of this name"):
        Templates.read(write_files(tmp_path, {"reflect-user.j2": "x"}))
    with pytest.raises(InputError, match=r"proposer\.templates: .*gone: no such folder"):
        Templates.read(tmp_path / "gone")


@pytest.mark.parametrize("command", [("check",), ("generation", "--operator", "reflect")])
def test_a_broken_template_is_found_before_anything_is_paid_for(
    workspace: Path, model: ScriptedModel, evolve: CommandLine, command: tuple[str, ...]
) -> None:
    settings = workspace / "evolve.yaml"
    settings.write_text(settings.read_text().replace("proposer: {", "proposer: {templates: prompts, "))
    write_files(workspace / "prompts", {"reflect_user.j2": "{{ body }}\n{{ wrong }}"})
    ran = evolve(*command)
    assert ran.code == 2
    assert "prompts/reflect_user.j2:2: 'wrong' is undefined" in ran.err
    assert model.requests == []

"""Finding and loading a workspace."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from evolve.errors import InputError
from evolve.workspace import find_workspace
from tests.builders import skill_text, write_files

EVOLVE_YAML = """\
schema: evolve/workspace@1
models:
  local: {kind: local, weights: tiny}
agent: {model: local}
proposer: {model: local}
"""


def make_workspace(tmp_path: Path, evolve_yaml: str = EVOLVE_YAML) -> Path:
    return write_files(
        tmp_path / "ws",
        {
            "evolve.yaml": evolve_yaml,
            "skills/greeter/SKILL.md": skill_text(),
            "promotion/policy.yaml": "schema: evolve/policy@1\nalpha: 0.04\n",
        },
    )


def test_a_workspace_is_found_from_a_folder_below_it(tmp_path: Path) -> None:
    root = make_workspace(tmp_path)
    workspace = find_workspace(write_files(root / "deep/er", {}))
    assert workspace.root == root.resolve()
    assert workspace.policy().alpha == 0.04
    assert list(workspace.skills()) == ["greeter"]


def test_its_folders_are_those_that_evolve_yaml_names(tmp_path: Path) -> None:
    text = EVOLVE_YAML + "corpus: a/tasks\noverlays: o\npromotion: p\nresults: r\n"
    workspace = find_workspace(make_workspace(tmp_path, text))
    folders = (workspace.corpus, workspace.overlays, workspace.promotion, workspace.sweeps, workspace.generations)
    assert [workspace.relative(folder) for folder in folders] == ["a/tasks", "o", "p", "r/sweeps", "r/generations"]
    assert workspace.relative(Path("/elsewhere")) == "/elsewhere"


def test_a_folder_outside_any_workspace_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        find_workspace(tmp_path)
    assert caught.value.code == "no-workspace"
    assert str(tmp_path.resolve()) in caught.value.message


def test_an_unknown_skill_is_an_input_error_that_lists_those_there_are(tmp_path: Path) -> None:
    workspace = find_workspace(make_workspace(tmp_path))
    assert workspace.skill("greeter").body == "Say hello."
    with pytest.raises(InputError) as caught:
        workspace.skill("nobody")
    assert (caught.value.code, caught.value.hint) == ("no-skill", "skills here: greeter")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("extra: 1", "evolve.yaml:6: extra: unknown key"),
        ("corpus: ../elsewhere", "evolve.yaml:6: corpus: path: '../elsewhere' is not a path"),
        ("results: /tmp", "evolve.yaml:6: results: path: '/tmp' is not a path"),
        ("promotion: .git", "evolve.yaml:6: promotion: path: '.git' is not a path"),
        ("skill_roots: []", "evolve.yaml:6: skill_roots:"),
        ("skill_roots: skills", "evolve.yaml:6: skill_roots:"),
    ],
)
def test_a_bad_evolve_yaml_is_named_with_line_and_field(tmp_path: Path, line: str, says: str) -> None:
    root = make_workspace(tmp_path, EVOLVE_YAML + line + "\n")
    with pytest.raises(InputError) as caught:
        find_workspace(root)
    assert caught.value.message.startswith(f"{root.resolve()}/{says}")


@pytest.mark.parametrize(
    ("model", "says"),
    [
        ("{kind: local}", "weights"),
        ("{kind: magic, weights: x}", "kind"),
        ("{kind: openai-compatible, base_url: 'https://user:pass@host', model: m}", "base_url"),
        ("{kind: openai-compatible, base_url: 'ftp://host', model: m}", "base_url"),
        ("{kind: openai-compatible, base_url: 'https://host', model: m, key: abc}", "key: unknown key"),
        ("{kind: openai-compatible, base_url: 'https://host', model: m, key_env: 'sk-123'}", "key_env"),
    ],
)
def test_a_bad_model_is_refused_and_no_key_can_stand_in_the_file(tmp_path: Path, model: str, says: str) -> None:
    root = make_workspace(tmp_path, EVOLVE_YAML.replace("{kind: local, weights: tiny}", model))
    with pytest.raises(InputError) as caught:
        find_workspace(root)
    assert "evolve.yaml:3: models.local" in caught.value.message
    assert says in caught.value.message


def test_a_pipe_or_a_missing_file_for_the_policy_is_refused_without_waiting(tmp_path: Path) -> None:
    root = make_workspace(tmp_path)
    (root / "promotion/policy.yaml").unlink()
    with pytest.raises(InputError, match="no such file"):
        find_workspace(root).policy()
    os.mkfifo(root / "promotion/policy.yaml")
    with pytest.raises(InputError, match="not a file"):
        find_workspace(root).policy()

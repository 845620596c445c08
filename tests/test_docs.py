"""What the documentation shows can be pasted."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from evolve.records.base import parse_yaml
from evolve.records.task import Oracle, Task
from evolve.records.workspace import WorkspaceSpec

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```yaml\n(.*?)^```", re.DOTALL | re.MULTILINE)
SURROUNDINGS: dict[str, Any] = {
    "schema": "evolve/workspace@1",
    "models": {"local": {"kind": "openai-compatible", "base_url": "http://127.0.0.1:9", "model": "m"}},
    "agent": {"adapter": "chat", "model": "local"},
    "proposer": {"model": "local"},
}
PROGRAM = {
    "adapter": "claude-code",
    "model": "claude-sonnet-5-5",
    "binary": "claude",
    "version": "2.1.332",
    "upstream": {"base_url": "https://api.anthropic.com", "key_env": "ANTHROPIC_API_KEY"},
}


def blocks(name: str) -> list[str]:
    found: list[str] = BLOCK.findall((ROOT / "docs" / name).read_text())
    assert found, f"docs/{name} shows nothing to paste"
    return found


def around(value: dict[str, Any]) -> str:
    """Return a whole evolve.yaml around a piece of one."""
    agent = value.get("agent", {})
    needs_program = "adapter" not in agent
    whole = {**SURROUNDINGS, **value, "agent": {**PROGRAM, **agent} if needs_program else agent}
    return yaml.safe_dump(whole)


@pytest.mark.parametrize("block", [*blocks("agents.md"), *blocks("proposing.md")])
def test_every_piece_of_evolve_yaml_can_be_pasted(block: str) -> None:
    given = yaml.safe_load(block)
    spec = parse_yaml(WorkspaceSpec, around(given), "evolve.yaml")
    assert given.keys() <= spec.model_fields_set, "read, not passed over"


@pytest.mark.parametrize("path", sorted((ROOT / "docs/recipes").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_recipe_can_be_pasted(path: Path) -> None:
    given = yaml.safe_load(path.read_text())
    spec = parse_yaml(WorkspaceSpec, around(given), path.name)
    assert given.keys() <= spec.model_fields_set, "read, not passed over"


@pytest.mark.parametrize("block", blocks("tasks.md"))
def test_every_piece_of_a_task_can_be_pasted(block: str) -> None:
    kind = Oracle if "evolve/oracle@1" in block else Task
    record = parse_yaml(kind, block, "task.yaml")
    assert yaml.safe_load(block).keys() - {"schema"} <= record.model_fields_set, "read, not passed over"


def test_the_schemas_for_editors_are_the_true_ones() -> None:
    from evolve.records.schemas import json_schema

    files = sorted((ROOT / "docs/schemas").glob("*.json"))
    assert {path.stem for path in files} >= {"task", "oracle", "workspace", "policy", "review"}
    for path in files:
        assert json.loads(path.read_text()) == json_schema(path.stem), "python scripts/write_schemas.py"


def test_the_table_of_templates_is_the_true_one() -> None:
    from evolve.propose.prompts import SAMPLES

    text = (ROOT / "docs/proposing.md").read_text()
    rows = dict(re.findall(r"^\| `(\w+\.j2)` \| (.*) \|$", text, re.MULTILINE))
    assert rows.keys() == SAMPLES.keys()
    for name, given in rows.items():
        outside = re.sub(r"\([^)]*\)", "", given)
        assert set(re.findall(r"`(\w+)`", outside)) == set(SAMPLES[name]), name


def test_the_limits_of_a_bundle_are_the_true_ones() -> None:
    from evolve.propose.bundle.build import SKILL_FILES
    from evolve.propose.bundle.limits import BUNDLE_BYTES, FILE_BYTES, KIB
    from evolve.propose.bundle.select import MOST_CELLS
    from evolve.propose.reflect import MAX_BODY_CHARS, MIN_BODY_CHARS

    text = (ROOT / "docs/proposing.md").read_text()
    assert f"{FILE_BYTES // KIB} KiB a file, {BUNDLE_BYTES // KIB // KIB} MiB a bundle" in text
    assert f"are at most {MOST_CELLS}:" in text and f"at most {SKILL_FILES} text files" in text
    assert f"under {MIN_BODY_CHARS} or over {MAX_BODY_CHARS:,} characters" in text


def test_the_table_of_diagnostics_is_the_true_one() -> None:
    from evolve.propose.diagnostics.finding import FindingKind
    from evolve.propose.diagnostics.thresholds import THRESHOLDS

    text = (ROOT / "docs/diagnostics.md").read_text()
    rows = [f"| `{one.name}` | `{one.of}` | {one.value:,} {one.unit} | {one.reason} |" for one in THRESHOLDS]
    header = "| threshold | of | value | why |\n| --- | --- | --- | --- |\n"
    assert text.split(header)[1].split("\n\n")[0].split("\n") == rows
    assert re.findall(r"^\| `([a-z-]+)` \|(?! `)", text, re.MULTILINE) == [kind.value for kind in FindingKind]

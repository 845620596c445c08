"""Importing promptfoo files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from evolve.corpus.loading import load_task
from evolve.corpus.selftest import check_task
from evolve.sandbox.host import Host
from tests.conftest import CommandLine

FILE = """\
description: Some tests
providers: [openai:gpt-4]
prompts:
  - "Translate {{ text }} to {{language}}."
  - {raw: "Say it in {{language}}: {{text}}", label: short}
defaultTest:
  vars: {language: French}
  assert:
    - {type: icontains, value: "{{expected}}"}
tests:
  - description: one
    vars: {text: "good {{day}}", expected: Bonjour}
    assert: [{type: contains-any, value: "Bonjour, Salut"}, {type: regex, value: "^[A-Z]"}]
  - vars: {text: 7, language: German, expected: sieben}
    assert: [{type: equals, value: sieben, metric: exact}]
"""


def write(path: Path, content: str | bytes | dict[str, Any]) -> str:
    text = yaml.safe_dump(content) if isinstance(content, dict) else content
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def one(assertion: dict[str, Any] | list[dict[str, Any]], **fields: Any) -> dict[str, Any]:
    asserts = assertion if isinstance(assertion, list) else [assertion]
    return {"prompts": ["Say {{word}}."], "tests": [{"vars": {"word": "yes"}, "assert": asserts}], **fields}


def test_every_prompt_with_every_test_becomes_a_task_that_passes_the_check(
    workspace: Path, tmp_path: Path, evolve: CommandLine
) -> None:
    ran = evolve("corpus", "import", "promptfoo", write(tmp_path / "Trans.late.yaml", FILE), "--split", "selection")
    assert ran.code == 0, ran.err
    tasks = {name: load_task(workspace / f"corpus/trans-late-{name}") for name in ("1-01", "1-02", "2-01", "2-02")}
    assert tasks["1-01"].task.prompt == "Translate good {{day}} to French."
    assert tasks["2-02"].task.prompt == "Say it in German: 7"
    assert [check.kind for check in tasks["1-01"].oracle.checks] == ["contains", "contains", "regex"]
    assert tasks["1-02"].good.text("answer.md") == "sieben\n"
    assert tasks["1-01"].task.split == "selection"
    for task in tasks.values():
        assert check_task(task, Host()) == []
    assert evolve("check").code == 0


@pytest.mark.parametrize(
    ("assertion", "good"),
    [
        ({"type": "equals", "value": "yes"}, "yes"),
        ({"type": "equals", "value": 42}, "42"),
        ({"type": "contains", "value": "{{word}}"}, "yes"),
        ({"type": "contains-all", "value": ["a1", "b2"]}, "a1 b2"),
        ({"type": "icontains-all", "value": "a1, b2"}, "a1 b2"),
        ({"type": "contains-any", "value": ["a1", "b2"]}, "a1"),
        ({"type": "starts-with", "value": "Yes. (a+)"}, "Yes. (a+)"),
        ([{"type": "starts-with", "value": "Yes"}, {"type": "contains", "value": "sir"}], "Yes sir"),
        ({"type": "is-json"}, "{}"),
        ([{"type": "is-json"}, {"type": "contains", "value": "a b"}], '["a b"]'),
        ({"type": "regex", "value": r"\d+"}, None),
        ([{"type": "contains", "value": "yes"}, {"type": "regex", "value": r"\d"}], None),
        ([{"type": "equals", "value": "yes"}, {"type": "equals", "value": "no"}], None),
        ({"type": "regex", "value": "(a+)+$"}, None),
    ],
)
def test_the_references_are_what_the_assertions_tell_and_no_more(
    workspace: Path, tmp_path: Path, evolve: CommandLine, assertion: Any, good: str | None
) -> None:
    ran = evolve("corpus", "import", "promptfoo", write(tmp_path / "p.yaml", one(assertion)), "--json")
    assert ran.code == 0, ran.out
    task = load_task(workspace / "corpus/p-1-01")
    assert (task.good.text("answer.md").strip() if task.good.files else None) == good
    assert bool(ran.json()["imported"][0]["notes"]) is (good is None)
    if good is not None:
        assert check_task(task, Host()) == []


def test_an_assertion_that_nonsense_passes_is_noted(workspace: Path, tmp_path: Path, evolve: CommandLine) -> None:
    ran = evolve(
        "corpus", "import", "promptfoo", write(tmp_path / "p.yaml", one({"type": "contains", "value": "Lorem"}))
    )
    assert ran.code == 0 and "nonsense passes the assertions" in ran.out


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (one({"type": "llm-rubric", "value": "is kind"}), "tests[0]: assert[0]: type: 'llm-rubric' is not decided by"),
        (one({"type": "javascript", "value": "true"}), "assert[0]: type: 'javascript' is not decided"),
        (one({"type": "python", "value": "True"}), "assert[0]: type: 'python' is not decided"),
        (one({"type": "not-contains", "value": "x"}), "assert[0]: type: 'not-contains' is not decided"),
        (one({"value": "x"}), "tests[0]: assert[0]: type: is missing"),
        (one({"type": "equals", "value": {"a": 1}}), "tests[0]: assert[0]: value: must be a text"),
        (one({"type": "equals", "value": "`x`"}), "assert[0]: value: backticks"),
        (one({"type": "equals", "value": "file://x"}), "assert[0]: value: a file is not read"),
        (one({"type": "equals", "value": " "}), "assert[0]: value: is empty"),
        (one({"type": "equals", "value": "x", "weight": 2}), "assert[0]: weight: "),
        (one({"type": "equals", "value": "x", "transform": "y"}), "assert[0]: transform: is not read"),
        (one({"type": "contains-all", "value": []}), "assert[0]: value: must be a list"),
        (one({"type": "contains-all", "value": '"a,b",c'}), "assert[0]: value: quotes in a list"),
        (one({"type": "regex", "value": "["}), "assert[0]: value: not a regular expression"),
        (one({"type": "regex", "value": "x" * 401}), "assert[0]: value: more than 400"),
        (one({"type": "is-json", "value": {"type": "object"}}), "assert[0]: value: a schema is not checked"),
        (one([]), "tests[0]: assert: there is nothing that decides"),
        (one({"type": "equals", "value": "{{none}}"}), "assert[0]: value: {{none}}: no such variable"),
        (one({"type": "equals", "value": "{{word | upper}}"}), "assert[0]: value: only {{name}} is filled in"),
        (one({"type": "is-json"}, prompts=["{% if x %}"]), "prompts[0]: only {{name}} is filled in"),
        (one({"type": "is-json"}, prompts=["file://p.txt"]), "prompts[0]: a file or program is not read"),
        (one({"type": "is-json"}, prompts=["prompts/p.txt"]), "prompts[0]: a file or program is not read"),
        (one({"type": "is-json"}, prompts=['[{"role": "user"}]']), "prompts[0]: a list of messages"),
        (one({"type": "is-json"}, prompts=[7]), "prompts[0]: must be a text"),
        (one({"type": "is-json"}, prompts=[{"raw": "x", "function": "y"}]), "prompts[0]: function: is not read"),
        (one({"type": "is-json"}, tests=["file://t.csv"]), "tests[0]: must be a mapping"),
        (one({"type": "is-json"}, tests=[{"threshold": 1}]), "tests[0]: threshold: is not read"),
        (one({"type": "is-json"}, tests=[{"vars": {"word": ["a", "b"]}}]), "tests[0]: vars.word: must be a text"),
        (one({"type": "is-json"}, defaultTest={"options": {}}), "defaultTest: options: is not read"),
        (one({"type": "is-json"}, scenarios=[]), "p.yaml: scenarios: is not read"),
        (one({"type": "is-json"}, tests="tests.csv"), "p.yaml: tests: must be a list"),
        (one({"type": "is-json"}, prompts=["a"] * 200, tests=[{} for _ in range(200)]), "more than 10000"),
        ("a: &x [1]\nb: [*x, *x]\n", "anchors and aliases are not allowed"),
        ("a: !!python/object:os.system x\n", "tags are not allowed"),
        ("[" * 5000, "p.yaml:1: not YAML"),
        (b"\xff", "not UTF-8"),
        ("- 1\n", "must be a mapping"),
        ("x" * (5 * 1024 * 1024), "more than the 4194304 allowed"),
    ],
)
def test_what_cannot_be_imported_is_refused_with_its_field_and_nothing_is_written(
    workspace: Path, tmp_path: Path, evolve: CommandLine, content: Any, reason: str
) -> None:
    before = sorted(path.name for path in (workspace / "corpus").iterdir())
    ran = evolve("corpus", "import", "promptfoo", write(tmp_path / "p.yaml", content))
    assert ran.code == 2
    assert reason in ran.err, ran.err
    assert sorted(path.name for path in (workspace / "corpus").iterdir()) == before


def test_a_test_that_cannot_be_decided_leaves_the_others(workspace: Path, tmp_path: Path, evolve: CommandLine) -> None:
    value = one({"type": "equals", "value": "yes"})
    value["tests"].append({"vars": {"word": "no"}, "assert": [{"type": "llm-rubric", "value": "x"}]})
    ran = evolve("corpus", "import", "promptfoo", write(tmp_path / "p.yaml", value))
    assert ran.code == 0
    assert "1 imported, 1 refused; next: evolve check" in ran.out
    assert "p.yaml: prompts[0] tests[1]  refused" in ran.out

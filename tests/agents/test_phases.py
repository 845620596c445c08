"""Phases: what is asked, what may change, what is handed on."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.agents.claude_code import ClaudeCode
from evolve.agents.phases import (
    SHIPPED,
    Earlier,
    Phase,
    check_templates,
    forbidden_changes,
    prompt_of,
    read_artifact,
    shipped_template,
    work_entries,
)
from evolve.errors import InputError
from evolve.records.agent import ProgramSpec
from evolve.records.phase import FLOWS, PhaseSpec
from evolve.records.task import Task
from evolve.sandbox.box import Places
from evolve.sandbox.gateway.account import SessionLimits
from tests.builders import make_task

ADAPTER = ClaudeCode(
    ProgramSpec.model_validate(
        {"adapter": "claude-code", "model": "m", "binary": "x", "version": "1", "upstream": {"base_url": "http://x"}}
    )
)


def asked(prompt: str) -> Task:
    return make_task(prompt=prompt).task


def phase(spec: PhaseSpec, template: str | None = None) -> Phase:
    text = shipped_template(spec.template) if template is None else template
    return Phase(spec, ADAPTER, SessionLimits(), text)


@pytest.mark.parametrize("flow", FLOWS)
def test_every_shipped_flow_can_be_asked(flow: str) -> None:
    check_templates([phase(spec) for spec in FLOWS[flow]])  # type: ignore[index]


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_template_says_that_a_check_happens_before_the_end(name: str) -> None:
    text = " ".join(shipped_template(name).split())
    assert "Before you end" in text or "before you end" in text
    assert "nobody can answer a question" in text


def test_a_task_is_text_and_no_template() -> None:
    prompt = prompt_of(phase(FLOWS["direct"][0]), asked("{{ 7 * 7 }} {% raw %}"), Places(), {})
    assert prompt.startswith("{{ 7 * 7 }} {% raw %}\n")


def test_a_plan_is_text_and_no_template() -> None:
    earlier = {"plan": Earlier("/x/plan.md", "{{ task }}")}
    prompt = prompt_of(phase(FLOWS["plan-work"][1]), asked("The task."), Places(), earlier)
    assert "{{ task }}" in prompt
    assert "/x/plan.md" in prompt


def test_paths_are_those_of_the_place() -> None:
    prompt = prompt_of(phase(FLOWS["plan-work"][0]), asked("The task."), Places("/room/host"), {})
    assert "Write the plan to /room/host/box/artifact/plan.md" in prompt


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("{{ nothing }}", "'nothing' is undefined"),
        ("{{ earlier.plan.text }}", "has no attribute 'plan'"),
        ("{% if %}", "Expected an expression"),
        ("{{ ''.__class__.__mro__ }}", "unsafe"),
        ("{{ task.missing() }}", "missing"),
        ("{% include 'x' %}", "no loader"),
    ],
)
def test_a_template_that_cannot_be_rendered_is_refused(template: str, said: str) -> None:
    spec = PhaseSpec(name="mine", template="mine.j2")
    with pytest.raises(InputError, match="phases: mine: its template") as caught:
        check_templates([phase(spec, template)])
    assert said in caught.value.message


BEFORE = {"a.py": "1", "docs/x.md": "2", "tests/t.py": "3"}


@pytest.mark.parametrize(
    ("after", "allowed", "forbidden"),
    [
        (BEFORE, (), []),
        ({**BEFORE, "a.py": "9"}, (), ["a.py"]),
        ({**BEFORE, "new": "9"}, ("*.md",), ["new"]),
        ({"a.py": "1"}, ("docs/",), ["tests/t.py"]),
        ({**BEFORE, "docs/y.md": "9", "tests/t.py": "9"}, ("*", "!tests/"), ["tests/t.py"]),
        ({**BEFORE, "deep/docs/y.md": "9"}, ("/docs/",), ["deep/docs/y.md"]),
        ({**BEFORE, "new/": "f", "new/in/": "f", "new/in/y.md": "9"}, ("new/in/y.md",), []),
        ({**BEFORE, "new/": "f", "new/in/": "f", "new/x": "9"}, ("new/x",), ["new/in/"]),
    ],
)
def test_what_may_not_change_is_told(after: dict[str, str], allowed: tuple[str, ...], forbidden: list[str]) -> None:
    assert forbidden_changes(BEFORE, after, allowed) == forbidden


trees = st.dictionaries(st.sampled_from(["a", "b/c", "d.md", "e/f/g"]), st.sampled_from("12"), max_size=4)


@given(trees, trees)
def test_all_changes_are_forbidden_or_none(before: dict[str, str], after: dict[str, str]) -> None:
    changed = {path for path in {*before, *after} if before.get(path) != after.get(path)}
    assert set(forbidden_changes(before, after, ())) == changed
    assert forbidden_changes(before, after, ("*",)) == []


def test_every_kind_of_change_is_seen(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    seen = [work_entries(tmp_path)]
    (tmp_path / "file").chmod(0o755)
    seen.append(work_entries(tmp_path))
    (tmp_path / "file").unlink()
    (tmp_path / "file").symlink_to("x")
    seen.append(work_entries(tmp_path))
    assert len({tree["file"] for tree in seen}) == 3
    (tmp_path / "empty/inner").mkdir(parents=True)
    assert work_entries(tmp_path).keys() - seen[-1].keys() == {"empty/", "empty/inner/"}
    assert forbidden_changes(seen[-1], work_entries(tmp_path), ("empty/",)) == []


def test_an_artifact_is_one_plain_file(tmp_path: Path) -> None:
    assert read_artifact(tmp_path, "plan.md") == (None, None)
    assert read_artifact(tmp_path / "gone", "plan.md") == (None, None)
    (tmp_path / "plan.md").write_bytes(b"one\r\ntwo\xff")
    assert read_artifact(tmp_path, "plan.md") == ("one\ntwo�", None)
    (tmp_path / "more").mkdir()
    assert read_artifact(tmp_path, "plan.md") == (None, "it wrote more beside plan.md")
    (tmp_path / "more").rmdir()
    (tmp_path / "plan.md").unlink()
    (tmp_path / "plan.md").mkdir()
    assert read_artifact(tmp_path, "plan.md") == (None, "plan.md is no plain file of at most 256 KiB")

"""What a proposer may never see is planted in every hidden task, and appears nowhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from evolve.models.base import ChatRequest
from evolve.propose.prompts import Templates
from tests.conftest import CommandLine
from tests.worlds import ScriptedModel, follow_the_skill, git

IN_TASK, IN_ORACLE = "zyzzyva-{id}-prompt", "quokka-{id}-oracle"


def plant(root: Path, split: str) -> list[str]:
    """Plant a string in the prompt and one among the expected values of every task of a split."""
    planted = []
    for folder in sorted((root / "corpus").glob(f"*-{split}-*")):
        in_task, in_oracle = (text.format(id=folder.name) for text in (IN_TASK, IN_ORACLE))
        task, oracle = folder / "task.yaml", folder / "oracle/oracle.yaml"
        task.write_text(task.read_text().replace('prompt: "', f'prompt: "{in_task} '))
        oracle.write_text(oracle.read_text().replace("any_of: [", f'any_of: ["{in_oracle}", '))
        assert in_oracle in oracle.read_text()
        planted += [in_task, in_oracle]
    git(root, "commit", "--quiet", "--all", "--message", f"Plant strings in the {split} tasks")
    return planted


def of_the_proposer(model: ScriptedModel) -> list[ChatRequest]:
    systems = [Templates().render(name) for name in ("reflect_system.j2", "rewrite_system.j2")]
    return [request for request in model.requests if request.messages[0].content in systems]


def answer(system: str, user: str, seed: int) -> str:
    if "edit one instruction" in system:
        return f"Give the number back at once. ({seed})"
    if "improve instruction texts" in system:
        return "You give the number back.\n\n## Rules\n\n1. Reply with the number in angle brackets, nothing else."
    return follow_the_skill(system, user, seed)


@pytest.mark.parametrize(
    "operators",
    [
        ("demonstrate", "lesson", "reflect"),
        ("demonstrate", "reflect", "lesson", "sharpen", "compress", "prune", "merge"),
    ],
)
def test_nothing_of_a_sealed_or_selection_task_or_of_their_oracles_reaches_a_proposer(
    workspace: Path, model: ScriptedModel, evolve: CommandLine, operators: tuple[str, ...]
) -> None:
    model.answer = answer
    planted = [*plant(workspace, "sealed"), *plant(workspace, "selection")]
    of_train = [text for text in plant(workspace, "train") if text.endswith("-prompt")]
    chosen = [part for operator in operators for part in ("--operator", operator)]
    assert evolve("check").code == 0
    for _ in range(2):
        assert evolve("generation", "--rounds", "2", *chosen).code == 0

    asked = of_the_proposer(model)
    assert asked
    seen_by_agents = [request for request in model.requests if request not in asked]
    assert any("zyzzyva" in message.content for request in seen_by_agents for message in request.messages)
    shown = "".join(message.content for request in asked for message in request.messages)
    kept = [*(workspace / "results/generations").rglob("*"), *(workspace / "overlays").rglob("*")]
    written = "".join(path.read_text() for path in kept if path.is_file())
    assert {"archive.jsonl", "learnings.jsonl", "search.json", "overlay.yaml"} <= {path.name for path in kept}
    assert "## Rules" in written
    assert any(text in shown for text in of_train), "what a proposer may see is seen here, so that the rest would be"
    assert any(text in written for text in of_train)
    for text in planted:
        assert text not in shown
        assert text not in written


def test_a_skill_that_carries_a_planted_string_is_refused(workspace: Path, evolve: CommandLine) -> None:
    planted = plant(workspace, "sealed")
    for text in planted[:4]:
        mine = workspace / "mine.md"
        skill = (workspace / "skills/bracket/SKILL.md").read_text()
        mine.write_text(f"{skill}\nRemember {text}.\n")
        ran = evolve("propose", "--skill", "bracket", "--operator", "manual", "--from", str(mine))
        assert ran.code == 2, text
        assert "bracket-sealed-" in ran.err

"""Making the candidates of a generation in a workspace."""

from __future__ import annotations

import json
from pathlib import Path

from tests.conftest import CommandLine
from tests.worlds import ScriptedModel, git


def test_a_proposal_that_is_longer_than_agents_like_is_noted(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    skill = workspace / "skills/bracket/SKILL.md"
    skill.write_text(skill.read_text() + "\n- line" * 498 + "\n")
    git(workspace, "commit", "--quiet", "--all", "--message", "Long")
    ran = evolve("generation")
    assert ran.code in (0, 1, 3) and "note: demonstrate: the body has 5" in ran.err
    assert ran.err.count("note: demonstrate: the body has") == 1


def test_the_names_of_proposals_are_counted_by_their_operator(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    evolve("generation", "--operator", "lesson+demonstrate", "--operator", "lesson", "--population", "5")
    record = json.loads((workspace / "results/generations/g0001/generation.json").read_text())
    names = [(one["name"], one["operator"]) for one in record["proposals"] if one["operator"]]
    assert len({name for name, _ in names}) == len(names)
    for operator in ("lesson", "lesson+demonstrate"):
        base = operator.replace("+", "-")
        count = sum(of == operator for _, of in names)
        wanted = {base, *(f"{base}-{number}" for number in range(2, count + 1))} if count else set()
        assert {name for name, of in names if of == operator} == wanted


def test_a_candidate_of_the_archive_shares_no_arm_with_a_proposal(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    model.answer = lambda system, user, seed: "It is a number, I think."
    skill = workspace / "skills/bracket/SKILL.md"
    skill.write_text(skill.read_text() + "\nLook at the number with great care before you reply.\n")
    git(workspace, "commit", "--quiet", "--all", "--message", "More")
    operators = ("--operator", "demonstrate", "--operator", "lesson", "--operator", "prune")
    for _ in range(3):
        ran = evolve("generation", *operators, "--population", "4")
        assert ran.code == 0, ran.err
    texts: dict[tuple[str, str], set[str]] = {}
    for generation in ("g0002", "g0003"):
        for sweep in sweeps_of(workspace, generation):
            for arm in json.loads((workspace / "results/sweeps" / sweep / "plan.json").read_text())["arms"]:
                texts.setdefault((generation, arm["name"]), set()).add(str(arm["overlay_sha256"]))
    assert any(name.startswith("g0001-") for _, name in texts)
    assert [name for (_, name), digests in texts.items() if len(digests) > 1] == []
    record = json.loads((workspace / "results/generations/g0002/generation.json").read_text())
    assert all(one["train"] is None for one in record["proposals"] if one["overlay_sha256"] is None)


def sweeps_of(workspace: Path, generation: str) -> list[str]:
    record = json.loads((workspace / f"results/generations/{generation}/generation.json").read_text())
    return [str(sweep) for sweep in record["sweeps"]]

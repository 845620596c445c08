"""The real agents, in real boxes, against a scripted model on loopback; where they cannot run, it is said loudly."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from evolve.agents.base import Session, SessionEnd
from evolve.agents.build import build_agent
from evolve.agents.contained import ContainedAgent
from evolve.records.workspace import WorkspaceSpec
from evolve.sandbox.box_preflight import find_box
from evolve.sandbox.host_box import HostBox
from evolve.skills import Skill
from tests.builders import make_skill, make_task

CLAUDE, CODEX = "2.1.332", "0.171.0"
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "evolve/agents"
FOLDER = CACHE / f"claude-{CLAUDE}-codex-{CODEX}"
RECIPES = Path(__file__).parents[2] / "docs/recipes"
KEY = "sk-real-key-that-must-never-leak-0123456789"


def read_recipe(path: Path) -> dict[str, Any]:
    """Return the agent of a recipe, its program where it is installed here."""
    agent: dict[str, Any] = yaml.safe_load(path.read_text())["agent"]
    for field in ("binary", "install"):
        agent[field] = agent[field].replace("~/.cache/evolve/agents", str(CACHE))
    return agent


def missing(module: str) -> str | None:
    """Return why a module's real agents cannot be run here."""
    if module == "test_recipes.py":
        if not all(Path(read_recipe(path)["binary"]).exists() for path in RECIPES.glob("*.yaml")):
            return "the programs of docs/recipes are not installed: tests/real_agents/install_recipes.sh"
    elif not (FOLDER / "claude").exists() or not (FOLDER / "codex").exists():
        return "the agents are not installed: tests/real_agents/install.sh"
    if shutil.which("bwrap") is None:
        return "bubblewrap is not installed"
    return None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what cannot run; with EVOLVE_REAL_AGENTS=1, as in continuous integration, it fails instead."""
    mine = [item for item in items if item.path.parent == Path(__file__).parent]
    reasons = {module: missing(module) for module in {item.path.name for item in mine}}
    found = sorted({reason for reason in reasons.values() if reason is not None})
    if found and os.environ.get("EVOLVE_REAL_AGENTS"):
        raise pytest.UsageError(f"the tests with real agents were asked for, and {'; '.join(found)}")
    for item in mine:
        if (reason := reasons[item.path.name]) is not None:
            item.add_marker(pytest.mark.skip(reason=reason))


GREETER = make_skill("greeter", "Write `hello` into out.txt.")


def spec_of(adapter: str, url: str, /, **settings: Any) -> WorkspaceSpec:
    """Return a workspace whose agent is a real program."""
    claude = {"adapter": "claude-code", "model": "claude-sonnet-5-5", "version": CLAUDE}
    codex = {"adapter": "codex", "model": "gpt-5.5", "version": CODEX, "price": {"input_usd": 2, "output_usd": 8}}
    agent: dict[str, Any] = {**(claude if adapter == "claude" else codex), "binary": str(FOLDER / adapter)}
    agent["upstream"] = {"base_url": url, "key_env": "REAL_KEY"}
    agent |= settings
    value = {
        "schema": "evolve/workspace@1",
        "models": {"m": {"kind": "openai-compatible", "base_url": url, "model": "m"}},
        "agent": agent,
        "proposer": {"model": "m"},
    }
    return WorkspaceSpec.model_validate(value)


Run = Callable[..., SessionEnd]


@pytest.fixture
def run_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run one session of a real agent; ``self.work`` of the room stays to be looked at."""
    monkeypatch.setenv("REAL_KEY", KEY)
    count = [0]

    def run(
        agent: str,
        url: str,
        /,
        *,
        seed: dict[str, str] | None = None,
        skill: Skill | None = GREETER,
        wall_s: float = 60,
        kind: str = "edit",
        prompt: str = "Greet me with the skill greeter.",
        unsafe_host: bool = False,
        **settings: Any,
    ) -> SessionEnd:
        spec = spec_of(agent, url, **settings)
        box = HostBox() if unsafe_host else None
        built = build_agent(spec, spec.agent, tmp_path, lambda name: pytest.fail(f"no model: {name}"), box=box)
        assert isinstance(built, ContainedAgent)
        count[0] += 1
        room = tmp_path / f"room-{count[0]}"
        work, skills = room / "work", room / "skills"
        task = make_task(kind=kind, seed=seed or {"in.txt": "x"}, prompt=prompt, limits={"wall_s": wall_s})
        task.seed.write_scratch(work)
        skills.mkdir()
        if skill is not None:
            skill.files.write_scratch(skills / skill.name)
        return built.run(
            Session(task=task.task, work=work, skills=skills, seed=1, expects=skill.name if skill else None)
        )

    return run


@pytest.fixture
def room(tmp_path: Path) -> Path:
    """Return the folder of the first session."""
    return tmp_path / "room-1"


@pytest.fixture(scope="session", autouse=True)
def box_works() -> None:
    """See that boxes contain before anything is believed of them."""
    if shutil.which("bwrap") is not None:
        find_box()

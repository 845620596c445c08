"""The folders that pages begin in.

- ``folder``: an empty one.
- ``workspace``: this repository's workspace with one of its skills, committed.
- ``foreign``: the same, with tasks of other systems beside it.
- ``served``: a workspace beside an endpoint where a page has Ollama.
- ``measured``: one with a proposal that was proven and promoted, and another that was only made.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.builders import write_files
from tests.corpus.importers import test_promptfoo as promptfoo
from tests.corpus.importers import test_swebench as swebench
from tests.docs.pages import ROOT
from tests.docs.running import Place

WORLDS = ("folder", "workspace", "foreign", "served", "measured")
CONTAINED = ("foreign", "served")
SKILL = "purchase-json"
COMMIT = "git add --all && git commit --quiet --message Start"
MEASURED = """\
evolve propose --operator demonstrate
evolve benchmark overlays/purchase-json-demonstrate-*
evolve promote overlays/purchase-json-demonstrate-*
evolve propose --operator manual --skill purchase-json --from shorter.md
"""
# On the real model a cell takes seconds: no more of them than a proof needs.
FEWER = {"train": 2, "selection": 1, "sealed": 6}
ONE_RUN = ("min_runs: 3", "min_runs: 1")


def build(world: str, place: Place) -> None:
    """Make a world in the folder where the reader stands."""
    place.furnish()
    if world == "folder":
        return
    _workspace(place.work, small=place.real_model)
    _run(place, f"git init --quiet && {COMMIT}")
    if world == "foreign":
        _tasks_of_others(place)
    if world == "measured":
        skill = (place.work / f"skills/{SKILL}/SKILL.md").read_text(encoding="utf-8")
        shorter = skill.replace("You help the office team with", "These are")
        (place.work / "shorter.md").write_text(shorter, encoding="utf-8")
        _run(place, MEASURED)


def _run(place: Place, script: str) -> None:
    code, told = place.run(script)
    assert code == 0, told


def _workspace(root: Path, *, small: bool) -> None:
    policy = (ROOT / "promotion/policy.yaml").read_text(encoding="utf-8")
    (root / "promotion").mkdir()
    (root / "promotion/policy.yaml").write_text(policy.replace(*ONE_RUN) if small else policy, encoding="utf-8")
    shutil.copy(ROOT / "evolve.yaml", root / "evolve.yaml")
    shutil.copytree(ROOT / "skills" / SKILL, root / "skills" / SKILL)
    (root / ".gitignore").write_text("/results/\n", encoding="utf-8")
    for split, most in FEWER.items():
        folders = sorted((ROOT / "corpus").glob(f"{SKILL}-{split}-*"))
        for folder in folders[:most] if small else folders:
            shutil.copytree(folder, root / "corpus" / folder.name)


def _tasks_of_others(place: Place) -> None:
    _run(place, "evolve corpus export harbor tasks/ --skill purchase-json --split selection")
    _run(place, "python -m venv --without-pip .venv && git init --quiet clones/acme__stats")
    clone = place.work / "clones/acme__stats"
    write_files(clone, {"stats.py": swebench.OLD, "tests/test_stats.py": swebench.TESTS, "conftest.py": ""})
    _run(place, f"(cd clones/acme__stats && {COMMIT})")
    swebench.write_lines(place.work / "instances.jsonl", swebench.instance(place.work / "clones"))
    (place.work / "promptfooconfig.yaml").write_text(promptfoo.FILE, encoding="utf-8")

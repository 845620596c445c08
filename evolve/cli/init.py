"""``evolve init``."""

from __future__ import annotations

from pathlib import Path

import click

from evolve.cli.output import emit, json_option
from evolve.errors import InputError


@click.command("init", short_help="Make a workspace of this repository; nothing is overwritten.")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), default=Path())
@click.option("--skill", help="The skill that the example tasks are for; by default the first one there is.")
@json_option
def command(folder: Path, skill: str | None, as_json: bool) -> None:
    """Make a workspace of a git repository: evolve.yaml, a policy, and one example task a split.

    Skills below skills/, .claude/skills/ or .agents/skills/ are found; those in several are kept alike. Without any,
    an example skill is written. What exists is never overwritten.

    Example: evolve init --skill my-skill
    """
    from evolve.promote.git import Repository
    from evolve.scaffold.plan import plan_scaffold, write_scaffold

    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder", code="no-folder")
    root = folder.resolve()
    Repository(root)
    scaffold = plan_scaffold(root, skill)
    write_scaffold(root, scaffold)
    lines = [f"written  {path}" for path in sorted(scaffold.files)]
    lines += [f"kept     {path}" for path in scaffold.kept]
    lines += [
        f"left out {root}: its {scaffold.skill} differs; once they are the same, name it in skill_roots, and promotions"
        " keep both alike"
        for root in scaffold.other_roots
    ]
    if not scaffold.new_skill:
        lines.append(f"The tasks below corpus/ are placeholders; rewrite them for {scaffold.skill}.")
    lines.append("next: evolve check, git add and commit, evolve models install, evolve generation")
    value = {"skill": scaffold.skill, "written": sorted(scaffold.files), "kept": list(scaffold.kept)}
    value["left_out"] = list(scaffold.other_roots)
    emit(value, "\n".join(lines), as_json=as_json)

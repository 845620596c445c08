"""``evolve corpus``."""

from __future__ import annotations

import json
from typing import Any

import click

from evolve.cli.opening import here
from evolve.cli.output import emit, json_option, table

SPLITS = ("train", "selection", "sealed")
KINDS = ("answer", "edit", "review", "repository")


@click.group("corpus", short_help="List, show, make, import and export tasks.")
def command() -> None:
    """List, show, make, import and export tasks.

    Example: evolve corpus new answer my-skill-train-02 --skill my-skill
    """


def _split(name: str | None) -> Any:
    from evolve.records.kinds import Split

    return None if name is None else Split(name)


@command.command("list", short_help="List the tasks.")
@click.option("--skill", help="Only the tasks of this skill.")
@click.option("--split", type=click.Choice(SPLITS), help="Only the tasks of this split.")
@json_option
def list_tasks(skill: str | None, split: str | None, as_json: bool) -> None:
    """List the tasks of the corpus.

    Example: evolve corpus list --skill my-skill --split train
    """
    from evolve.corpus.loading import load_corpus
    from evolve.corpus.view import chosen, listed

    workspace = here()
    if skill is not None:
        workspace.skill(skill)
    value = [listed(task) for task in chosen(load_corpus(workspace.corpus), skill, _split(split))]
    emit(value, table([[_cell(item) for item in row.values()] for row in value], _LISTED), as_json=as_json)


_LISTED = ["id", "split", "kind", "class", "tier", "skills", "expensive", "checks"]


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, dict):
        return ", ".join(f"{name} {count}" for name, count in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


@command.command("show", short_help="Show a task.")
@click.argument("identifier", metavar="ID")
@click.option("--reveal", is_flag=True, help="Show the oracle's values of selection and sealed tasks too.")
@json_option
def show(identifier: str, reveal: bool, as_json: bool) -> None:
    """Show a task: prompt, limits, checks, files and digests.

    The values in the oracle of a selection or sealed task are not shown, so that they do not end up in a skill.

    Example: evolve corpus show my-skill-train-01
    """
    from evolve.corpus.loading import load_corpus
    from evolve.corpus.view import described

    value = described(load_corpus(here().corpus).get(identifier), reveal=reveal)
    emit(value, "\n".join(_shown(value)), as_json=as_json)


def _shown(value: dict[str, Any]) -> list[str]:
    lines = [f"{name}: {_cell(value[name])}" for name in _LISTED if value[name]]
    for name in ("limits", "repository", "dependencies", "setup", "tags"):
        if value[name]:
            lines.append(f"{name}: {json.dumps(value[name], ensure_ascii=False)}")
    lines += ["prompt:", *(f"  {line}" for line in value["prompt"].splitlines())]
    for name in ("verify", "oracle"):
        lines += [f"{name}:"] if value[name] else []
        lines += [f"  {json.dumps(check, ensure_ascii=False)}" for check in value[name]]
    if value["oracle_values"] == "hidden":
        lines.append("  (values hidden: --reveal shows them)")
    lines.append("files:")
    for part, sizes in value["files"].items():
        lines += [f"  {part}/{path}  {size} bytes" for path, size in sizes.items()]
    return [*lines, f"task digest: {value['task_sha256']}", f"oracle digest: {value['oracle_sha256']}"]


@command.command("stats", short_help="Count the tasks of each skill and split.")
@json_option
def stats(as_json: bool) -> None:
    """Count the tasks of each skill and split: kinds, classes, tiers, and how many are expensive.

    Example: evolve corpus stats
    """
    from evolve.corpus.loading import load_corpus
    from evolve.corpus.view import counted

    workspace = here()
    value = counted(load_corpus(workspace.corpus).tasks, workspace.skills())
    rows = [[_cell(item) for item in row.values()] for row in value]
    emit(value, table(rows, ["skill", "split", "tasks", "kinds", "classes", "tiers", "expensive"]), as_json=as_json)


@command.command("new", short_help="Write a new task to fill in.")
@click.argument("kind", metavar="KIND", type=click.Choice(KINDS))
@click.argument("identifier", metavar="ID")
@click.option("--skill", help="The skill that the task exercises; by default the only one there is.")
@click.option("--split", type=click.Choice(SPLITS), default="train", show_default=True, help="Its split.")
@json_option
def new(kind: str, identifier: str, skill: str | None, split: str, as_json: bool) -> None:
    """Write a new task with references; it passes `evolve check`, and its comments say what is to be filled in.

    KIND is answer, edit, review or repository.

    Example: evolve corpus new edit my-skill-train-02 --skill my-skill
    """
    from evolve.corpus.importers.draft import choose_skill
    from evolve.scaffold.new_task import new_task

    workspace = here()
    folder, _ = new_task(workspace, kind, identifier, skill=choose_skill(workspace, skill), split=_split(split))
    files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    shown = workspace.relative(folder)
    lines = [*(f"written  {shown}/{path}" for path in files), "next: fill it in, then: evolve check"]
    emit({"id": identifier, "folder": shown, "files": files}, "\n".join(lines), as_json=as_json)


@command.group("import", short_help="Import Harbor, SWE-bench or promptfoo tasks.")
def import_group() -> None:
    """Import tasks of other formats; what cannot be imported is refused with its reason.

    Exit 2 when nothing could be imported.

    Example: evolve corpus import harbor tasks/ --skill my-skill
    """


def _target_options(function: Any) -> Any:
    for option in (
        click.option("--prefix", default="", help="What the ids of the new tasks begin with."),
        click.option("--split", type=click.Choice(SPLITS), default="train", show_default=True, help="Their split."),
        click.option("--skill", help="The skill that the tasks exercise; by default the only one there is."),
    ):
        function = option(function)
    return function


def _target(skill: str | None, split: str, prefix: str) -> Any:
    from evolve.corpus.importers.draft import Target, choose_skill

    workspace = here()
    return Target(workspace, choose_skill(workspace, skill), _split(split), prefix)


def _finish(outcome: Any, target: Any, as_json: bool) -> None:
    """Write what was made, and say what became of everything."""
    from evolve.corpus.importers.draft import write_drafts

    outcome.require_any("imported")
    write_drafts(outcome.done, target.workspace)
    _say(outcome, "imported", "next: evolve check", as_json)


def _say(outcome: Any, done: str, last: str, as_json: bool) -> None:
    value = {
        done: [{"source": d.source, "id": d.id, "notes": list(d.notes)} for d in outcome.done],
        "refused": [{"source": r.source, "reason": r.reason} for r in outcome.refused],
    }
    rows = [[d.source, done, d.id] for d in outcome.done]
    rows += [[r.source, "refused", r.reason.replace("\n", "; ")] for r in outcome.refused]
    lines = [table(rows, ["source", "outcome", "task, or reason"])]
    lines += [f"note  {d.id}: {note}" for d in outcome.done for note in d.notes]
    lines.append(f"{len(outcome.done)} {done}, {len(outcome.refused)} refused; {last}")
    emit(value, "\n".join(lines), as_json=as_json)


@import_group.command("harbor")
@click.argument("folder", metavar="DIR", type=click.Path())
@_target_options
@json_option
def import_harbor(folder: str, skill: str | None, split: str, prefix: str, as_json: bool) -> None:
    """Import a Harbor task, or a folder of them, as edit tasks with their own verifier.

    Imported is what needs no container: no Dockerfile, or one that copies files into a folder; or a task whose
    task.toml says how to prepare the work, as [metadata.evolve] setup = [["make", "data"]].

    Example: evolve corpus import harbor tasks/ --skill my-skill --split selection
    """
    from pathlib import Path

    from evolve.corpus.importers.harbor import import_harbor as make
    from evolve.sandbox.choose import choose_sandbox

    target = _target(skill, split, prefix)
    _finish(make(Path(folder), target, choose_sandbox()), target, as_json)


@import_group.command("swebench")
@click.argument("file", metavar="FILE.jsonl", type=click.Path())
@_target_options
@click.option("--limit", type=click.IntRange(min=1), help="Import so many at the most.")
@click.option("--repository-root", type=click.Path(), metavar="DIR", help="Local clones; references are made of them.")
@click.option("--venv", metavar="DIR", help="What the tests need: the tasks will depend on it as their .venv.")
@json_option
def import_swebench(
    file: str,
    skill: str | None,
    split: str,
    prefix: str,
    limit: int | None,
    repository_root: str | None,
    venv: str | None,
    as_json: bool,
) -> None:
    """Import SWE-bench instances, one JSON object a line, as repository tasks graded by the tests that they name.

    Clones are looked for as DIR/owner/name, DIR/owner__name and DIR/name. Without them a task names the repository
    on GitHub, and its references are left to you.

    Example: evolve corpus import swebench instances.jsonl --skill my-skill --limit 20 --repository-root clones
    """
    from pathlib import Path

    from evolve.corpus.importers.swebench import import_swebench as make

    target = _target(skill, split, prefix)
    root = Path(repository_root) if repository_root is not None else None
    _finish(make(Path(file), target, limit=limit, root=root, venv=venv), target, as_json)


@import_group.command("promptfoo")
@click.argument("file", metavar="FILE.yaml", type=click.Path())
@_target_options
@json_option
def import_promptfoo(file: str, skill: str | None, split: str, prefix: str, as_json: bool) -> None:
    """Import every prompt with every test of a promptfoo file as an answer task.

    Assertions that reading the reply decides become checks: equals, contains, icontains (and -all, -any), regex,
    starts-with, is-json. Others are refused, and so is what runs a program or reads a file.

    Example: evolve corpus import promptfoo promptfooconfig.yaml --skill my-skill
    """
    from pathlib import Path

    from evolve.corpus.importers.promptfoo import import_promptfoo as make

    target = _target(skill, split, prefix)
    _finish(make(Path(file), target), target, as_json)


@command.group("export", short_help="Export tasks as Harbor folders.")
def export_group() -> None:
    """Export tasks to other formats; what cannot be exported is refused with its reason.

    Example: evolve corpus export harbor tasks/ --skill my-skill
    """


@export_group.command("harbor")
@click.argument("folder", metavar="DIR", type=click.Path())
@click.option("--skill", help="Only the tasks of this skill.")
@click.option("--split", type=click.Choice(SPLITS), help="Only the tasks of this split.")
@json_option
def export_harbor(folder: str, skill: str | None, split: str | None, as_json: bool) -> None:
    """Write answer and edit tasks as Harbor task folders that need nothing of evolve.

    The hidden checks stand in tests/ of each folder, and the good reference in solution/: share sealed ones with care.

    Example: evolve corpus export harbor tasks/ --split train
    """
    from pathlib import Path

    from evolve.corpus.importers.harbor_export import export_harbor as write
    from evolve.corpus.loading import load_corpus
    from evolve.corpus.view import chosen

    workspace = here()
    if skill is not None:
        workspace.skill(skill)
    outcome = write(chosen(load_corpus(workspace.corpus), skill, _split(split)), Path(folder))
    _say(outcome, "exported", f"written to {folder}", as_json)

"""``evolve rehearse``."""

from __future__ import annotations

import click

from evolve.cli.opening import here
from evolve.cli.output import emit, json_option, say
from evolve.cli.run_options import expensive_option, unsafe_host_option
from evolve.errors import ExitCode, InputError


@click.command("rehearse", short_help="Run every task with a scripted agent, free of charge, as paid cells are run.")
@click.option("--skill", help="Only the tasks of this skill.")
@expensive_option
@unsafe_host_option
@json_option
def command(skill: str | None, include_expensive: bool, unsafe_host: bool, as_json: bool) -> int:
    """Run every task's good and bad reference through the very path that a paid cell takes. No model is called.

    A void cell costs as much as a good one: this finds a broken sandbox, setup or check before money is spent.
    Exit 1 when a reference does not end as it must.

    Example: evolve rehearse --skill purchase-json
    """
    from evolve.bench.ground import Grounds
    from evolve.bench.rehearse import Rehearsed, rehearse
    from evolve.corpus.loading import load_corpus
    from evolve.sandbox.box_preflight import find_box
    from evolve.sandbox.choose import UNSAFE_HOST_NOTE, choose_sandbox, require_containment
    from evolve.sandbox.host_box import HostBox

    workspace = here()
    corpus, skills = load_corpus(workspace.corpus, expensive=include_expensive), workspace.skills()
    if skill is not None:
        workspace.skill(skill)
    tasks = corpus.of(skill) if skill else corpus.at_hand
    if not tasks:
        raise InputError(f"no task for {skill}", code="no-task")
    strangers = sorted({name for task in tasks for name in task.task.skills} - set(skills))
    if strangers:
        raise InputError(f"tasks name skills that are not there: {', '.join(strangers)}", hint="evolve check")
    sandbox = choose_sandbox(unsafe_host=unsafe_host)
    if unsafe_host:
        say(f"warning: {UNSAFE_HOST_NOTE}", err=True)
    require_containment(sandbox, needed=any(task.needs_containment for task in tasks))

    def told(item: Rehearsed) -> None:
        if not item.as_expected:
            outcome = item.row.kind or "resolved"
            say(f"UNEXPECTED  {item.task}: the {item.plays} reference ended as {outcome} {item.row.detail}", err=True)

    grounds = Grounds(workspace, corpus, HostBox if unsafe_host else find_box)
    found = rehearse(tasks, skills, sandbox, grounds.of, told)
    wrong = [item for item in found if not item.as_expected]
    value = [
        {"task": item.task, "plays": item.plays, "kind": item.row.kind, "as_expected": item.as_expected}
        for item in found
    ]
    emit(value, f"{len(found)} cells rehearsed, {len(wrong)} did not end as they must", as_json=as_json)
    return ExitCode.BROKEN if wrong else ExitCode.DONE

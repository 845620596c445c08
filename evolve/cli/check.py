"""``evolve check``."""

from __future__ import annotations

from dataclasses import asdict

import click

from evolve.cli.opening import here
from evolve.cli.output import emit, json_option, table
from evolve.cli.run_options import expensive_option, unsafe_host_option
from evolve.errors import ExitCode


@click.command("check", short_help="Test the workspace: skills, tasks, references and policy.")
@expensive_option
@unsafe_host_option
@json_option
def command(include_expensive: bool, unsafe_host: bool, as_json: bool) -> int:
    """Test the workspace: skills, tasks, references and policy.

    Every good reference must pass its checks, every bad one must fail, and so must doing nothing. No model is
    called. Exit 2 when something is wrong.

    Example: evolve check
    """
    from evolve.bench.ground import Grounds
    from evolve.corpus.alike import near_duplicates
    from evolve.corpus.loading import load_corpus
    from evolve.corpus.selftest import check_corpus, leaking_skills, split_counts
    from evolve.propose.prompts import templates_of
    from evolve.sandbox.box_preflight import find_box
    from evolve.sandbox.choose import UNSAFE_HOST_NOTE, choose_sandbox, require_containment
    from evolve.sandbox.host_box import HostBox
    from evolve.skills import size_warnings
    from evolve.stats.multiplicity import level_of_look

    workspace = here()
    corpus = load_corpus(workspace.corpus, expensive=include_expensive)
    skills, policy = workspace.skills(), workspace.policy()
    templates_of(workspace)
    sandbox = choose_sandbox(unsafe_host=unsafe_host)
    require_containment(sandbox, needed=any(task.needs_containment for task in corpus.at_hand))
    grounds = Grounds(workspace, corpus, HostBox if unsafe_host else find_box)
    faults = check_corpus(corpus, skills, sandbox, grounds.lay)
    counts = {name: split_counts(corpus, name) for name in skills}
    lines = [table([[name, *map(str, count.values())] for name, count in counts.items()], _HEADER)]
    if unsafe_host:
        lines.append(f"warning: {UNSAFE_HOST_NOTE}")
    for name, count in counts.items():
        smallest, alpha = 0.5 ** count["sealed"], level_of_look(policy.alpha_account, 1, policy.alpha)
        if policy.proven and smallest > alpha:
            lines.append(
                f"warning: {name}: {count['sealed']} sealed tasks cannot prove a gain "
                f"(smallest p {smallest:.3g}, first look {alpha:.3g}); have at least 6, better 12"
            )
    lines += [f"warning: {text}" for text in leaking_skills(corpus, skills, policy.leaks)]
    lines += [f"note: {name}: {text}" for name, skill in skills.items() for text in size_warnings(skill)]
    alike = near_duplicates(corpus.at_hand, policy.leaks.likeness)
    lines += [
        f"warning: {one.first.id} ({one.first.task.split}) and {one.second.id} ({one.second.task.split}) are "
        f"nearly the same ({one.likeness:.0%})"
        for one in alike[:MOST_ALIKE]
    ]
    if len(alike) > MOST_ALIKE:
        lines.append(f"warning: and {len(alike) - MOST_ALIKE} more pairs of tasks that are nearly the same")
    lines += [f"FAULT  {fault.task}: {fault.text}" for fault in faults]
    if left := len(corpus.tasks) - len(corpus.at_hand):
        lines.append(f"{left} expensive tasks left out: --include-expensive takes them")
    lines.append(f"{len(corpus.at_hand)} tasks, {len(faults)} fault{'' if len(faults) == 1 else 's'}")
    value = {"skills": counts, "faults": [asdict(fault) for fault in faults], "sandbox": sandbox.name}
    emit(value, "\n".join(lines), as_json=as_json)
    return ExitCode.USAGE if faults else ExitCode.DONE


MOST_ALIKE = 5
_HEADER = ["skill", "train", "selection", "sealed"]

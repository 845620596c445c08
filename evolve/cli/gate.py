"""``evolve gate``."""

from __future__ import annotations

from pathlib import Path

import click

from evolve.cli.opening import here
from evolve.cli.output import emit, json_option
from evolve.errors import InputError


@click.command("gate", short_help="Decide again on a measured overlay, offline, under any policy.")
@click.argument("measured")
@click.option("--policy", "policy_file", type=click.Path(path_type=Path), help="Another policy.yaml.")
@json_option
def command(measured: str, policy_file: Path | None, as_json: bool) -> None:
    """Decide again on a sweep or on evidence, and explain each reason. Nothing is written.

    MEASURED is a sweep's id, or a folder below promotion/.

    Example: evolve gate promotion/purchase-json/0123456789ab --policy strict.yaml
    """
    from evolve.bench.books import PLAN_FILE
    from evolve.cli.decisions import decision_text
    from evolve.corpus.loading import load_corpus
    from evolve.promote.apply import evidence_of
    from evolve.promote.redecide import redecide_evidence, redecide_sweep
    from evolve.records.base import read_yaml
    from evolve.records.policy import Policy

    workspace = here()
    policy = read_yaml(Policy, policy_file) if policy_file else None
    folder = evidence_of(workspace, measured)
    sweep = workspace.sweeps / Path(measured).name
    if folder is not None:
        decision = redecide_evidence(folder, policy)
    elif (sweep / PLAN_FILE).is_file():
        tiers = {task.id: task.task.tier for task in load_corpus(workspace.corpus, expensive=True).tasks}
        decision = redecide_sweep(sweep, policy or workspace.policy(), workspace.promotion, tiers)
    else:
        raise InputError(f"{measured}: neither a sweep nor evidence", hint="evolve benchmark OVERLAY makes both")
    emit(decision.json_value(), decision_text(decision, explained=True), as_json=as_json)

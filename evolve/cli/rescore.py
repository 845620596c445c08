"""``evolve rescore``."""

from __future__ import annotations

from pathlib import Path

import click

from evolve.cli.opening import here
from evolve.cli.output import emit, json_option
from evolve.cli.run_options import unsafe_host_option


@click.command("rescore", short_help="Run today's checks over the kept replies of a sweep; no model is called.")
@click.argument("sweep")
@unsafe_host_option
@json_option
def command(sweep: str, unsafe_host: bool, as_json: bool) -> None:
    """Run today's checks over the kept replies of a sweep, and write new rows beside the old.

    For after a check was mended. No model is called, and the old rows, the ledger and the evidence stay as they are.

    Example: evolve rescore sealed-purchase-json-0123456789ab
    """
    from evolve.bench.rescore import rescore
    from evolve.corpus.loading import load_corpus
    from evolve.sandbox.choose import choose_sandbox

    workspace = here()
    tasks = {task.id: task for task in load_corpus(workspace.corpus).tasks}
    result = rescore(workspace.sweeps / Path(sweep).name, tasks, choose_sandbox(unsafe_host=unsafe_host))
    path = workspace.relative(result.path)
    lines = [
        f"  {new.identity.task} run {new.identity.run} ({new.arm}): "
        f"{old.kind or 'resolved'} -> {new.kind or 'resolved'}"
        for old, new in result.changed
    ]
    lines.append(f"{len(result.pairs)} rows scored again, {len(result.changed)} verdicts changed: {path}")
    value = {"rows": len(result.pairs), "changed": len(result.changed), "path": path}
    emit(value, "\n".join(lines), as_json=as_json)

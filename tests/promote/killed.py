"""Promotes, recovers or rolls back in processes that are killed with SIGKILL at a step, one for each job.

Jobs come as JSON on standard input: a list of {root, evidence, what, step, branch}. A step that begins with
``named `` kills between naming and renaming the temporary file of a path. The signals that ended the jobs are printed.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from evolve import files
from evolve.corpus.loading import load_corpus
from evolve.promote.apply import promote
from evolve.promote.evidence import read_evidence
from evolve.promote.git import Repository
from evolve.promote.recovery import recover
from evolve.promote.rollback import find_promoted, roll_back
from evolve.promote.target import Target
from evolve.workspace import find_workspace


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def do(job: dict[str, Any]) -> None:
    def step(name: str) -> None:
        if name == job["step"]:
            die()

    give_name = files._give_name

    def named(descriptor: int, path: Path) -> None:
        give_name(descriptor, path)
        if str(job["step"]).startswith("named ") and path.name.startswith(f".{job['step'][6:]}."):
            die()

    files._give_name = named
    os.chdir(job["root"])
    workspace = find_workspace(Path(job["root"]))
    target = Target(workspace, Repository(workspace.root), job.get("branch"))
    if job["what"] == "recover":
        recover(target, step=step)
    elif job["what"] == "rollback":
        found = find_promoted(workspace, target.repository, "bracket")
        roll_back(found, target, "It was a mistake", step=step)
    else:
        promote(read_evidence(Path(job["evidence"])), target, load_corpus(workspace.corpus), step=step)


def run(job: dict[str, Any]) -> int:
    child = os.fork()
    if child == 0:
        code = 1
        try:
            do(job)
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return -os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    print(json.dumps([run(job) for job in json.load(sys.stdin)]))

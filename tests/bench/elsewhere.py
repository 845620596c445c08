"""Runs one cell in a process of its own: a cell spec on standard input, a row and the reply on standard output."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any, ClassVar

from evolve.agents.base import Session, SessionEnd
from evolve.bench.arms import PlanArm
from evolve.bench.means import Means, Workshop
from evolve.cli.progress import LineProgress
from evolve.corpus.loading import load_corpus
from evolve.overlays import apply_overlay, read_overlay
from evolve.records.base import parse_json
from evolve.records.cell_spec import CellSpec
from evolve.records.kinds import Role
from evolve.records.row import Usage
from evolve.records.task import Limits, Task
from evolve.sandbox.host import Host
from evolve.workspace import find_workspace
from tests.worlds import follow_the_skill


class EchoAgent:
    """Follows the skill as its text says."""

    identity: ClassVar[dict[str, Any]] = {"adapter": "echo", "repeatable": True}
    delay_s: ClassVar[float] = 0.0

    def run(self, session: Session) -> SessionEnd:
        time.sleep(self.delay_s)
        system = next(session.skills.glob("*/SKILL.md")).read_text()
        reply = follow_the_skill(system, session.task.prompt, session.seed)
        (session.work / "answer.md").write_text(reply)
        return SessionEnd(reply, Usage(cost_usd_micros=7))

    @property
    def only_reads(self) -> bool:
        return False

    def unfit_for(self, task: Task) -> str | None:
        return None

    def worst_cost_micros(self, limits: Limits, prompt_bytes: int) -> int | None:
        return 10

    def close(self) -> None:
        return


def main() -> None:
    root = Path(sys.argv[1])
    workspace = find_workspace(root)
    incumbent = workspace.skill("bracket")
    candidate = apply_overlay(incumbent, read_overlay(root / "overlays/by-hand", workspace.skills()))
    tasks = {task.id: task for task in load_corpus(workspace.corpus).tasks}
    arms = {
        "incumbent": PlanArm("incumbent", Role.INCUMBENT, incumbent),
        "candidate": PlanArm("candidate", Role.CANDIDATE, candidate),
    }
    workshop = Workshop(Means(EchoAgent(), Host(), tasks, arms, workspace.sweeps, LineProgress()))
    attempt = workshop.run(parse_json(CellSpec, sys.stdin.buffer.read(), "standard input"))
    workshop.close()
    sys.stdout.buffer.write(attempt.row.canonical() + b"\n" + attempt.reply.encode())


if __name__ == "__main__":
    main()

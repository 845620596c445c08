"""What earlier generations measured, as far as it is still at hand."""

from __future__ import annotations

from evolve.bench.measured import stream_rows
from evolve.errors import EvolveError
from evolve.generation.state import STATE_FILE, open_generation
from evolve.propose.search.knowledge import INCUMBENT
from evolve.records.kinds import Split
from evolve.records.row import Row
from evolve.skills import Skill
from evolve.workspace import Workspace


def earlier_selection(workspace: Workspace, skill: Skill) -> tuple[Row, ...]:
    """Return the latest selection rows of a skill as it is now; proposers are shown their counts and nothing else."""
    for path in sorted(workspace.generations.glob(f"g*/{STATE_FILE}"), reverse=True):
        try:
            record = open_generation(path.parent).record
            if (record.skill, record.fingerprint) != (skill.name, skill.fingerprint):
                continue
            for sweep in reversed(record.sweeps):
                rows = tuple(
                    row
                    for _, row in stream_rows(workspace.sweeps / sweep)
                    if row.split is Split.SELECTION and row.arm == INCUMBENT
                )
                if rows:
                    return rows
        except (EvolveError, OSError):
            continue  # what is damaged or gone teaches nothing
    return ()

"""A cell as it is handed to an executor: everything by digest, nothing by reference."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field

from evolve.records.base import Record
from evolve.records.plan import PlannedCell

CELL_SPEC_SCHEMA: Final = "evolve/cell-spec@1"


class CellSpec(Record):
    """One attempt at one cell; task, oracle, skill, agent and runtime are named by the digests of its identity."""

    schema_id: Literal["evolve/cell-spec@1"] = Field(
        default=CELL_SPEC_SCHEMA, alias="schema", description="The format of this record and its version."
    )
    cell: PlannedCell = Field(description="The cell, as it is planned.")
    attempt: int = Field(ge=1, description="Which attempt at the cell this is, from 1.")
    token: int = Field(ge=1, description="Fencing token of the lease.")

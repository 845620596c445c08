"""The JSON Schemas of all file formats."""

from __future__ import annotations

from typing import Any

from evolve.errors import InputError
from evolve.records.archive import ArchiveEntry, Learning
from evolve.records.base import Record
from evolve.records.cell_spec import CellSpec
from evolve.records.decision import Decision
from evolve.records.event import Event
from evolve.records.generation import Generation
from evolve.records.ledger import LedgerEntry
from evolve.records.overlay import OverlaySpec
from evolve.records.plan import Plan
from evolve.records.policy import Policy
from evolve.records.prices import PriceTable
from evolve.records.promotion import Promotion
from evolve.records.review import Review
from evolve.records.row import Row
from evolve.records.search import Checkpoint
from evolve.records.task import Oracle, Task
from evolve.records.weights import WeightsCatalogue
from evolve.records.workspace import WorkspaceSpec

FORMATS: dict[str, type[Record]] = {
    "archive": ArchiveEntry,
    "cell-spec": CellSpec,
    "decision": Decision,
    "event": Event,
    "generation": Generation,
    "learning": Learning,
    "ledger": LedgerEntry,
    "oracle": Oracle,
    "overlay": OverlaySpec,
    "plan": Plan,
    "policy": Policy,
    "prices": PriceTable,
    "promotion": Promotion,
    "review": Review,
    "row": Row,
    "search": Checkpoint,
    "task": Task,
    "weights": WeightsCatalogue,
    "workspace": WorkspaceSpec,
}


def json_schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema of a format.

    Raises:
        InputError: There is no format of this name.

    """
    if name not in FORMATS:
        raise InputError(f"no format named {name!r}", hint=f"formats: {', '.join(FORMATS)}", code="no-format")
    schema = FORMATS[name].model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": f"evolve/{name}@1", **schema}

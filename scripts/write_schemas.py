"""Write docs/schemas: the JSON Schemas of the files that people write, for their editors."""

from __future__ import annotations

import json
from pathlib import Path

from evolve.records.schemas import json_schema

WRITTEN_BY_PEOPLE = ("oracle", "overlay", "policy", "prices", "review", "task", "workspace")


def text_of(name: str) -> str:
    """Return a schema as it stands in its file."""
    return json.dumps(json_schema(name), indent=2, sort_keys=True) + "\n"


if __name__ == "__main__":
    folder = Path(__file__).parents[1] / "docs/schemas"
    folder.mkdir(exist_ok=True)
    for name in WRITTEN_BY_PEOPLE:
        (folder / f"{name}.json").write_text(text_of(name), encoding="utf-8")

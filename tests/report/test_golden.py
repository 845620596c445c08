"""Each format of a report, as a file to read; EVOLVE_GOLDEN=write writes them anew."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from evolve.promote.difference import evidence_diff
from evolve.promote.evidence import Evidence
from evolve.promote.git import Repository
from evolve.report.cells import Cells, cells_csv, sources_csv
from evolve.report.gate_cases import gate_junit
from evolve.report.markdown import promotion_report
from evolve.workspace import find_workspace
from tests.promote.conftest import Measured

GOLDEN = Path(__file__).parent / "golden"
HEX = re.compile(r"\b[0-9a-f]{64}\b|\b[0-9a-f]{12}\b|(?<=-)[0-9a-f]{8}\b")


def fixed(data: bytes) -> bytes:
    return HEX.sub(lambda found: "0" * len(found[0]), data.decode()).encode()


def assert_golden(name: str, data: bytes) -> None:
    path = GOLDEN / name
    if os.environ.get("EVOLVE_GOLDEN") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(fixed(data))
    assert fixed(data) == path.read_bytes(), (
        "as meant? EVOLVE_GOLDEN=write python -m pytest tests/report/test_golden.py"
    )


def test_markdown(measured: Measured, evidence: Evidence) -> None:
    workspace = find_workspace(measured.root)
    diff = evidence_diff(workspace, Repository(workspace.root), measured.evidence())
    assert_golden("promotion.md", promotion_report(evidence, diff).encode())


def test_junit(evidence: Evidence) -> None:
    assert_golden("promotion.xml", gate_junit(evidence))


def test_csv(evidence: Evidence) -> None:
    assert_golden("promotion.csv", cells_csv(evidence.rows[:6]))
    assert_golden("export.csv", sources_csv([Cells("s-one", evidence.rows[:2]), Cells("s-two", evidence.rows[2:4])]))


def test_json(evidence: Evidence) -> None:
    decision = evidence.promotion.decision.json_value()
    assert_golden("decision.json", json.dumps(decision, indent=2, sort_keys=True).encode() + b"\n")


def test_the_schema_of_parquet() -> None:
    arrow = pytest.importorskip("pyarrow")
    from evolve.report.parquet import _schema

    assert_golden("schema.txt", f"{_schema(arrow).to_string(show_field_metadata=False)}\n".encode())

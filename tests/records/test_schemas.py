"""JSON Schemas of all file formats, each against a real instance."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from evolve.agents.prices import price_table
from evolve.bench.plan import make_plan
from evolve.bench.reuse import ReuseIndex
from evolve.digest import sha256_json
from evolve.errors import InputError
from evolve.gate.decide import GateInput, decide
from evolve.models.weights import catalogue
from evolve.propose.search.engine import new_checkpoint
from evolve.propose.search.strategies import begun
from evolve.records.archive import ArchiveEntry, Learning
from evolve.records.base import Record, parse_json
from evolve.records.cell_spec import CellSpec
from evolve.records.envelope import Envelope
from evolve.records.event import Event
from evolve.records.generation import Generation, Proposal, Request
from evolve.records.kinds import Outcome, Role
from evolve.records.ledger import LedgerEntry
from evolve.records.overlay import OverlaySpec
from evolve.records.phase import Phases
from evolve.records.plan import Arm
from evolve.records.promotion import CanaryRecord, LedgerPosition, Promotion, ReuseRecord, SealedTask, Spend
from evolve.records.recovery import Recovery
from evolve.records.row import Usage
from evolve.records.schemas import FORMATS, json_schema
from evolve.records.search import SearchSettings
from evolve.records.workspace import WorkspaceSpec
from evolve.scoring.review import read_review
from tests.builders import NOW, digest_of, make_policy, make_request, make_row, make_skill, make_task
from tests.scoring.test_review import finding, review

D = digest_of("anything")
TASK = make_task(
    verify=[
        {"id": "a", "rule": "r", "kind": "line", "pattern": "x+"},
        {"id": "b", "rule": "r", "kind": "python-calls", "function": "f", "calls": [{"args": [1], "returns": None}]},
    ]
)
OVERLAY = OverlaySpec.model_validate(
    {"schema": "evolve/overlay@1", "skills": ["greeter"], "parents": [D], "bases": {"skills/greeter/SKILL.md": D}}
)
ROWS = tuple(
    make_row(f"t-{n}", 0, role=role, resolved=role is Role.CANDIDATE)
    for n in range(6)
    for role in (Role.INCUMBENT, Role.CANDIDATE)
)
POLICY = make_policy(min_runs=1)
DECISION = decide(GateInput(ROWS, tuple(f"t-{n}" for n in range(6)), 1, POLICY, 0.03))
PROMOTION = Promotion(
    evolve_version="0",
    health=(),
    position_effect=None,
    generated_at=NOW,
    expires_at=NOW,
    skill="greeter",
    sweep="sealed-greeter-0",
    runs=1,
    decision=DECISION,
    policy=POLICY,
    policy_sha256=POLICY.digest(),
    overlay_sha256=D,
    overlay_files={"skills/greeter/SKILL.md": D},
    base_files={"skills/greeter/SKILL.md": D, "skills/greeter/new.md": None},
    lineage=OVERLAY,
    arms=(
        Arm(
            name="incumbent",
            role=Role.INCUMBENT,
            skill="greeter",
            skills={"greeter": D},
            fingerprint=sha256_json({"greeter": D}),
        ),
    ),
    sealed_sha256=D,
    sealed=(SealedTask(task="t-0", task_sha256=D, oracle_sha256=D),),
    agent={"adapter": "fake"},
    runtime_sha256=D,
    plan_sha256=D,
    rows_sha256=D,
    row_sha256=(D,),
    journal_sha256=D,
    reuse=ReuseRecord(
        reused_rows=1,
        dropped_arms=(),
        canaries=(
            CanaryRecord(
                arm="incumbent",
                task="t-0",
                run=0,
                source="s",
                reused_resolved=True,
                reused_usage=Usage(),
                canary_resolved=True,
            ),
        ),
    ),
    spend=Spend(
        fresh_rows=1, reused_rows=0, voided_attempts=0, input_tokens=None, output_tokens=3, cost_usd_micros=None
    ),
    ledger=LedgerPosition(look=1, alpha=0.03, entry_sha256=D),
)
PLAN = make_plan(
    make_request(skills=[("incumbent", Role.INCUMBENT, make_skill())], tasks=[TASK]), POLICY, ReuseIndex(), NOW
)
INSTANCES: dict[str, Record] = {
    "archive": ArchiveEntry(
        at=NOW,
        generation="g0001",
        name="lesson",
        skill="greeter",
        incumbent=D,
        agent_sha256=D,
        operator="lesson",
        overlay="overlays/greeter-lesson",
        overlay_sha256=D,
        train={"t-0": (0.5, 2)},
        earned=0.75,
        fate="screened-out",
    ),
    "learning": Learning(
        at=NOW, generation="g0001", skill="greeter", incumbent=D, operator="lesson", idea="Be kind.", fate="refused"
    ),
    "search": begun(new_checkpoint(SearchSettings(), ("t-0",), ("lesson",), 1)).checkpoint(),
    "cell-spec": CellSpec(cell=PLAN.cells[0], attempt=1, token=1),
    "prices": price_table(),
    "decision": DECISION,
    "event": Event(seq=0, at=NOW, event="settled", cell=0, row=make_row(), checksum="0" * 64),
    "generation": Generation(
        id="g",
        request=Request(skill="greeter"),
        started_at=NOW,
        outcome=Outcome.PROMOTE,
        proposals=(
            Proposal(name="lesson", operator="lesson", step="propose 1.1", overlay=None, refused="nothing to add"),
        ),
    ),
    "ledger": LedgerEntry(
        seq=0,
        at=NOW,
        entry="look",
        skill="greeter",
        overlay_sha256=D,
        sweep="s",
        sealed_sha256=D,
        sealed_tasks=("t",),
        policy_sha256=D,
        look=1,
        alpha=0.03,
    ),
    "oracle": TASK.oracle,
    "overlay": OVERLAY,
    "plan": make_plan(
        make_request(skills=[("incumbent", Role.INCUMBENT, make_skill())], tasks=[TASK]), POLICY, ReuseIndex(), NOW
    ),
    "policy": POLICY,
    "promotion": PROMOTION,
    "review": read_review(review(finding())),
    "row": make_row(resolved=False),
    "task": TASK.task,
    "weights": catalogue(),
    "workspace": WorkspaceSpec.model_validate(
        {
            "schema": "evolve/workspace@1",
            "models": {"a": {"kind": "local", "weights": "w"}},
            "agent": {"model": "a"},
            "proposer": {"model": "a"},
        }
    ),
}


def validator(name: str) -> Any:
    schema = json_schema(name)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def test_every_format_has_an_instance_here() -> None:
    assert set(INSTANCES) == set(FORMATS)


@pytest.mark.parametrize("name", FORMATS)
def test_a_real_instance_is_valid_by_its_schema_and_reads_back_the_same(name: str) -> None:
    instance = INSTANCES[name]
    assert type(instance) is FORMATS[name]
    validator(name).validate(json.loads(instance.canonical()))
    assert parse_json(FORMATS[name], instance.canonical(), name) == instance


@pytest.mark.parametrize("name", FORMATS)
def test_an_unknown_key_is_invalid_by_schema_and_by_model(name: str) -> None:
    value = {**json.loads(INSTANCES[name].canonical()), "surprise": 1}
    assert not validator(name).is_valid(value)
    with pytest.raises(InputError, match="surprise: unknown key"):
        parse_json(FORMATS[name], json.dumps(value).encode(), name)


@pytest.mark.parametrize("name", FORMATS)
def test_a_schema_has_its_id_and_describes_the_format(name: str) -> None:
    schema = json_schema(name)
    assert (schema["$id"], schema["additionalProperties"]) == (f"evolve/{name}@1", False)
    assert schema["description"]


def bare_fields(record: str, schema: dict[str, Any]) -> list[str]:
    """Return the fields of a schema, at any depth, that do not say what they mean."""
    return [
        f"{name}.{field}"
        for name, part in {record: schema, **schema.get("$defs", {})}.items()
        for field, said in part.get("properties", {}).items()
        if not said.get("description", "").endswith(".")
    ]


@pytest.mark.parametrize("name", FORMATS)
def test_every_field_of_a_format_says_what_it_means(name: str) -> None:
    assert bare_fields(FORMATS[name].__name__, json_schema(name)) == []


@pytest.mark.parametrize("record", [Envelope, Phases, Recovery])
def test_every_field_of_a_record_that_is_no_format_says_what_it_means(record: type[Record]) -> None:
    assert bare_fields(record.__name__, record.model_json_schema(by_alias=True)) == []


def test_a_field_without_a_meaning_is_found_at_any_depth() -> None:
    schema = json_schema("row")
    del schema["properties"]["key"]["description"]
    del schema["$defs"]["Usage"]["properties"]["turns"]["description"]
    assert bare_fields("Row", schema) == ["Row.key", "Usage.turns"]


def test_an_unknown_format_is_an_input_error_that_lists_those_there_are() -> None:
    with pytest.raises(InputError) as caught:
        json_schema("nothing")
    assert caught.value.code == "no-format"
    assert caught.value.hint is not None and "promotion" in caught.value.hint

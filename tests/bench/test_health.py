from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from evolve.bench.health import Health, arm_health, cost_position_effect, position_effect
from evolve.models.base import ModelFault
from evolve.records.kinds import ErrorKind, Role
from evolve.records.row import Reuse, Row, Usage
from tests.builders import NOW, make_row
from tests.conftest import CommandLine
from tests.worlds import ScriptedModel


def good(number: int, ms: int = 10) -> Row:
    usage = Usage(session_ms=ms)
    return make_row(f"t-{number}", 0, role=Role.INCUMBENT, measured_at=NOW + timedelta(seconds=number)).model_copy(
        update={"usage": usage, "arm": "incumbent"}
    )


def void(number: int) -> Row:
    return make_row(f"t-{number}", 0, kind=ErrorKind.INFRA_ERROR).model_copy(update={"arm": "incumbent"})


REUSED = good(9).model_copy(update={"reused": Reuse(sweep="s", row_sha256="0" * 64)})


@pytest.mark.parametrize(
    ("rows", "voided", "health"),
    [
        ([], [], Health.UNKNOWN),
        ([REUSED], [], Health.UNKNOWN),
        ([good(1), REUSED], [], Health.OK),
        ([good(1), good(2)], [void(2)], Health.DEGRADED),
        ([good(1), void(2)], [void(2)], Health.DEGRADED),
        ([good(1), void(2), void(3)], [], Health.UNUSABLE),
        ([void(1)], [], Health.UNUSABLE),
    ],
)
def test_an_arm_is_judged_by_its_fresh_rows_alone(rows: list[Row], voided: list[Row], health: Health) -> None:
    assert arm_health("incumbent", rows, voided).health is health


def test_a_time_that_grows_with_position_is_seen() -> None:
    assert position_effect([good(number, 10 * number + 1) for number in range(10)]) == 1
    assert position_effect([good(number, 100 - number) for number in range(10)]) == -1


def test_too_few_or_equal_times_say_nothing() -> None:
    assert position_effect([good(number, number) for number in range(7)]) is None
    assert position_effect([good(number) for number in range(20)]) is None


def test_an_arm_that_cannot_be_measured_ends_with_1_after_its_evidence_is_written(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    def fails(system: str, user: str, seed: int) -> str:
        if "## Examples" in system:
            raise ModelFault("cannot")
        return "no"

    model.answer = fails
    (workspace / "promotion/policy.yaml").write_text("schema: evolve/policy@1\noutage_streak: 1000\nmax_attempts: 1\n")
    folder = workspace / "overlays/mine/skills/bracket"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text((workspace / "skills/bracket/SKILL.md").read_text() + "\n## Examples\n")
    ran = evolve("benchmark", "overlays/mine")
    assert ran.code == 1
    assert "the arm candidate could not be measured" in ran.err
    assert "decision: insufficient evidence" in ran.out
    assert next((workspace / "promotion/bracket").glob("*/promotion.json")).exists()
    assert evolve("audit", "--all").code == 0


def test_a_cost_that_grows_with_position_is_seen_and_an_unknown_one_says_nothing() -> None:
    def costing(number: int, micros: int | None) -> Row:
        row = good(number)
        usage = row.usage.model_copy(update={"cost_usd_micros": micros})
        return row.model_copy(update={"usage": usage, "measured_at": NOW + timedelta(seconds=number)})

    assert cost_position_effect([costing(number, number) for number in range(10)]) == 1
    assert cost_position_effect([costing(number, None) for number in range(10)]) is None
    assert cost_position_effect([costing(number, 7) for number in range(10)]) is None

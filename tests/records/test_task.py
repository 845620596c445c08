"""Tasks and oracles."""

from __future__ import annotations

from typing import Any

import pytest

from evolve.errors import InputError
from evolve.records.base import parse_record
from evolve.records.task import Oracle, Task
from tests.builders import equals_check, oracle_value, task_value


def test_a_task_has_defaults_for_all_that_is_not_its_own() -> None:
    task = parse_record(Task, task_value("task-1"), "task.yaml")
    assert (task.kind, task.tier, task.class_, task.verify) == ("answer", "tight", "general", ())
    assert (task.limits.max_output_tokens, task.limits.wall_s) == (512, 120)
    assert task.json_value()["class"] == "general"
    assert parse_record(Task, task.json_value(), "again") == task


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"split": "test"}, "split: "),
        ({"skills": []}, "skills: "),
        ({"prompt": ""}, "prompt: "),
        ({"prompt": "x" * 65_537}, "prompt: "),
        ({"prompt": ["x"]}, "prompt: "),
        ({"kind": "chat"}, "kind: "),
        ({"limits": {"wall_s": 0}}, "limits.wall_s: "),
        ({"limits": {"wall_s": float("inf")}}, "limits.wall_s: "),
        ({"limits": {"max_output_tokens": 10**9}}, "limits.max_output_tokens: "),
        ({"limits": {"turns": 3}}, "limits.turns: unknown key"),
        ({"verify": [equals_check(), equals_check()]}, "(whole file): two checks have the id 'word'"),
        ({"verify": [{"id": "a", "kind": "equals", "rule": "r"}]}, "verify[0].equals.any_of: "),
        ({"oracle": []}, "oracle: unknown key"),
        ({"schema": "evolve/task@2"}, "schema: "),
    ],
)
def test_an_invalid_task_is_named_by_its_field(fields: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_record(Task, task_value("task-1", **fields), "task.yaml")
    assert caught.value.message.startswith(f"task.yaml: {says}")


def test_an_oracle_needs_a_check_and_unique_ids() -> None:
    assert parse_record(Oracle, oracle_value(), "o").checks[0].id == "word"
    with pytest.raises(InputError, match="checks: "):
        parse_record(Oracle, {**oracle_value(), "checks": []}, "o")
    with pytest.raises(InputError, match="two checks have the id"):
        parse_record(Oracle, oracle_value(equals_check("a"), equals_check("b")), "o")

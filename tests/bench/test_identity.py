"""A cell's identity."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.bench.identity import cell_identity, cell_seed
from evolve.sandbox.bubblewrap import Bubblewrap
from evolve.sandbox.host import Host
from tests.builders import digest_of, make_task

FINGERPRINT = digest_of("skill")
CALLS = {"id": "c", "rule": "r", "kind": "python-calls", "function": "f", "calls": [{"returns": 1}]}


@given(st.text(max_size=10), st.integers(0, 100))
def test_a_seed_is_made_from_task_and_run_and_fits_into_31_bits(task: str, run: int) -> None:
    assert cell_seed(task, run) == cell_seed(task, run)
    assert 0 <= cell_seed(task, run) < 2**31
    assert cell_seed(task, run) != cell_seed(task, run + 1)


def test_seeds_do_not_move_between_versions_of_evolve() -> None:
    assert [cell_seed("task-1", 0), cell_seed("task-1", 1), cell_seed("task-2", 0)] == [
        2039260666,
        1067281386,
        595275000,
    ]


def test_all_arms_share_the_seed_and_differ_in_their_key() -> None:
    task = make_task()
    one = cell_identity(task, FINGERPRINT, {"adapter": "x"}, Host(), 2)
    two = cell_identity(task, digest_of("candidate"), {"adapter": "x"}, Host(), 2)
    assert one.seed == two.seed == cell_seed(task.id, 2)
    assert one.digest() != two.digest()


def test_the_key_changes_with_task_oracle_agent_and_run() -> None:
    base = cell_identity(make_task(), FINGERPRINT, {"adapter": "x"}, Host(), 0)
    others = [
        cell_identity(make_task(prompt="Another question."), FINGERPRINT, {"adapter": "x"}, Host(), 0),
        cell_identity(make_task(seed={"a": "1"}), FINGERPRINT, {"adapter": "x"}, Host(), 0),
        cell_identity(make_task(checks=[CALLS]), FINGERPRINT, {"adapter": "x"}, Host(), 0),
        cell_identity(make_task(), FINGERPRINT, {"adapter": "x", "temperature": "0.1"}, Host(), 0),
        cell_identity(make_task(), FINGERPRINT, {"adapter": "x"}, Host(), 1),
    ]
    assert len({base.digest(), *(other.digest() for other in others)}) == 6


@pytest.mark.parametrize(
    ("checks", "backends"),
    [
        ([], {"in-process"}),
        ([CALLS], {"in-process+host", "in-process+bubblewrap"}),
        ([{"id": "c", "rule": "r", "kind": "command", "argv": ["x"]}], {"in-process+host", "in-process+bubblewrap"}),
    ],
)
def test_the_sandbox_counts_where_model_written_text_is_executed(
    checks: list[dict[str, object]], backends: set[str]
) -> None:
    task = make_task(checks=checks)
    found = {cell_identity(task, FINGERPRINT, {}, sandbox, 0).sandbox for sandbox in (Host(), Bubblewrap("bwrap"))}
    assert found == backends

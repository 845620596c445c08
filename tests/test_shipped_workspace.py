"""The workspace that this repository ships."""

from __future__ import annotations

from pathlib import Path

import pytest

from evolve.corpus.loading import load_corpus
from evolve.corpus.selftest import check_corpus, split_counts
from evolve.sandbox.choose import choose_sandbox
from evolve.workspace import find_workspace

WORKSPACE = find_workspace(Path(__file__).parents[1])


def test_every_instrument_is_good() -> None:
    faults = check_corpus(load_corpus(WORKSPACE.corpus), WORKSPACE.skills(), choose_sandbox())
    assert faults == []


@pytest.mark.parametrize("skill", WORKSPACE.skills())
def test_every_skill_has_tasks_enough_to_be_proven(skill: str) -> None:
    counts = split_counts(load_corpus(WORKSPACE.corpus), skill)
    assert counts["train"] >= 5
    assert counts["selection"] >= 5
    assert counts["sealed"] >= 10


def test_the_rules_of_train_tasks_give_no_answer_away() -> None:
    for task in load_corpus(WORKSPACE.corpus).tasks:
        for check in task.oracle.checks:
            for value in getattr(check, "any_of", ()):
                assert len(str(value)) < 4 or str(value).casefold() not in check.rule.casefold(), task.id


def test_the_policy_is_the_one_that_the_readme_speaks_of() -> None:
    policy = WORKSPACE.policy()
    assert (policy.min_runs, policy.min_improvement_pct, policy.max_task_regression_pct) == (3, 5, 20)

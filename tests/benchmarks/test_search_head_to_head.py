"""The head-to-head of searches is fair, counts alike, and runs in a shortened form without any peer."""

from __future__ import annotations

import json
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from benchmarks import search_head_to_head
from benchmarks.head_to_head.contenders import CONTENDERS, OURS, Contender, compete
from benchmarks.head_to_head.ours import BASELINES, RuleHands, run_baseline, run_ours, settings_of
from benchmarks.head_to_head.report import Demand, demands, null_demand
from benchmarks.head_to_head.resume import resumed_ours
from benchmarks.head_to_head.world import (
    SEED_TEXT,
    Contest,
    Evaluator,
    Outcome,
    Proposer,
    Sizes,
    World,
    rules_of,
    split_of,
    text_of,
)
from evolve.propose.search.drive import Scores
from evolve.records.search import Step

SMALL = Sizes(400, 60, 30)
SEEDS = range(3)


@pytest.mark.parametrize(("budget", "counts"), [(2000, (60, 30, 310)), (6000, (100, 100, 200)), (400, (60, 30, 310))])
def test_every_task_is_in_one_split_and_all_searches_have_the_same(budget: int, counts: tuple[int, int, int]) -> None:
    sizes = search_head_to_head.sizes_of(budget)
    split = split_of(5, sizes)
    assert (len(split.train), len(split.validation), len(split.test)) == counts
    assert sorted([*split.train, *split.validation, *split.test]) == list(range(400))
    assert split == Contest(5, sizes).split != Contest(6, sizes).split


def test_the_evaluator_counts_each_task_and_draws_anew_for_each_text() -> None:
    evaluator = Evaluator(World(1, null=True), "x")
    draws = [evaluator.scores(SEED_TEXT, range(400)) for _ in range(3)]
    assert evaluator.meter.count == 1200
    for one, other in pairwise(draws):
        assert 140 < sum(a == b for a, b in zip(one, other, strict=True)) < 260


def test_the_evaluator_solves_tasks_as_often_as_the_true_score_says() -> None:
    world, text = World(2), text_of(["r1", "r2", "r3", "h0", "d4"])
    evaluator = Evaluator(world, "x")
    solved = sum(sum(evaluator.scores(text, range(400))) for _ in range(50)) / 20_000
    assert solved == pytest.approx(world.true_score(text, range(400)), abs=0.012)


def test_the_proposer_changes_one_line_with_the_stated_probabilities() -> None:
    world, before = World(1), text_of(["r1", "d30"])
    proposer = Proposer(world, "x")
    kinds: Counter[str] = Counter()
    for _ in range(4000):
        changed = set(rules_of(proposer.propose(before, [7]))) ^ {"r1", "d30"}
        assert len(changed) <= 1
        kinds["gone" if changed & {"r1", "d30"} else changed.pop()[0] if changed else "same"] += 1
    assert proposer.meter.count == 4000
    assert set(world.needs[7]).isdisjoint({1})
    shares = {kind: count / 4000 for kind, count in kinds.items()}
    assert shares == pytest.approx({"r": 0.45, "h": 0.2, "gone": 0.15, "d": 0.2}, abs=0.03)


@pytest.mark.parametrize("seed", SEEDS)
def test_our_search_sees_train_tasks_alone_and_confirms_with_what_it_kept_back(seed: int) -> None:
    contest = Contest(seed, SMALL)
    ran = run_ours(contest)
    assert {int(task) for seen in ran.state.seen for task in seen.tasks} <= set(contest.split.train)
    searched = sum(len(seen.tasks) for seen in ran.state.seen)
    assert searched == ran.state.evaluations <= 320
    assert ran.outcome.evaluations == searched + 2 * 30 * ((400 - searched) // 60) <= 400
    assert ran.outcome.proposals <= ran.state.proposals <= 100
    assert 0 < ran.outcome.harness_s < ran.outcome.wall_s
    if not ran.outcome.claims:
        assert ran.outcome.winner == SEED_TEXT
        assert ran.outcome.reported == ran.outcome.seed_reported


@pytest.mark.parametrize("strategy", BASELINES)
def test_baselines_spend_the_same_budget_on_the_validation_tasks(strategy: str) -> None:
    for seed in SEEDS:
        outcome = run_baseline(strategy, Contest(seed, SMALL))  # type: ignore[arg-type]
        assert 300 < outcome.evaluations <= 400
        assert outcome.evaluations % 30 == 0
        assert outcome.claims == (outcome.reported > outcome.seed_reported)


def test_where_nothing_helps_our_search_claims_no_gain_and_hill_climbing_does() -> None:
    contests = [Contest(seed, SMALL, null=True) for seed in SEEDS]
    assert not any(run_ours(contest).outcome.claims for contest in contests)
    assert all(run_baseline("hill-climb", contest).claims for contest in contests)
    assert all(run_ours(contest).outcome.true == 0.5 for contest in contests)


@pytest.mark.parametrize("seed", SEEDS)
def test_our_search_comes_to_the_same_end_through_kills(seed: int) -> None:
    resumed = resumed_ours(Contest(seed, SMALL))
    assert resumed.kills > 2
    assert resumed.identical


def test_a_search_that_settles_nothing_on_disk_would_be_told_from_one_left_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    measured = RuleHands.measure

    def forgetful(hands: RuleHands, step: Step) -> Scores:
        hands._settled.clear()
        return measured(hands, step)

    monkeypatch.setattr(RuleHands, "measure", forgetful)
    assert not all(resumed_ours(Contest(seed, SMALL)).identical for seed in SEEDS)


def test_searches_run_alike_again() -> None:
    contest = Contest(1, SMALL)
    first, second = run_ours(contest), run_ours(contest)
    assert first.state == second.state
    assert run_ours(contest, Random(3)).outcome.winner == first.outcome.winner
    assert settings_of(contest).evaluations == 320


def test_a_peer_that_is_not_installed_is_said_to_be_missing() -> None:
    peer = Contender("no-such-peer", lambda contest: run_ours(contest).outcome, "1.2.3")
    assert peer.missing == "not measured: pip install no-such-peer==1.2.3"
    assert [one.name for one in CONTENDERS if one.wanted] == ["gepa", "openevolve"]


def outcome(name: str, true: float, reported: float, evaluations: int = 400, harness_s: float = 1.0) -> Outcome:
    return Outcome(name, 1, SEED_TEXT, reported, 0.2, True, true, evaluations, 9, 2.0, harness_s)


def test_a_demand_fails_when_its_figure_is_wrong() -> None:
    def failed(ours: Outcome, gepa: Outcome) -> list[str]:
        found: list[Demand] = list(demands({OURS: [ours] * 2, "gepa": [gepa] * 2}, SMALL))
        return [one.text.split(": ")[1] for one in found if not one.holds]

    gepa = outcome("gepa", 0.4, 0.6, harness_s=2.0)
    assert failed(outcome(OURS, 0.5, 0.5), gepa) == []
    assert failed(outcome(OURS, 0.4, 0.4), gepa) == ["a higher true score than gepa"]
    assert failed(outcome(OURS, 0.5, 0.53), gepa) == ["optimism of at most 0.02"]
    assert failed(outcome(OURS, 0.5, 0.5, evaluations=401), gepa) == ["no evaluation beyond the budget"]
    slow = outcome(OURS, 0.5, 0.5, harness_s=3.0)
    assert failed(slow, gepa) == ["less time of its own per evaluation than GEPA"]
    assert not null_demand([outcome(OURS, 0.5, 0.6)] * 20).holds


def test_all_searches_of_a_seed_run_in_turn() -> None:
    calls: list[str] = []

    def contender(name: str) -> Contender:
        def run(contest: Contest) -> Outcome:
            calls.append(f"{name} {contest.seed}")
            return outcome(name, 0.4, 0.4)

        return Contender(name, run)

    compete([contender("a"), contender("b")], SMALL, [3, 4], null=False, say=lambda text: None)
    assert calls == ["a 3", "b 3", "a 4", "b 4"]


def test_a_short_run_prints_every_demand_and_writes_every_outcome(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "found.json"
    options = ["--only", "best-of-n", "--seeds", "3", "--budgets", "400", "--null-seeds", "3", "--our-null-seeds", "3"]
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    monkeypatch.setattr(sys, "argv", ["search_head_to_head.py", *options, "--json", str(file)])
    code = search_head_to_head.main()
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith(("holds", "FAILS"))]
    assert len(lines) == 5
    assert code == int(any(line.startswith("FAILS") for line in lines))
    found = json.loads(file.read_text(encoding="utf-8"))
    assert len(found["budget 400"]["evolve"]) == len(found["budget 400"]["best-of-n"]) == 3
    assert all(one["same_candidates"] for one in found["resumed"])

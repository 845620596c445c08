from __future__ import annotations

import itertools
from statistics import mean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evolve.propose.search.drive import carry_out
from evolve.propose.search.engine import new_checkpoint
from evolve.propose.search.strategies import STRATEGIES, begun, restored
from evolve.records.search import Checkpoint, SearchSettings, Step, Strategy
from tests.propose.search.world import TASKS, RuleWorld, worth


class Killed(Exception):
    """The process is gone."""


def settings_of(strategy: Strategy = "evolve", evaluations: int = 600, **more: int) -> SearchSettings:
    values = {"rounds": 200, "population": 4, "recombine": 4, "proposals": 60, **more}
    return SearchSettings(strategy=strategy, evaluations=evaluations, **values)


def run(world: RuleWorld, chosen: SearchSettings) -> tuple[Step, Checkpoint]:
    search = begun(new_checkpoint(chosen, TASKS, ("reflect", "merge"), world.seed))
    return carry_out(search, world), search.checkpoint()


def winner(world: RuleWorld, end: Step) -> float:
    return worth(world.texts[end.candidates[0]] if end.candidates else [], null=world.null)


@pytest.mark.parametrize("strategy", list(STRATEGIES))
@given(seed=st.integers(0, 10_000), evaluations=st.integers(2, 400))
@settings(max_examples=12, deadline=None)
def test_no_search_uses_more_cells_than_it_may(strategy: Strategy, seed: int, evaluations: int) -> None:
    world = RuleWorld(seed)
    _, state = run(world, settings_of(strategy, evaluations))
    assert world.cells == state.evaluations <= evaluations


@pytest.mark.parametrize("strategy", list(STRATEGIES))
@given(seed=st.integers(0, 10_000), deaths=st.lists(st.integers(1, 40), max_size=6))
@settings(max_examples=10, deadline=None)
def test_a_killed_search_goes_on_to_the_same_candidates_and_the_same_end(
    strategy: Strategy, seed: int, deaths: list[int]
) -> None:
    undisturbed = RuleWorld(seed)
    wanted, last = run(undisturbed, settings_of(strategy, 300))

    world = RuleWorld(seed)
    search = begun(new_checkpoint(settings_of(strategy, 300), TASKS, ("reflect", "merge"), seed))
    kept = [search.checkpoint().canonical()]
    for death in deaths:
        left = [death]

        def keep(state: Checkpoint, left: list[int] = left) -> None:
            left[0] -= 1
            if left[0] == 0:
                raise Killed
            kept.append(state.canonical())

        try:
            carry_out(restored(Checkpoint.model_validate_json(kept[-1])), world, keep)
        except Killed:
            continue
    search = restored(Checkpoint.model_validate_json(kept[-1]))
    assert carry_out(search, world) == wanted
    assert search.checkpoint() == last


def test_every_batch_holds_the_incumbent_and_each_rung_halves_the_field() -> None:
    world = RuleWorld(4)
    run(world, settings_of())
    batches = [step for step in world.calls if step.kind == "measure"]
    assert all(step.beside for step in batches)
    for first, second in itertools.pairwise(batches):
        if first.round == second.round:
            assert len(second.candidates) == -(-len(first.candidates) // 2)
            assert set(second.candidates) <= set(first.candidates)
            assert len(second.tasks) in (2 * len(first.tasks), len(TASKS)) or first.round == batches[-1].round


def test_every_task_is_dealt_once_before_any_is_dealt_again() -> None:
    world = RuleWorld(4)
    run(world, settings_of(evaluations=400))
    dealt = [task for step in world.calls if step.kind == "measure" for task in step.tasks]
    assert len(dealt) > len(TASKS)
    counts = [dealt.count(task) for task in TASKS]
    assert max(counts) - min(counts) <= 1


def test_it_finds_more_than_the_baselines_at_the_same_number_of_cells() -> None:
    def found(strategy: Strategy) -> float:
        return mean(winner(world, run(world, settings_of(strategy, 1200))[0]) for world in map(RuleWorld, range(8)))

    ours = found("evolve")
    assert ours > worth([]) + 0.2
    for strategy in ("best-of-n", "hill-climb", "paired-hill-climb"):
        assert ours > found(strategy) + 0.05


def test_where_nothing_helps_it_still_ends() -> None:
    world = RuleWorld(1, null=True)
    end, state = run(world, settings_of(evaluations=200))
    assert end.reason
    assert state.operators[0].asked > 0


def test_an_operator_that_has_nothing_for_good_is_not_asked_again_from_there() -> None:
    class Empty(RuleWorld):
        def make(self, step: Step):  # type: ignore[no-untyped-def]
            from evolve.propose.search.drive import NotMade

            self.calls.append(step)
            return NotMade("nothing to add", for_good=True)

    world = Empty(1)
    end, _ = run(world, settings_of(rounds=5))
    assert [step.operator for step in world.calls] == ["reflect"], "without two candidates nothing can be merged"
    assert end.candidates == ()
    assert "nothing new" in end.reason


def test_without_a_candidate_above_the_incumbent_none_is_ranked() -> None:
    class Harmful(RuleWorld):
        def measure(self, step: Step):  # type: ignore[no-untyped-def]
            self.cells += 1
            return {name: [1.0 if name is None else 0.0] * len(step.tasks) for name in (None, *step.candidates)}

    end, state = run(Harmful(3), settings_of(rounds=3, recombine=0))
    assert state.seen
    assert end.candidates == ()


def test_cells_that_could_not_be_measured_say_nothing() -> None:
    class Void(RuleWorld):
        def measure(self, step: Step):  # type: ignore[no-untyped-def]
            return {name: [None] * len(step.tasks) for name in (None, *step.candidates)}

    _, state = run(Void(3), settings_of(rounds=2))
    assert all(score is None for seen in state.seen for score in seen.scores)
    assert Checkpoint.model_validate_json(state.canonical()) == state

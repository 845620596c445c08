from __future__ import annotations

from dataclasses import replace

import pytest

from evolve.compare.compare import Comparison, Finding, compare, least_p_value, listed, scaled
from evolve.compare.figures import METRICS, Metric, Price, Side
from evolve.compare.scorecards import read_scorecard
from evolve.errors import InputError
from evolve.stats.estimands import ESTIMANDS
from tests.compare.builders import CODEX, LEAD, side

PRICE = Price(5, 0.5, 30)
TURNS = METRICS["turns"]


def found(comparison: Comparison, name: str) -> Finding:
    return next(one for one in comparison.findings if one.metric.name == name)


def lead(number: int) -> Side:
    return read_scorecard(f"{LEAD}#{number}", price=PRICE)


def one(before: Side, after: Side, metric: Metric = TURNS, estimand: str = "ratio_of_sums") -> Finding:
    return compare(before, after, [metric], estimand).findings[0]


def test_two_rounds_of_one_agent_are_no_different() -> None:
    comparison = compare(lead(8), lead(32))
    verdicts = {finding.metric.name: finding.verdict for finding in comparison.findings}
    assert verdicts == {**dict.fromkeys(METRICS, "no difference"), "completed": "not comparable"}
    wall, w10, cost = (found(comparison, name) for name in ("wall_ms", "w10", "cost_usd"))
    assert wall.change is not None and w10.change is not None
    assert (f"{wall.change:.0f}", f"{w10.change:.0f}") == ("-8", "11")
    assert [f"{task.change:.0f}" for task in wall.by_task] == ["-40", "43", "-4"]
    assert [f"{task.change:.1f}" for task in wall.by_task] == ["-39.7", "43.1", "-4.1"]
    assert f"{cost.before:.4f} {cost.after:.4f}" == "1.7944 1.7775"
    assert found(comparison, "completed").why == (f"{LEAD}#8 and {LEAD}#32 lack the column completed")
    assert wall.why == "the interval (BCa bootstrap over tasks) includes no change"


@pytest.mark.parametrize("estimand", ESTIMANDS)
def test_no_estimand_makes_a_difference_of_those_rounds(estimand: str) -> None:
    comparison = compare(lead(8), lead(32), estimand=estimand)
    assert {finding.verdict for finding in comparison.findings} == {"no difference", "not comparable"}
    assert {finding.estimand for finding in comparison.findings} == {estimand, "mean_difference"}


def test_what_one_file_lacks_is_not_comparable() -> None:
    comparison = compare(lead(32), read_scorecard(str(CODEX), price=PRICE))
    for name in ("turns", "tool_calls", "completed"):
        finding = found(comparison, name)
        assert (finding.verdict, finding.change, finding.estimate, finding.p_value) == ("not comparable",) + (None,) * 3
    assert found(comparison, "turns").why == f"{CODEX}#33 lacks the column turns"
    assert found(comparison, "completed").why == f"{LEAD}#32 lacks the column completed"
    assert found(comparison, "turns").before == 28 and found(comparison, "turns").after is None
    assert found(comparison, "w10").computed == (None, "uncached + 0.10 cached")
    assert f"{found(comparison, 'cost_usd').after:.4f}" == "3.3819"
    growth = one(lead(32), read_scorecard(str(CODEX)), Metric("growth", ""))
    assert growth.why == f"{LEAD}#32 and {CODEX}#33 lack the column growth"


def test_three_tasks_cannot_tell_however_far_apart_they_are() -> None:
    finding = one(side(turns=[1, 2, 3]), side(turns=[100, 210, 320]))
    assert finding.verdict == "no difference"
    assert finding.why == "so few tasks cannot tell: 3 give p = 0.25 at best"
    assert finding.estimate is not None and finding.estimate.low is not None and finding.estimate.low > 1


@pytest.mark.parametrize("estimand", ESTIMANDS)
@pytest.mark.parametrize(
    ("tasks", "factor", "verdict"),
    [(5, 2.0, "no difference"), (6, 2.0, "higher"), (6, 0.5, "lower"), (6, 1.0, "no difference")],
)
def test_six_tasks_of_one_mind_are_a_difference(tasks: int, factor: float, verdict: str, estimand: str) -> None:
    before = [float(3 + index) for index in range(tasks)]
    after = [factor * figure * (1 + 0.01 * index * (factor != 1)) for index, figure in enumerate(before)]
    finding = one(side(turns=before), side(turns=after), estimand=estimand)
    assert finding.verdict == verdict
    assert finding.p_value == (1 if factor == 1 else 2 / 2**tasks)


def test_an_interval_that_is_clear_is_not_enough() -> None:
    before, after = [10.0] * 7, [20.0, 20, 20, 20, 20, 9.9, 9.9]
    finding = one(side(turns=before), side(turns=after))
    assert finding.estimate is not None and finding.estimate.low is not None and finding.estimate.low > 1
    assert finding.verdict == "no difference"
    assert finding.why == f"the sign-flip test over tasks gives p = {finding.p_value:.2g}"


def test_an_exact_test_is_not_enough() -> None:
    finding = one(
        side(turns=[10.0] * 6), side(turns=[10.1, 10.1, 10.1, 10.1, 10.1, 9000.0]), estimand="geometric_mean_ratio"
    )
    assert finding.p_value == 2 / 2**6
    assert finding.why == "the interval (t over logarithms) includes no change"


def test_ratios_are_tested_with_every_task_of_one_weight() -> None:
    before, after = side(turns=[1, 1, 1, 1, 1, 1, 1000]), side(turns=[2, 2, 2, 2, 2, 2, 500])
    assert one(before, after, estimand="geometric_mean_ratio").p_value == 16 / 128
    assert one(before, after).p_value == 1


def test_rates_are_compared_by_their_difference_in_points() -> None:
    before, after = side(completed=[0.0] * 7 + [1.0]), side(completed=[1.0] * 8)
    finding = one(before, after, METRICS["completed"])
    assert (finding.before, finding.after, finding.change) == (0.125, 1, 87.5)
    assert (finding.verdict, finding.p_value, finding.estimand) == ("higher", 2 / 2**7, "mean_difference")
    assert finding.by_task[0].change == 100
    assert one(after, before, METRICS["completed"]).verdict == "lower"


def test_gaps_and_zeros_are_named() -> None:
    gap = one(side(turns=[1, None, None]), side("B", turns=[1, 2, None]))
    assert gap.verdict == "not comparable"
    assert gap.why == "A has no turns of t1, t2; B has no turns of t2"
    assert [task.change for task in gap.by_task] == [0, None, None]
    assert one(side(turns=[0, 2]), side(turns=[1, 2])).why == "A has turns zero for t0; nothing is a percentage of zero"
    assert one(side(turns=[None, None]), side("B", turns=[1, 2])).why == "A has no turns of any task"
    computed = replace(side(turns=[None, 1]), computed={"turns": "a + b"})
    assert one(computed, side(turns=[1, 2])).why == "A has no turns of t0 (computed: a + b)"


def test_a_loss_of_everything_is_never_claimed() -> None:
    finding = one(side(turns=[5.0] * 8), side("B", turns=[0.0] * 8))
    assert (finding.verdict, finding.change, finding.estimate) == ("not comparable", None, None)
    assert finding.why == "B has nothing but zeros, which cannot be told from what was not recorded"
    assert {task.change for task in finding.by_task} == {None}
    median = one(side(turns=[5.0] * 3), side(turns=[0.0, 0.0, 5.0]), estimand="median_ratio")
    assert median.verdict == "not comparable"


def test_only_shared_tasks_are_compared_in_whatever_order() -> None:
    before = Side("A", {"x": [{"turns": 1}], "y": [{"turns": 2}], "z": [{"turns": 4}]}, frozenset(["turns"]))
    after = Side("B", {"n": [{"turns": 9}], "z": [{"turns": 8}], "y": [{"turns": 4}]}, frozenset(["turns"]))
    comparison = compare(before, after, [TURNS])
    assert (comparison.tasks, comparison.only_before, comparison.only_after) == (("y", "z"), ("x",), ("n",))
    assert comparison.findings[0].change == 100
    with pytest.raises(InputError, match="A and B have no task in common"):
        compare(before, Side("B", {"n": [{}]}, frozenset()))


def test_a_task_that_changed_is_another_one() -> None:
    before = replace(side(turns=[1, 2]), identities={"t0": "a", "t1": "b"})
    after = replace(side("B", turns=[1, 2]), identities={"t0": "a", "t1": "c"})
    comparison = compare(before, after, [TURNS])
    assert (comparison.tasks, comparison.changed) == (("t0",), ("t1",))
    assert compare(before, side(turns=[1, 2])).changed == ()
    with pytest.raises(InputError, match="t0, t1 changed between them"):
        compare(before, replace(after, identities={"t0": "x", "t1": "x"}))


def test_what_else_differs_is_said() -> None:
    before = replace(side(turns=[1.0] * 6), agents=("small",), environments=("box",), notes=("late",))
    after = replace(before, name="B", agents=("large",), environments=("host",))
    assert compare(before, after).caveats == (
        "late",
        "different agents: small and large",
        "different sandboxes or runtimes: box and host; times say little",
    )
    assert compare(before, before).caveats == ("late",)
    few = compare(side(turns=[1.0] * 5), after).caveats
    assert "A: imported, nobody vouches for its figures, or for which agent they are of" in few
    assert few[-1].startswith("with 5 tasks no metric can differ")


def test_the_least_p_value_is_that_of_equal_signs() -> None:
    assert [least_p_value(tasks) for tasks in (0, 1, 2, 5, 6)] == [1, 1, 0.5, 0.0625, 0.03125]


def test_bounds_are_scaled_as_their_estimate_is() -> None:
    ratio = ESTIMANDS["ratio_of_sums"]([1], [3])
    assert (scaled(ratio, ratio.value), scaled(ratio, None)) == (200, None)


def test_lists_end() -> None:
    assert listed(["a", "b"]) == "a, b"
    assert listed([str(index) for index in range(7)]) == "0, 1, 2, 3, 4 and 2 more"

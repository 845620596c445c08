"""The policy's goal in words, for whoever proposes."""

from __future__ import annotations

from evolve.records.policy import Metric, Policy

_COSTS = {
    Metric.COST_USD: "money",
    Metric.INPUT_TOKENS: "input tokens",
    Metric.WEIGHTED_INPUT_TOKENS: "input tokens, weighted by what they cost",
    Metric.OUTPUT_TOKENS: "output tokens",
    Metric.DURATION_S: "time",
    Metric.NUM_TURNS: "turns",
    Metric.TOOL_CALLS: "tool calls",
}
_QUALITIES = {
    Metric.RESOLVE_RATE: "Resolve more tasks",
    Metric.SCORE: "Reach a higher score on the tasks",
    Metric.WEIGHTED_F1: "Find more of what the labels say, and nothing else (F1, weighted by severity)",
}


def goal_in_words(policy: Policy) -> str:
    """Return what a policy wants of a proposal, in a few sentences."""
    said = []
    if policy.of_quality:
        said.append(f"{_QUALITIES[policy.metric]}: at least {policy.min_improvement_pct:g} percentage points more.")
        lost = policy.max_task_regression_pct
        if policy.metric is Metric.RESOLVE_RATE:
            said.append("A task that the present skill resolves must not be lost.")
        said.append(f"No single task may lose more than {lost:g} points.")
    else:
        said.append(f"Use less {_COSTS[policy.metric]}: at least {policy.min_improvement_pct:g} per cent less.")
        said.append("A task that the present skill resolves must not be lost; what is saved by failing does not count.")
        said.append(f"No single task may need more than {policy.max_task_regression_pct:g} per cent more.")
    if policy.tie_break is not None:
        said.append(f"Where quality is equal, less {_COSTS[policy.tie_break]} decides.")
    said.append("Shorter text is better when nothing else differs.")
    return " ".join(said)

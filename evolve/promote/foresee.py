"""Whether a look could prove anything, before it is entered in the ledger."""

from __future__ import annotations

from dataclasses import dataclass

from evolve.bench.measure import Bench
from evolve.corpus.loading import LoadedTask
from evolve.errors import InputError
from evolve.gate.gain import smallest_p
from evolve.models.build import price_of
from evolve.promote.ledger import grant, workspace_ledger
from evolve.records.agent import ChatAgentSpec
from evolve.records.kinds import Split
from evolve.records.policy import Metric, Policy
from evolve.workspace import POLICY_FILE


@dataclass(frozen=True)
class Hopeless:
    """Why no outcome of a look could be a promotion, and what to do about it."""

    text: str
    hint: str
    code: str

    def refused(self) -> InputError:
        """Return it as the error that refuses the look."""
        return InputError(f"{self.text}; nothing was measured", hint=self.hint, code=self.code)


def too_weak(skill: str, tasks: int, look: int, alpha: float, policy: Policy) -> Hopeless | None:
    """Return why a win on every task would not be significant, if that is so."""
    smallest = smallest_p(tasks)
    if smallest <= alpha or not policy.proven:
        return None
    text = (
        f"{tasks} sealed tasks cannot prove a gain: a win on each gives p = {smallest:.3g}, "
        f"and look {look} has the level {alpha:.3g}"
    )
    return Hopeless(text, f"add sealed tasks for {skill}", "too-few-tasks")


def unmeasurable(bench: Bench, skill: str) -> Hopeless | None:
    """Return why no row would hold the metric that decides, or that breaks ties, if that is known beforehand."""
    policy = bench.policy
    sealed = bench.corpus.of(skill, Split.SEALED)
    for metric, does in ((policy.metric, "decides on"), (policy.tie_break, "breaks ties by")):
        reason = None if metric is None else _no_row_holds(bench, metric, sealed)
        if metric is not None and reason is not None:
            text = f"the policy {does} {metric.value}, which no row would hold: {reason}"
            hint = f"mend that, or choose another metric in {bench.workspace.promotion / POLICY_FILE}"
            return Hopeless(text, hint, "unmeasurable")
    return None


def _no_row_holds(bench: Bench, metric: Metric, sealed: tuple[LoadedTask, ...]) -> str | None:
    if metric is Metric.WEIGHTED_F1:
        others = [task.id for task in sealed if not any(check.kind == "review" for check in task.oracle.checks)]
        return f"{len(others)} sealed tasks have no review to grade, as {others[0]}" if others else None
    spec = bench.workspace.spec
    if not isinstance(spec.agent, ChatAgentSpec):
        return None
    if metric in (Metric.NUM_TURNS, Metric.TOOL_CALLS):
        return "the chat agent reports none"
    if metric is Metric.COST_USD and price_of(spec, spec.agent.model) is None:
        return f"models.{spec.agent.model} has no price (evolve.yaml: price: {{input_usd: …, output_usd: …}})"
    return None


def next_look_hopeless(bench: Bench, skill: str) -> Hopeless | None:
    """Return why no outcome of the next look at a skill's sealed tasks could be a promotion, if that is so."""
    ids = tuple(task.id for task in bench.corpus.of(skill, Split.SEALED))
    granted = grant(workspace_ledger(bench.workspace).read(), bench.policy, skill, ids)
    weak = too_weak(skill, len(ids), granted.look, granted.alpha, bench.policy)
    return unmeasurable(bench, skill) or weak

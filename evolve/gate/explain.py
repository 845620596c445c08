"""What each code of a reason means, and what one can do about it, in plain words."""

from __future__ import annotations

from typing import Final

from evolve.records.decision import Reason

BEST_CASE: Final = "best-case-"
# What a reader must see before anything else, and what else stands beside the verdict.
HEADLINES: Final = frozenset({"tier-sign-flip"})
CAVEATS: Final = frozenset({*HEADLINES, "floor-tasks", "ceiling-tasks", "skill-not-invoked", "input-grew"})
EXPLANATIONS: Final[dict[str, str]] = {
    "too-few-runs": "A run by chance decides too much. Measure min_runs runs of each task in both arms.",
    "incomplete": "Something planned was not validly measured, and nothing is dropped silently: measure it again.",
    "mixed-evidence": "Rows of different texts, models, runtimes, tasks or seeds say nothing about the skill alone.",
    "unmeasured": "A missing figure is unknown, never nothing. Have the agent or the gateway report it for every cell.",
    "too-few-tasks": "Even a win on every task could be chance at this level. evolve ledger shows how many are needed.",
    "nothing-to-compare": "Costs are compared where the incumbent succeeds at all: have tasks that it resolves.",
    "no-control": "The policy asks for an arm of the incumbent's own text, which shows what no change looks like.",
    "control-incomplete": "The control must be measured as wholly as the arms that it vouches for.",
    "control-differs": "The same text came out differently twice, so that something other than the skill was measured.",
    "needs-extra-runs": "A task looks worse and chance could have done it: more runs of both arms, blind, will show.",
    "task-lost": "What always worked does not work any more; no gain elsewhere pays for that.",
    "task-regression": "A task is worse by more than is allowed, beyond its noise or for all the runs that it got.",
    "regression-explained": "What looked worse was measured again in both arms, and is within the limit.",
    "quality-held": "No more quality than the margin is lost, which a cheaper candidate must show.",
    "quality-in-doubt": "It may have lost more quality than the margin, which no saving outweighs.",
    "quality-tied": "No task is worse in quality and no gain in it is proven, so that the policy's tie_break decides.",
    "improvement": "The gain is as large as the policy asks for.",
    "improvement-too-small": "The gain is smaller than the policy asks for, whether it is real or not.",
    "too-few-wins": "One task alone carries the whole gain, or none does; that is never enough.",
    "significant": "If the arms were alike, a gain like this would be seen less often than this look allows.",
    "not-significant": "If the arms were alike, a gain like this would be seen too often. More tasks make it plainer.",
    "stopped-early": "Measuring ended before its plan, because the rest could not matter, or was not worth its cost.",
    "stopped-too-early": "Measuring ended although the rest could have changed the decision. Resume it.",
    "futile": "So far the gain is too small for the rest to prove it, even if the rest goes as well as one may hope.",
    "required-arm-won": "Another arm that uses the skill gains by this text as well.",
    "required-arm-not-won": "Another arm uses the skill too, and does not gain by this text; it must win in each.",
    "floor-tasks": "Tasks that neither arm resolves tell nothing apart. They stay in the count of failures.",
    "ceiling-tasks": "Tasks that both arms always resolve tell no gain. They stay, as guards against harm.",
    "tier-sign-flip": "Tight and open tasks disagree in sign: what is true over all of them is true of neither kind.",
    "skill-not-invoked": "A skill that is never invoked does nothing; such runs count as failures of their arm.",
    "input-grew": "Resident text is paid on each call, and the metric that decides does not see it.",
}


def explanation(reason: Reason) -> str:
    """Return what a reason means, in plain words."""
    return EXPLANATIONS[reason.code.removeprefix(BEST_CASE)]

"""Reports in Markdown: the verdict first, then what it rests on."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from evolve.bench.books import PLAN_FILE
from evolve.bench.journal import JOURNAL_FILE
from evolve.gate.explain import HEADLINES
from evolve.generation.screen import tally
from evolve.promote.evidence import Evidence, total
from evolve.promote.signatories import signatories
from evolve.records.decision import Estimate, TaskResult
from evolve.records.generation import Generation
from evolve.records.kinds import Outcome, Role
from evolve.records.plan import Plan
from evolve.records.promotion import Spend
from evolve.records.row import Row
from evolve.report.shorten import shortened

FEW_TASKS = 6
TEXT_CHARS = 1_000
TEMPLATES = "templates"
VERDICTS = {
    Outcome.PROMOTE: "Promote: the candidate is better, and it is proven.",
    Outcome.KEEP_INCUMBENT: "Keep the incumbent: the candidate did not pass the gate.",
    Outcome.INSUFFICIENT_EVIDENCE: "Insufficient evidence: nothing can be decided.",
}
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def inert(text: object) -> str:
    """Return text that no Markdown renderer or terminal takes for more than text, on one line."""
    flat = _CONTROL.sub("", str(text)).replace("\n", " ").replace("\r", " ")
    return re.sub(r"([\\`*_{}\[\]<>|#])", r"\\\1", flat)


def fenced(text: str, language: str = "") -> str:
    """Return text in a fence longer than any fence inside it."""
    clean = "".join(line + "\n" for line in (_CONTROL.sub("", line) for line in text.splitlines()))
    longest = max((len(run) for run in re.findall(r"`+", clean)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{clean}{fence}"


def capitalised(text: str) -> str:
    """Return text whose first letter is a capital; the rest, as a key is, stays as it is."""
    return text[:1].upper() + text[1:]


def few(tasks: Sequence[str]) -> str:
    """Return the first few of some tasks, and how many more there are."""
    more = f" and {len(tasks) - FEW_TASKS} more" if len(tasks) > FEW_TASKS else ""
    return ", ".join(tasks[:FEW_TASKS]) + more


def clipped(text: object) -> str:
    """Return a text of which what is beyond 1,000 characters is counted only."""
    whole = str(text)
    more = f" ... ({len(whole) - TEXT_CHARS:,} more characters)" if len(whole) > TEXT_CHARS else ""
    return whole[:TEXT_CHARS] + more


def money(micros: int | None) -> str:
    """Return money in USD, small sums to the hundredth of a cent; unknown is said to be unknown."""
    return "unknown" if micros is None else f"{micros / 1_000_000:.{2 if micros >= 1_000_000 else 4}f} USD"


def spend_sentence(spend: Spend) -> str:
    """Return what was paid for, in one sentence."""
    voided = f", {spend.voided_attempts} attempts voided" if spend.voided_attempts else ""
    tokens = "unknown tokens"
    if spend.input_tokens is not None and spend.output_tokens is not None:
        tokens = f"{spend.input_tokens:,} input and {spend.output_tokens:,} output tokens"
    surplus = f", {spend.surplus_rows} measured in excess" if spend.surplus_rows else ""
    saved = f", {spend.saved_cells} not needed" if spend.saved_cells else ""
    sentence = (
        f"{spend.fresh_rows} cells measured afresh, {spend.reused_rows} reused{voided}{surplus}{saved}; "
        f"{tokens}; {money(spend.cost_usd_micros)}"
    )
    counts = [(spend.warm_ups, "warm-ups"), (spend.lost_attempts, "lost attempts")]
    beside = " and ".join(f"{count} {what}" for count, what in counts if count)
    return f"{sentence}; beside them {beside}, at most {money(spend.overhead_usd_micros)}" if beside else sentence


def shown_value(estimate: Estimate) -> str:
    """Return an estimate's value with its unit; what cannot be compared has none."""
    if estimate.value is None:
        return f"not comparable: {inert(estimate.not_comparable)}"
    return f"{estimate.value:+.1f} {estimate.unit}"


def shown_interval(estimate: Estimate) -> str:
    """Return an estimate's interval and how it was made."""
    if estimate.value is None:
        return ""
    if estimate.low is None or estimate.high is None:
        return estimate.interval
    return f"{estimate.low:+.1f} to {estimate.high:+.1f} ({estimate.interval})"


def told(task: TaskResult) -> str:
    """Return what there is to say about a task: better or worse, its metric, and extra runs."""
    change = task.candidate_resolved - task.incumbent_resolved
    parts = ["better" if change > 0 else "worse" if change < 0 else ""]
    if task.incumbent is not None and task.candidate is not None:
        parts.append(f"{task.incumbent:,.6g} to {task.candidate:,.6g}{'' if task.counted else ' (not counted)'}")
    if task.extra_runs:
        parts.append(f"its regression was looked at in {task.extra_runs} more runs of each arm")
    return "; ".join(part for part in parts if part)


def render(name: str, **values: object) -> str:
    """Render a template of this package."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("evolve.report", TEMPLATES),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(inert=inert, fenced=fenced, value=shown_value, interval=shown_interval, told=told)
    environment.filters.update(capitalised=capitalised, clipped=clipped, few=few)
    return environment.get_template(name).render(**values).strip() + "\n"


def promotion_report(evidence: Evidence, diff: str) -> str:
    """Render the evidence of one candidate, as short as a pull request takes it."""
    return shortened(_promotion(evidence, diff))


def _promotion(evidence: Evidence, diff: str) -> str:
    promotion = evidence.promotion
    return render(
        "promotion.md.j2",
        promotion=promotion,
        evidence_sha256=evidence.promotion_sha256,
        verdict=VERDICTS[promotion.decision.outcome],
        headlines=[reason for reason in promotion.decision.reasons if reason.code in HEADLINES],
        blocking=[reason for reason in promotion.decision.reasons if reason.blocking],
        other=[reason for reason in promotion.decision.reasons if not reason.blocking and reason.code not in HEADLINES],
        of_many=[reason for reason in promotion.decision.reasons if len(reason.tasks) > FEW_TASKS],
        spend=spend_sentence(promotion.spend),
        comparators=_comparators(evidence),
        signed=signatories(evidence).lines,
        diff=diff,
    )


def _comparators(evidence: Evidence) -> list[tuple[str, str, str]]:
    """Return every arm with what it resolved and what its cells cost, where there are more arms than the two."""
    arms = evidence.promotion.arms
    if all(arm.role in (Role.INCUMBENT, Role.CANDIDATE) for arm in arms):
        return []
    rows = {arm.name: tuple(row for row in evidence.rows if row.arm == arm.name) for arm in arms}
    return [
        (name, str(tally(found, name)), money(total([row.usage.cost_usd_micros for row in found])))
        for name, found in rows.items()
    ]


def generation_report(generation: Generation, evidence: Evidence | None, diff: str) -> str:
    """Render a generation, with the evidence of its finalist when it had one."""
    inner = _promotion(evidence, diff) if evidence is not None else ""
    cost = generation.proposer_usd_micros
    proposing = "an unknown amount" if cost is None else money(cost)
    return shortened(render("generation.md.j2", generation=generation, inner=inner, proposing=proposing))


def sweep_report(plan: Plan, rows: tuple[Row, ...], diagnostics: Mapping[str, Sequence[str]] | None = None) -> str:
    """Render a sweep: what each arm resolved, task by task.

    Args:
        plan: What was to be measured.
        rows: What was.
        diagnostics: What transcripts show: by what is counted, a text for each arm of the plan; empty: nothing is
            known.

    """
    arms = [arm.name for arm in plan.arms]
    tasks = sorted({cell.identity.task for cell in plan.cells})
    table = {
        task: {arm: tally([row for row in rows if row.identity.task == task], arm) for arm in arms} for task in tasks
    }
    text = render(
        "sweep.md.j2",
        plan=plan,
        rows=rows,
        arms=arms,
        table=table,
        totals={arm: tally(rows, arm) for arm in arms},
        reused=sum(row.reused is not None for row in rows),
        files=(PLAN_FILE, JOURNAL_FILE),
        diagnostics=diagnostics or {},
    )
    return shortened(text)

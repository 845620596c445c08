"""Deciding again on a measured sweep or on evidence, under any policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from evolve.bench.books import PLAN_FILE
from evolve.bench.journal import JOURNAL_FILE, read_state
from evolve.bench.measured import counted_rows
from evolve.errors import InputError
from evolve.gate.decide import GateInput, decide
from evolve.promote import ledger
from evolve.promote.evidence import gate_input, read_evidence, required_pairs
from evolve.promote.extra import extra_sweeps, main_sweep_of
from evolve.records.base import read_json
from evolve.records.decision import Decision
from evolve.records.plan import Plan
from evolve.records.policy import Policy
from evolve.stats.multiplicity import level_of_look


def redecide_evidence(folder: Path, policy: Policy | None) -> Decision:
    """Decide again from an evidence folder; its level and its rows stay, the policy may be another.

    Raises:
        InputError: The folder holds no readable evidence.

    """
    evidence = read_evidence(folder)
    given = gate_input(evidence.promotion, evidence.rows)
    return decide(given if policy is None else _under(given, policy))


def redecide_sweep(folder: Path, policy: Policy, promotion_root: Path, tiers: Mapping[str, str]) -> Decision:
    """Decide from a sweep's folder, at the level that the ledger granted to its look.

    Args:
        folder: The sweep's folder.
        policy: The thresholds.
        promotion_root: Where the ledger lies.
        tiers: The tier of each task.

    Raises:
        InputError: It is no sweep of sealed tasks.

    """
    plan = read_json(Plan, folder / PLAN_FILE)
    if (main := main_sweep_of(plan)) is not None:
        text = f"{plan.sweep}: a further round of {main}, whose rows it goes with"
        raise InputError(text, hint=f"evolve gate {main}", code="not-a-sealed-sweep")
    if plan.purpose != "sealed":
        raise InputError(
            f"{plan.sweep}: measured {plan.purpose} tasks; only sealed ones decide", code="not-a-sealed-sweep"
        )
    look = ledger.find_entry(ledger.read_ledger(promotion_root), "look", plan.sweep)
    tasks = tuple(sorted({cell.identity.task for cell in plan.cells}))
    rows = tuple(counted_rows(folder))
    early = read_state(folder / JOURNAL_FILE).stopped_at is not None
    alpha = look.alpha if look else level_of_look(policy.alpha_account, 1, policy.alpha)
    rows += tuple(row for extra in extra_sweeps(folder.parent, plan.sweep) for row in counted_rows(extra))
    return decide(
        GateInput(
            rows=rows,
            tasks=tasks,
            runs=plan.runs,
            policy=policy,
            alpha=alpha,
            stopped_early=early,
            spent=look.spent if look else 0.0,
            tiers=tiers,
            required=required_pairs(plan.arms),
        )
    )


def _under(given: GateInput, policy: Policy) -> GateInput:
    return replace(given, policy=policy)

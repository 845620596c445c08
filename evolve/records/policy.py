"""``promotion/policy.yaml``: every threshold of the search and of the promotion gate."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field

from evolve.records.base import Record

POLICY_SCHEMA: Final = "evolve/policy@1"
CachePolicy = Literal["warm", "cold"]


class Screening(Record):
    """How candidates are compared before one of them may look at the sealed split."""

    train_runs: int = Field(default=1, ge=1, le=100)
    selection_runs: int = Field(default=2, ge=1, le=100)
    survivors: int = Field(default=3, ge=1, le=100, description="Candidates that go from train to selection.")


class LeakLimits(Record):
    """How much of a task a skill may not carry."""

    words: int = Field(default=8, ge=3, le=100, description="Words in a row that are a passage of a task.")
    value_chars: int = Field(default=12, ge=1, le=1000, description="Characters from which an expected value is told.")
    likeness: float = Field(default=0.85, gt=0, le=1, description="From where two tasks are nearly the same.")


class Policy(Record):
    """The thresholds; the digest of this record is part of the evidence."""

    schema_id: Literal["evolve/policy@1"] = Field(alias="schema")
    metric: Literal["resolve_rate"] = "resolve_rate"
    estimand: Literal["mean_difference"] = Field(
        default="mean_difference",
        description="Candidate minus incumbent, averaged over runs within a task, then over tasks.",
    )
    test: Literal["sign_flip", "mcnemar_exact"] = "sign_flip"
    min_runs: int = Field(default=3, ge=1, le=1000, description="Valid runs a task and arm.")
    min_improvement_pct: float = Field(default=5, ge=0, le=100, description="Percentage points of the estimand.")
    max_task_regression_pct: float = Field(
        default=20, ge=0, le=100, description="Percentage points that any one task may lose."
    )
    alpha: float = Field(default=0.05, gt=0, lt=1, description="One-sided, over all looks of a sealed split.")
    alpha_account: Literal["inverse-square"] = "inverse-square"
    finalists: int = Field(default=1, ge=1, le=1, description="Candidates a generation may confirm.")
    screening: Screening = Screening()
    leaks: LeakLimits = LeakLimits()
    canaries: int = Field(
        default=1, ge=1, le=1000, description="Cells paid afresh for an arm and each sweep that it reuses."
    )
    reuse_max_age_days: int = Field(default=30, ge=0, le=3650)
    evidence_max_age_days: int = Field(default=90, ge=1, le=3650)
    max_attempts: int = Field(default=3, ge=1, le=10, description="Attempts at a cell that voids.")
    cache: CachePolicy = Field(
        default="warm", description="warm: one throw-away session an arm before its first cell; cold: none."
    )
    outage_streak: int = Field(default=5, ge=1, le=1000, description="Systemic failures in a row that stop a sweep.")

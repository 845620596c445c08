"""``promotion/policy.yaml``: every threshold of the search and of the promotion gate."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from evolve.records.base import FILE_FORMAT, Record
from evolve.records.public_key import PublicKey

POLICY_SCHEMA: Final = "evolve/policy@1"
CachePolicy = Literal["warm", "cold"]
Estimand = Literal["mean_difference", "geometric_mean_ratio", "ratio_of_sums", "mean_ratio", "median_ratio"]
AlphaAccount = Literal["inverse-square", "lord"]


class Metric(StrEnum):
    """What a cell can be measured by."""

    RESOLVE_RATE = "resolve_rate"
    SCORE = "score"
    WEIGHTED_F1 = "weighted_f1"
    COST_USD = "cost_usd"
    INPUT_TOKENS = "input_tokens"
    WEIGHTED_INPUT_TOKENS = "weighted_input_tokens"
    OUTPUT_TOKENS = "output_tokens"
    DURATION_S = "duration_s"
    NUM_TURNS = "num_turns"
    TOOL_CALLS = "tool_calls"


QUALITIES: Final = frozenset({Metric.RESOLVE_RATE, Metric.SCORE, Metric.WEIGHTED_F1})


class Preset(StrEnum):
    """What stands between a candidate and its promotion.

    ``thresholds`` asks for min_runs, min_improvement_pct and max_task_regression_pct alone, as older practice does;
    ``proven`` asks for the paired test too, and whether noise explains a task's regression.
    """

    THRESHOLDS = "thresholds"
    PROVEN = "proven"


class Screening(Record):
    """How candidates are compared before one of them may look at the sealed split."""

    train_runs: int = Field(default=1, ge=1, le=100, description="Runs of a train task and candidate.")
    selection_runs: int = Field(default=2, ge=1, le=100, description="Runs of a selection task and candidate.")
    survivors: int = Field(default=3, ge=1, le=100, description="Candidates that go from train to selection.")


class LeakLimits(Record):
    """How much of a task a skill may not carry."""

    words: int = Field(default=8, ge=3, le=100, description="Words in a row that are a passage of a task.")
    value_chars: int = Field(default=12, ge=1, le=1000, description="Characters from which an expected value is told.")
    likeness: float = Field(default=0.85, gt=0, le=1, description="From where two tasks are nearly the same.")


class DriftLimits(Record):
    """When canaries no longer vouch for the rows that are reused."""

    level: float = Field(default=0.05, gt=0, lt=1, description="How often a test may see drift where there is none.")


class Signatures(Record):
    """Whose signatures evidence must carry before it is promoted, and when it is audited."""

    required: int = Field(default=0, ge=0, le=64, description="How many of the trusted keys must have signed.")
    keys: tuple[PublicKey, ...] = Field(
        default=(), max_length=64, description="Trusted public keys (Ed25519), in base64 or PEM; see: evolve key show."
    )

    @model_validator(mode="after")
    def _can_be_met(self) -> Self:
        if len(set(self.keys)) < len(self.keys):
            raise ValueError("keys: one is named twice")
        if self.required > len(self.keys):
            raise ValueError(f"required: {self.required}, and {len(self.keys)} keys are trusted")
        return self


def _says_nothing(signatures: Signatures) -> bool:
    return signatures == Signatures()


def _switch(value: Any) -> Any:
    return {True: "rounds", False: "off"}.get(value, value) if isinstance(value, bool) else value


Sequential = Annotated[Literal["off", "rounds"], BeforeValidator(_switch)]


class Policy(Record):
    """The thresholds; the digest of this record is part of the evidence."""

    schema_id: Literal["evolve/policy@1"] = Field(alias="schema", description=FILE_FORMAT)
    preset: Preset = Field(
        default=Preset.PROVEN,
        description="proven: exact tests, noise asked before harm; thresholds: point estimates alone.",
    )
    metric: Metric = Field(default=Metric.RESOLVE_RATE, description="What is decided on.")
    direction: Literal["higher", "lower"] | None = Field(
        default=None, description="Which way is better; by default as the metric is meant, and nothing else is taken."
    )
    primary: Literal["quality", "cost"] | None = Field(
        default=None, description="What the metric is: a quality, or a cost under the quality floor. For the reader."
    )
    tie_break: Metric | None = Field(
        default=None, description="A cost that decides where no task is worse in quality and no gain in it is proven."
    )
    estimand: Estimand | None = Field(
        default=None,
        description="mean_difference for a quality; for a cost, geometric_mean_ratio unless another is declared.",
    )
    test: Literal["sign_flip", "mcnemar_exact"] = Field(
        default="sign_flip", description="The exact paired test over tasks."
    )
    min_runs: int = Field(default=3, ge=1, le=1000, description="Valid runs a task and arm.")
    min_improvement_pct: float = Field(
        default=5, ge=0, le=100, description="Percentage points of a quality; per cent of a cost."
    )
    max_task_regression_pct: float = Field(
        default=20, ge=0, le=1000, description="Points of a quality, or per cent of a cost, that any one task may lose."
    )
    harm_alpha: float = Field(
        default=0.05, gt=0, lt=1, description="Level at which a task's own noise no longer explains its regression."
    )
    extra_runs: int = Field(
        default=12, ge=0, le=1000, description="More runs of both arms for a task whose regression may be noise."
    )
    noninferiority_margin: float = Field(
        default=0.1, gt=0, le=1, description="How much of the resolve rate a cheaper candidate may possibly lose."
    )
    alpha: float = Field(default=0.05, gt=0, lt=1, description="One-sided, over all looks of a sealed split.")
    alpha_account: AlphaAccount = Field(
        default="inverse-square",
        description="inverse-square: no false promotion at all, ever; lord: few among the promotions (LORD++).",
    )
    sequential: Sequential = Field(
        default="off", description="rounds: decide after each round of runs, the level spent in equal parts."
    )
    futility: float = Field(
        default=0.1,
        ge=0,
        lt=1,
        description="Conditional power below which a sweep that may stop early is given up; 0: never.",
    )
    control: bool = Field(default=False, description="Whether an arm of the incumbent's own text must be measured too.")
    control_alpha: float = Field(default=0.05, gt=0, lt=1, description="Two-sided; below it the evidence is unusable.")
    finalists: int = Field(
        default=1,
        ge=1,
        le=16,
        description="Candidates that a generation may confirm, one after the other until one passes; each is a look.",
    )
    screening: Screening = Field(
        default=Screening(), description="How candidates are compared before one is confirmed."
    )
    leaks: LeakLimits = Field(
        default=LeakLimits(), description="When a skill that carries words of a hidden task is refused."
    )
    drift: DriftLimits = Field(default=DriftLimits(), description="When rows that are used again are dropped.")
    canaries: int = Field(
        default=1, ge=1, le=1000, description="Cells paid afresh for an arm and each sweep that it reuses."
    )
    reuse_max_age_days: int = Field(
        default=30, ge=0, le=3650, description="The oldest rows of the incumbent that are used again."
    )
    evidence_max_age_days: int = Field(default=90, ge=1, le=3650, description="The oldest evidence that is promoted.")
    max_attempts: int = Field(default=3, ge=1, le=10, description="Attempts at a cell that voids.")
    cache: CachePolicy = Field(
        default="warm", description="warm: one throw-away session an arm before its first cell; cold: none."
    )
    outage_streak: int = Field(default=5, ge=1, le=1000, description="Systemic failures in a row that stop a sweep.")
    # left out where it is the default, so that policies of before keep their digest
    signatures: Signatures = Field(
        default=Signatures(), exclude_if=_says_nothing, description="Whose signatures evidence must carry."
    )

    @property
    def of_quality(self) -> bool:
        """Whether the metric is a quality, and not a cost."""
        return self.metric in QUALITIES

    @property
    def declared_estimand(self) -> Estimand:
        """The estimand that decides."""
        return self.estimand or ("mean_difference" if self.of_quality else "geometric_mean_ratio")

    @property
    def proven(self) -> bool:
        """Whether the exact tests are asked."""
        return self.preset is Preset.PROVEN

    @model_validator(mode="after")
    def _metric_and_what_is_said_of_it_agree(self) -> Self:
        kind, better = ("quality", "higher") if self.of_quality else ("cost", "lower")
        if self.primary not in (None, kind):
            raise ValueError(f"primary: {self.primary}, and {self.metric.value} is a {kind}")
        if self.direction not in (None, better):
            raise ValueError(f"direction: {self.direction}, and {self.metric.value} is better when {better}")
        if (self.declared_estimand == "mean_difference") != self.of_quality:
            known = "mean_difference" if self.of_quality else "a ratio"
            raise ValueError(f"estimand: {self.estimand}, and {self.metric.value} is a {kind}: {known}")
        if self.tie_break is not None and (self.tie_break in QUALITIES or not self.of_quality):
            raise ValueError("tie_break: a cost, beside a metric that is a quality")
        if self.test == "mcnemar_exact" and self.metric is not Metric.RESOLVE_RATE:
            raise ValueError("test: mcnemar_exact counts tasks won and lost, of the resolve_rate alone")
        if self.sequential != "off" and (self.metric is not Metric.RESOLVE_RATE or not self.proven):
            raise ValueError("sequential: for the resolve_rate under the preset proven alone")
        if self.sequential != "off" and (self.tie_break is not None or self.test != "sign_flip"):
            raise ValueError("sequential: by the sign_flip test, without a tie_break")
        return self

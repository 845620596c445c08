"""The closed sets: roles, splits, outcomes, and the error kinds with what follows from each."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Split(StrEnum):
    """Who may see a task: the proposer (train), the search's scores (selection), the gate alone (sealed)."""

    TRAIN = "train"
    SELECTION = "selection"
    SEALED = "sealed"


class Role(StrEnum):
    """What an arm is in a sweep."""

    INCUMBENT = "incumbent"
    CANDIDATE = "candidate"
    COMPARATOR = "comparator"
    CONTROL = "control"


class Outcome(StrEnum):
    """What the promotion gate can say."""

    PROMOTE = "promote"
    KEEP_INCUMBENT = "keep_incumbent"
    INSUFFICIENT_EVIDENCE = "insufficient_evidence"


class ErrorKind(StrEnum):
    """Why a cell did not resolve."""

    SESSION_ERROR = "session-error"
    INFRA_ERROR = "infra-error"
    CLEANUP_FAILURE = "cleanup-failure"
    EVIDENCE_UNVERIFIED = "evidence-unverified"
    CONTAMINATED = "contaminated"
    CANCELLED = "cancelled"
    AGENT_TIMEOUT = "agent-timeout"
    AGENT_LIMIT = "agent-limit"
    SKILL_NOT_INVOKED = "skill-not-invoked"
    NO_WORK_PRODUCED = "no-work-produced"
    PHASE_VIOLATION = "phase-violation"
    VERIFY_FAILED = "verify-failed"
    ORACLE_FAILED = "oracle-failed"


@dataclass(frozen=True)
class KindFacts:
    """What follows from an error kind."""

    retried: bool
    counts_against_arm: bool
    systemic: bool
    voids_row: bool


_VOID = KindFacts(retried=False, counts_against_arm=False, systemic=False, voids_row=True)
_VOID_SYSTEMIC = KindFacts(retried=False, counts_against_arm=False, systemic=True, voids_row=True)
_VOID_SYSTEMIC_RETRIED = KindFacts(retried=True, counts_against_arm=False, systemic=True, voids_row=True)
_FAILURE = KindFacts(retried=False, counts_against_arm=True, systemic=False, voids_row=False)

KIND_FACTS: dict[ErrorKind, KindFacts] = {
    ErrorKind.SESSION_ERROR: _VOID_SYSTEMIC_RETRIED,
    ErrorKind.INFRA_ERROR: _VOID_SYSTEMIC_RETRIED,
    ErrorKind.CLEANUP_FAILURE: _VOID_SYSTEMIC,
    ErrorKind.EVIDENCE_UNVERIFIED: _VOID,
    ErrorKind.CONTAMINATED: _VOID_SYSTEMIC,
    ErrorKind.CANCELLED: _VOID,
    ErrorKind.AGENT_TIMEOUT: _FAILURE,
    ErrorKind.AGENT_LIMIT: _FAILURE,
    ErrorKind.SKILL_NOT_INVOKED: _FAILURE,
    ErrorKind.NO_WORK_PRODUCED: _FAILURE,
    ErrorKind.PHASE_VIOLATION: _FAILURE,
    ErrorKind.VERIFY_FAILED: _FAILURE,
    ErrorKind.ORACLE_FAILED: _FAILURE,
}

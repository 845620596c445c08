"""Reflecting with whatever the workspace declares, a model or a program, on whatever there is to tell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from evolve.agents.base import Agent
from evolve.bench.books import PLAN_FILE
from evolve.bench.measure import Bench
from evolve.errors import EvolveError, InputError
from evolve.models.base import ChatModel
from evolve.models.build import price_of
from evolve.propose.bundle.build import Bundle, Measured, Readers, Sources, build_bundle
from evolve.propose.bundle.goal import goal_in_words
from evolve.propose.bundle.hidden import Guard
from evolve.propose.bundle.told import Told
from evolve.propose.by_agent import reflect_by_agent
from evolve.propose.evidence import TrainEvidence
from evolve.propose.prompts import templates_of
from evolve.propose.reflect import More, reflect, shown_failures
from evolve.propose.reflection import Reflection
from evolve.records.base import read_json
from evolve.records.plan import Plan
from evolve.records.row import Row
from evolve.skills import Skill

HINTS_SHOWN = 3


@dataclass(frozen=True)
class Background:
    """What a proposer is told beside the train evidence.

    Args:
        told: What became of earlier ideas, the oldest first.
        selection: Selection rows, of which nothing but counts is shown.
        readers: What reads transcripts.

    """

    told: tuple[Told, ...] = ()
    selection: tuple[Row, ...] = ()
    readers: Readers = field(default_factory=Readers)


def proposing_agent(bench: Bench) -> Agent:
    """Return the program that proposes, seen to be there and contained.

    Raises:
        InputError: It would see the oracles, or it cannot be held to what was declared.
        EnvironmentFault: The program, its key or its containment is missing.

    """
    spec = bench.workspace.spec.proposer.agent
    if spec is None or bench.build is None:
        raise InputError("evolve.yaml: proposer.agent: there is none", code="no-agent")
    if bench.options.unsafe_host:
        raise InputError(
            "evolve.yaml: proposer.agent: with --unsafe-host a program could read every oracle",
            hint="leave --unsafe-host out, or choose operators without reflect",
            code="unsafe-host",
        )
    try:
        return bench.build(spec)
    except EvolveError as error:
        message = error.message.replace("evolve.yaml: agent.", "evolve.yaml: proposer.agent.")
        raise type(error)(message, hint=error.hint, code=error.code) from error


def check_proposer(bench: Bench, operators: tuple[str, ...]) -> None:
    """See that reflection will be able to run, before anything is paid for.

    Raises:
        EvolveError: A template is broken, or the program is missing or not contained.

    """
    if "reflect" not in operators:
        return
    templates_of(bench.workspace)
    if bench.workspace.spec.proposer.agent is not None:
        proposing_agent(bench).close()


def bundle_of(bench: Bench, skill: Skill, evidence: TrainEvidence, background: Background) -> Bundle:
    """Return the evidence bundle of a skill."""
    measured = tuple(Measured(one.rows, one.sweep, _adapters(bench, one.sweep, one.rows)) for one in evidence.measured)
    sources = Sources(skill, bench.corpus, bench.policy, measured, background.selection, background.told)
    return build_bundle(sources, background.readers, templates_of(bench.workspace))


def reflected(
    bench: Bench,
    skill: Skill,
    evidence: TrainEvidence,
    model: Callable[[], ChatModel],
    temperature: float,
    number: int,
    background: Background,
    admit: Callable[[int | None], None] = lambda _: None,
) -> Reflection:
    """Reflect once; ``admit`` is asked before it whether its worst cost, in micro-USD, is allowed.

    Raises:
        InputError: There is nothing to reflect on, or what came of it is no proposal.
        ModelFault: The model failed.

    """
    spec, templates = bench.workspace.spec.proposer, templates_of(bench.workspace)
    if spec.agent is None:
        price = price_of(bench.workspace.spec, spec.model or "")
        more = more_to_tell(bench, skill, evidence, number, background)
        return reflect(
            skill,
            evidence,
            model(),
            temperature=temperature,
            number=number,
            templates=templates,
            more=more,
            price=price,
            admit=admit,
        )
    bundle, agent = bundle_of(bench, skill, evidence, background), proposing_agent(bench)
    try:
        return reflect_by_agent(
            skill, bundle, agent, goal_in_words(bench.policy), number=number, templates=templates, admit=admit
        )
    finally:
        agent.close()


def more_to_tell(bench: Bench, skill: Skill, evidence: TrainEvidence, number: int, background: Background) -> More:
    """Return what a chat model is told beside the failures: hints from their runs, and what was refused before."""
    shown = {failure.task for failure in shown_failures(evidence, number)}
    hints: list[str] = []
    for one in evidence.measured:
        adapters = _adapters(bench, one.sweep, one.rows)
        for row in one.rows:
            if row.identity.task in shown and not row.resolved and not row.void:
                found = background.readers.diagnosis(one.sweep, row, adapters.get(row.arm, ""))
                hints += [] if found is None else found.lines(HINTS_SHOWN)
    refused = [
        f"{one.idea} ({one.operator}): {'; '.join(filter(None, (one.reason, one.numbers))) or 'no reason was kept'}"
        for one in reversed(background.told)
        if one.outcome == "refused"
    ]
    if not hints and not refused:
        return More()
    guard = Guard.of(bench.corpus, skill.text, bench.policy.leaks)
    return More(
        hints=tuple(dict.fromkeys(hint for hint in hints if not guard.tells(hint))),
        refused=tuple(idea for idea in refused if not guard.tells(idea)),
    )


def _adapters(bench: Bench, sweep: Path, rows: tuple[Row, ...]) -> dict[str, str]:
    """Return the adapter of the agent of each arm, as the sweep's plan names it."""
    if (sweep / PLAN_FILE).is_file():
        plan = read_json(Plan, sweep / PLAN_FILE)
        return {row.arm: str(plan.agent_of(row.arm).get("adapter", "")) for row in rows}
    return {row.arm: str(bench.agent.identity.get("adapter", "")) for row in rows}

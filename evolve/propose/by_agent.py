"""The reflecting operator over a program: it reads the bundle in a box and edits the skill there."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from evolve.agents.base import Agent, Session, SessionEnd
from evolve.digest import sha256_json
from evolve.errors import EvolveError, InputError
from evolve.hostile import remove_tree
from evolve.overlays import FrozenOverlay, changing
from evolve.propose.bundle.build import Bundle
from evolve.propose.bundle.quoting import one_line
from evolve.propose.collect import Collected, collect, rationale_of
from evolve.propose.prompts import Templates
from evolve.propose.reflection import ProposalRefused, Reflection
from evolve.protected import BEGIN, END
from evolve.records.kinds import Split
from evolve.records.overlay import OVERLAY_SCHEMA, OverlaySpec
from evolve.records.row import Usage
from evolve.records.task import TASK_SCHEMA, Limits, Task
from evolve.scratch import scratch_root
from evolve.skills import Skill

WALL_S = 1800
SAID_CHARS = 300
PROMPT_CHARS = 65_536


def reflect_by_agent(
    skill: Skill,
    bundle: Bundle,
    agent: Agent,
    goal: str,
    *,
    number: int,
    templates: Templates | None = None,
    admit: Callable[[int | None], None] | None = None,
) -> Reflection:
    """Have a program read the bundle and edit the skill in it.

    Args:
        skill: The incumbent.
        bundle: The evidence; its folder holds nothing else.
        agent: The program.
        goal: The policy's goal in words.
        number: The number of this reflection, from 0.
        templates: The prompts.
        admit: Asked whether the most that a session can cost, in micro-USD, is allowed; it raises when it is not.

    Raises:
        InputError: There is no cell to reflect on.
        ProposalRefused: The session failed, or what it left is no proposal.

    """
    if not bundle.quoted:
        raise InputError("no train task was measured; there is nothing to reflect on", code="nothing-to-add")
    values = {"goal": goal, "skill": skill.name, "marks": (BEGIN, END), "number": number + 1}
    prompt = (templates or Templates()).render("reflect_agent.j2", **values)
    if not 0 < len(prompt) <= PROMPT_CHARS:
        raise InputError(f"reflect_agent.j2: {len(prompt)} characters, not 1 to {PROMPT_CHARS}", code="broken-template")
    if admit is not None:
        size = len(prompt.encode("utf-8")) + sum(len(entry.content) for entry in bundle.files.files.values())
        admit(agent.worst_cost_micros(Limits(wall_s=WALL_S), size))
    room = Path(tempfile.mkdtemp(prefix="short-proposer-", dir=scratch_root()))
    usage = Usage()
    try:
        end = _session(skill, bundle, agent, prompt, number, room)
        usage = end.usage
        if end.kind is not None:
            raise InputError(f"the program failed ({end.kind}): {one_line(end.detail, SAID_CHARS)}", code=_code(end))
        collected = collect(room / "work", bundle, skill)
    except (InputError, OSError) as error:
        message = error.message if isinstance(error, InputError) else f"the proposer's folder: {error.strerror}"
        code = error.code if isinstance(error, InputError) else None
        raise ProposalRefused(message, usage=usage, code=code) from error
    finally:
        removed = remove_tree(room)
    if not removed:
        raise ProposalRefused(
            f"{room}: the proposer's folder could not be removed", usage=usage, code="cleanup-failure"
        )
    return Reflection(_overlay(skill, bundle, agent, prompt, collected, number), usage)


def _code(end: SessionEnd) -> str:
    return "provider-refused" if end.refused else "proposer-failed"


def _session(skill: Skill, bundle: Bundle, agent: Agent, prompt: str, number: int, room: Path) -> SessionEnd:
    bundle.files.write_scratch(room / "work")
    (room / "skills").mkdir()
    task = Task(
        schema_id=TASK_SCHEMA,
        id="propose",
        split=Split.TRAIN,
        skills=(skill.name,),
        kind="edit",
        prompt=prompt,
        limits=Limits(wall_s=WALL_S),
    )
    if (unfit := agent.unfit_for(task)) is not None:
        raise InputError(f"evolve.yaml: proposer.agent: {unfit}", code="unfit-agent")
    try:
        return agent.run(Session(task=task, work=room / "work", skills=room / "skills", seed=number + 1, room=room))
    except EvolveError as error:
        raise InputError(f"the program could not be run: {error.message}", code="proposer-failed") from error


def _overlay(
    skill: Skill, bundle: Bundle, agent: Agent, prompt: str, collected: Collected, number: int
) -> FrozenOverlay:
    identity = agent.identity
    model = identity.get("settings", {}).get("model")
    spec = OverlaySpec(
        schema_id=OVERLAY_SCHEMA,
        skills=(skill.name,),
        operator="reflect",
        parents=(skill.fingerprint,),
        rationale=rationale_of(collected, number),
        expected_effect=collected.stated.expected_effect,
        risks=collected.stated.risks,
        model=f"{identity.get('adapter')} {identity.get('version', '')} {model or ''}".strip(),
        prompt_sha256=sha256_json([["user", prompt]]),
        evidence_sha256=bundle.digest,
        worked_examples=bundle.quoted,
    )
    return changing(skill, spec, dict(collected.files.texts()))

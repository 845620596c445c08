"""Choosing the skill to improve, by measuring the incumbents on train."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from evolve.bench.measure import Bench
from evolve.bench.plan import Group
from evolve.errors import EvidenceFault, InputError
from evolve.generation.screen import Baseline, baseline_of, most_failing
from evolve.propose.evidence import TrainEvidence, train_evidence
from evolve.records.kinds import ErrorKind, Split
from evolve.skills import Skill


@dataclass(frozen=True)
class Chosen:
    """The chosen skill, why, its train evidence, and how every measured incumbent did."""

    skill: Skill
    because: str
    evidence: TrainEvidence
    baselines: tuple[Baseline, ...]


def _with_train_tasks(bench: Bench, skills: dict[str, Skill], wanted: str | None) -> list[str]:
    if wanted is not None and wanted not in skills:
        raise InputError(f"no skill named {wanted!r}", hint=f"skills here: {', '.join(skills)}", code="no-skill")
    names = [wanted] if wanted else list(skills)
    usable = [name for name in names if bench.corpus.of(name, Split.TRAIN)]
    if not usable:
        hint = "add tasks with split: train below the corpus"
        raise InputError(f"no train task for {', '.join(names)}", hint=hint, code="no-train-task")
    for name in usable:
        for split in (Split.SELECTION, Split.SEALED):
            if not bench.corpus.of(name, split):
                hint = f"add tasks with split: {split} and skills: [{name}]"
                raise InputError(f"the skill {name!r} has no {split} task", hint=hint, code="no-split")
    return usable


def choose_skill(
    bench: Bench,
    context: str,
    wanted: str | None,
    able: tuple[str, ...] | None = None,
    on_sweep: Callable[[str], None] = lambda _: None,
    seed: str | None = None,
) -> Chosen:
    """Measure incumbents on train and take the one with most failing rows, or the one asked for.

    Rows of earlier sweeps are reused; with a seed, those of that sweep alone.

    Raises:
        InputError: A skill or a split is missing; nothing was paid for.
        EvidenceFault: No train cell of the skill could be measured.

    """
    skills = bench.workspace.skills()
    usable = [name for name in _with_train_tasks(bench, skills, wanted) if able is None or name in able]
    groups = tuple(
        Group((replace(bench.arms.incumbent(skills[name]), name=name),), bench.corpus.of(name, Split.TRAIN))
        for name in usable
    )
    result = bench.measure("baseline", context, groups, 1, reuse=seed or True)
    on_sweep(result.plan.sweep)
    rows_of = {name: [row for row in result.rows if row.arm == name] for name in usable}
    baselines = tuple(baseline_of(name, rows) for name, rows in rows_of.items())
    best = most_failing(baselines)
    rows = rows_of[best.skill]
    if all(row.void for row in rows):
        detail = rows[0].detail if rows else "no rows"
        raise EvidenceFault(f"no train cell of {best.skill} could be measured: {detail}", hint="evolve doctor")
    if all(row.kind is ErrorKind.AGENT_TIMEOUT for row in rows):
        raise EvidenceFault(
            f"every train cell of {best.skill} ran out of time; that says nothing about the skill",
            hint="raise limits.wall_s in its tasks, or use a faster model",
            code="all-timeouts",
        )
    return Chosen(
        skill=skills[best.skill],
        because="it was asked for" if wanted else f"most failing rows: {best.failed} of {best.cells}",
        evidence=train_evidence(bench.corpus, best.skill, rows, result.folder),
        baselines=baselines,
    )

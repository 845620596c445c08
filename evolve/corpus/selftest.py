"""Testing the instruments: references must pass and fail as they should before anything is paid."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from evolve.corpus.leaks import LeakScan, reference_reply
from evolve.corpus.loading import Corpus, LoadedTask
from evolve.errors import InputError
from evolve.records.kinds import Split
from evolve.records.policy import LeakLimits
from evolve.records.task import ANSWER_FILE
from evolve.sandbox.base import Sandbox
from evolve.scoring.submission import Submission
from evolve.scoring.verify import CheckVerdict, all_verdicts
from evolve.scratch import short_lived
from evolve.skills import Skill
from evolve.snapshot import Snapshot

# Lays out what a task begins with in an empty folder, and returns what is to be mounted in it.
Lay = Callable[[LoadedTask, Path], Mapping[str, Path]]
NONSENSE = "Lorem ipsum dolor sit amet, consectetur adipiscing elit."
OUTPUT_CHARS = 300


@dataclass(frozen=True)
class InstrumentFault:
    """A task whose checks cannot be trusted, and why."""

    task: str
    code: str
    text: str


def lay_seed(task: LoadedTask, folder: Path) -> Mapping[str, Path]:
    """Lay out seed files, which is all that most tasks begin with."""
    task.seed.write_scratch(folder)
    return {}


@dataclass(frozen=True)
class _Trial:
    """Something that is graded to see what the checks say of it."""

    task: LoadedTask
    sandbox: Sandbox
    lay: Lay

    def grade(self, reply: str, work: Snapshot | None) -> list[CheckVerdict]:
        """Grade a reply, and work over what the task begins with; ``None`` for work is an empty folder."""
        with short_lived("check") as scratch:
            folder = Path(scratch) / "work"
            folder.mkdir()
            mounts: Mapping[str, Path] = {}
            if work is not None:
                mounts = self.lay(self.task, folder)
                work.write_scratch(folder)
            return all_verdicts(self.task, Submission(reply=reply, folder=folder, mounts=mounts), self.sandbox)

    def reference(self, files: Snapshot) -> list[CheckVerdict]:
        """Grade a reference."""
        reply = files.text(ANSWER_FILE).strip() if ANSWER_FILE in files.files else reference_reply(self.task)
        return self.grade(reply, Snapshot() if self.task.task.replies else files)


def check_task(task: LoadedTask, sandbox: Sandbox, lay: Lay = lay_seed) -> list[InstrumentFault]:
    """Check one task: the good reference passes, and the bad one, doing nothing, and nonsense do not.

    Args:
        task: The task.
        sandbox: Where its checks run what is executed.
        lay: Lays out what its work begins with.

    Raises:
        EnvironmentFault: The sandbox does not work.

    """
    wanted = ANSWER_FILE if task.task.replies else None
    faults = [
        InstrumentFault(task.id, "no-reference", f"reference/{name}/{wanted or ''} is missing")
        for name, files in (("good", task.good), ("bad", task.bad))
        if not files.files or (wanted and wanted not in files.files)
    ]
    if faults:
        return faults
    trial = _Trial(task, sandbox, lay)
    try:
        for verdict in trial.reference(task.good):
            if not verdict.passed:
                text = f"the good reference fails {verdict.where}: {verdict.check.id}{_said(verdict)}"
                faults.append(InstrumentFault(task.id, "good-fails", text))
        return faults + _bad_faults(task, trial.reference(task.bad)) + _idle_faults(task, trial)
    except InputError as error:
        return [InstrumentFault(task.id, "cannot-begin", error.message)]


def _bad_faults(task: LoadedTask, verdicts: list[CheckVerdict]) -> list[InstrumentFault]:
    """Return what is wrong with how the bad reference fares: it must fail on its axis; an unsafe one on no other."""
    axis = task.task.bad_fails
    failed = [verdict for verdict in verdicts if not verdict.passed]
    if not failed:
        return [InstrumentFault(task.id, "bad-passes", "the bad reference passes every check")]
    if all(verdict.check.axis != axis for verdict in failed):
        text = f"the bad reference passes every check of the axis {axis}, on which it is to fail (bad_fails)"
        return [InstrumentFault(task.id, "bad-passes-axis", text)]
    other = [verdict for verdict in failed if verdict.check.axis != axis]
    if axis == "safe" and other:
        text = f"the bad reference is to be right and unsafe, and fails {other[0].where}: {other[0].check.id}"
        return [InstrumentFault(task.id, "bad-is-wrong", text + _said(other[0]))]
    return []


def _idle_faults(task: LoadedTask, trial: _Trial) -> list[InstrumentFault]:
    tried = [
        ("idle-passes", "doing nothing passes every check", "", Snapshot()),
        ("empty-passes", "an empty workspace passes every check", "", None),
    ]
    if task.task.replies:
        tried.append(("nonsense-passes", "a nonsense reply passes every check", NONSENSE, Snapshot()))
    return [
        InstrumentFault(task.id, code, text)
        for code, text, reply, work in tried
        if all(verdict.passed for verdict in trial.grade(reply, work))
    ]


def _said(verdict: CheckVerdict) -> str:
    """Return the end of what a check said, on one line."""
    flat = " ".join("".join(c if c.isprintable() else " " for c in verdict.output).split())
    return f" ({flat[-OUTPUT_CHARS:]})" if flat else ""


def _duplicates(tasks: Iterable[LoadedTask]) -> list[InstrumentFault]:
    faults = []
    seen: dict[str, LoadedTask] = {}
    for task in tasks:
        content = "\n".join([task.task.prompt, *(text for _, text in task.seed.texts())])
        key = re.sub(r"\W+", " ", content).strip().casefold()
        first = seen.setdefault(key, task)
        if first is not task:
            text = f"asks the same as {first.id} ({first.task.split})"
            faults.append(InstrumentFault(task.id, "duplicate", text))
    return faults


def check_together(corpus: Corpus, skills: Iterable[str]) -> list[InstrumentFault]:
    """Check that every task's skills exist and that no two tasks are the same; nothing is run."""
    known = set(skills)
    faults = _duplicates(corpus.tasks)
    for task in corpus.tasks:
        for skill in task.task.skills:
            if skill not in known:
                faults.append(InstrumentFault(task.id, "no-skill", f"names the skill {skill!r}, which is not there"))
    return faults


def leaking_skills(corpus: Corpus, skills: Mapping[str, Skill], limits: LeakLimits) -> list[str]:
    """Return what committed skills carry of tasks that they are to be measured with, in sentences."""
    scan = LeakScan(corpus.tasks, "", limits)
    found = []
    for name, skill in skills.items():
        text = "\n".join(text for _, text in skill.files.texts())
        found += [
            f"the skill {name} carries {leak.what} of {leak.split} task {leak.task}: {leak.passage!r}"
            for leak in scan.find(text)
            if leak.split is not Split.TRAIN
        ]
    return found


def check_corpus(corpus: Corpus, skills: Iterable[str], sandbox: Sandbox, lay: Lay = lay_seed) -> list[InstrumentFault]:
    """Check every task alone and all of them together.

    Raises:
        EnvironmentFault: The sandbox does not work.

    """
    faults = check_together(corpus, skills)
    for task in corpus.at_hand:
        faults.extend(check_task(task, sandbox, lay))
    return faults


def split_counts(corpus: Corpus, skill: str) -> dict[str, int]:
    """Return how many tasks a skill has in each split."""
    return {split.value: len(corpus.of(skill, split)) for split in Split}

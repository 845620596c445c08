"""Testing the instruments: references must pass and fail as they should before anything is paid."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from evolve.corpus.leaks import reference_reply
from evolve.corpus.loading import Corpus, LoadedTask
from evolve.records.kinds import Split
from evolve.records.row import CheckOutcome
from evolve.records.task import ANSWER_FILE
from evolve.sandbox.base import Sandbox
from evolve.scoring.submission import Submission
from evolve.scoring.verify import judge, verify
from evolve.scratch import short_lived
from evolve.snapshot import Snapshot


@dataclass(frozen=True)
class InstrumentFault:
    """A task whose checks cannot be trusted, and why."""

    task: str
    code: str
    text: str


def _grade(task: LoadedTask, reply: str, work: Snapshot, sandbox: Sandbox) -> tuple[CheckOutcome, CheckOutcome]:
    with short_lived("check") as scratch:
        folder = Path(scratch) / "work"
        task.seed.replaced(work.files).write_scratch(folder)
        submission = Submission(reply=reply, folder=folder)
        return verify(task, submission, sandbox), judge(task, submission, sandbox)


def _reference(task: LoadedTask, files: Snapshot, sandbox: Sandbox) -> tuple[CheckOutcome, CheckOutcome]:
    reply = files.text(ANSWER_FILE).strip() if ANSWER_FILE in files.files else reference_reply(task)
    work = Snapshot() if task.task.kind == "answer" else files
    return _grade(task, reply, work, sandbox)


def check_task(task: LoadedTask, sandbox: Sandbox) -> list[InstrumentFault]:
    """Check one task: the good reference passes, the bad one fails, and so does doing nothing.

    Raises:
        EnvironmentFault: The sandbox does not work.

    """
    faults = []
    wanted = ANSWER_FILE if task.task.kind == "answer" else None
    for name, files in (("good", task.good), ("bad", task.bad)):
        if not files.files or (wanted and wanted not in files.files):
            path = f"reference/{name}/{wanted or ''}"
            faults.append(InstrumentFault(task.id, "no-reference", f"{path} is missing"))
    if faults:
        return faults
    verified, judged = _reference(task, task.good, sandbox)
    for what, outcome in (("verify", verified), ("oracle", judged)):
        if not outcome.passed:
            which = outcome.failed_check or "a check"
            faults.append(InstrumentFault(task.id, "good-fails", f"the good reference fails {what}: {which}"))
    bad = _reference(task, task.bad, sandbox)
    if all(outcome.passed for outcome in bad):
        faults.append(InstrumentFault(task.id, "bad-passes", "the bad reference passes every check"))
    idle = _grade(task, "", Snapshot(), sandbox)
    if all(outcome.passed for outcome in idle):
        faults.append(InstrumentFault(task.id, "idle-passes", "doing nothing passes every check"))
    return faults


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


def check_corpus(corpus: Corpus, skills: Iterable[str], sandbox: Sandbox) -> list[InstrumentFault]:
    """Check every task alone and all of them together.

    Raises:
        EnvironmentFault: The sandbox does not work.

    """
    faults = check_together(corpus, skills)
    for task in corpus.tasks:
        faults.extend(check_task(task, sandbox))
    return faults


def split_counts(corpus: Corpus, skill: str) -> dict[str, int]:
    """Return how many tasks a skill has in each split."""
    return {split.value: len(corpus.of(skill, split)) for split in Split}

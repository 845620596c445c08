"""The leak scan: no overlay may carry what it could only know from the tasks that decide."""

from __future__ import annotations

import re
from dataclasses import dataclass

from evolve.corpus.loading import LoadedTask
from evolve.records.kinds import Split
from evolve.records.task import ANSWER_FILE
from evolve.replies.file_blocks import good_reply

MIN_PROMPT_CHARS = 16
MIN_ANSWER_CHARS = 12


@dataclass(frozen=True)
class Leak:
    """A passage of a task found in a text."""

    task: str
    split: Split
    what: str


def _normalised(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip().casefold()


def reference_reply(task: LoadedTask) -> str:
    """Return the good reference in the form of a reply."""
    if task.task.replies:
        return task.good.text(ANSWER_FILE).strip() if ANSWER_FILE in task.good.files else ""
    return good_reply(list(task.good.texts()), named=len({*task.seed.files, *task.good.files}) > 1)


def find_leaks(text: str, base: str, tasks: tuple[LoadedTask, ...], worked_examples: tuple[str, ...]) -> list[Leak]:
    """Find passages of tasks in a text.

    Args:
        text: The new text.
        base: The text that it replaces; what already stands there is not new.
        tasks: All tasks of the corpus.
        worked_examples: Train tasks that the text declares to quote.

    """
    new, old = _normalised(text), _normalised(base)
    leaks = []
    for task in tasks:
        split = task.task.split
        if split is Split.TRAIN and task.id in worked_examples:
            continue
        answer = reference_reply(task)
        passages = {
            "its id": (task.id, 1),
            "its prompt": (task.task.prompt, MIN_PROMPT_CHARS),
            "its expected answer": (answer if split is not Split.TRAIN else "", MIN_ANSWER_CHARS),
        }
        for what, (passage, shortest) in passages.items():
            needle = _normalised(passage)
            if len(needle) >= shortest and needle in new and needle not in old:
                leaks.append(Leak(task=task.id, split=split, what=what))
    return leaks

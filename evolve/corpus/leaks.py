"""The leak scan: no overlay or skill may carry what it could only know from the tasks that decide."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from evolve.corpus.loading import LoadedTask
from evolve.records.checks import EqualsCheck, IniOptionsCheck, JsonValueCheck, PythonCallsCheck
from evolve.records.kinds import Split
from evolve.records.policy import LeakLimits
from evolve.records.task import ANSWER_FILE
from evolve.replies.file_blocks import good_reply

MIN_PROMPT_CHARS = 16
PASSAGE_CHARS = 100
_WORD = re.compile(r"\w+")

Gram = tuple[str, ...]


@dataclass(frozen=True)
class Leak:
    """A passage of a task found in a text."""

    task: str
    split: Split
    what: str
    passage: str = ""


def _normalised(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip().casefold()


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _grams(text: str, length: int) -> Iterator[tuple[int, Gram]]:
    """Yield the runs of so many words in a text, each with the place of its first word."""
    words = _words(text)
    for place in range(len(words) - length + 1):
        yield place, tuple(words[place : place + length])


def reference_reply(task: LoadedTask) -> str:
    """Return the good reference in the form of a reply."""
    if task.task.replies:
        return task.good.text(ANSWER_FILE).strip() if ANSWER_FILE in task.good.files else ""
    return good_reply(list(task.good.texts()), named=len({*task.seed.files, *task.good.files}) > 1)


def expected_values(task: LoadedTask) -> list[str]:
    """Return the texts that a task's hidden checks want to see."""
    found: list[str] = []
    for check in task.oracle.checks:
        match check:
            case EqualsCheck():
                found += check.any_of
            case JsonValueCheck():
                found += [value for value in check.any_of if isinstance(value, str)]
            case IniOptionsCheck():
                found += check.options.values()
            case PythonCallsCheck():
                found += [call.returns for call in check.calls if isinstance(call.returns, str)]
            case _:
                pass
    return found


@dataclass(frozen=True)
class _Public:
    """What anybody may know: the text that is replaced, and everything about train tasks."""

    text: str
    grams: frozenset[Gram]

    @classmethod
    def of(cls, base: str, tasks: tuple[LoadedTask, ...], length: int) -> _Public:
        """Collect it."""
        train = [task for task in tasks if task.task.split is Split.TRAIN]
        texts = [base, *(text for task in train for text in sources_of(task).values())]
        whole = "\n".join(texts)
        return cls(_normalised(whole), frozenset(gram for text in texts for _, gram in _grams(text, length)))


def sources_of(task: LoadedTask) -> Mapping[str, str]:
    """Return the texts of a task that no skill may carry, by what they are."""
    values = "\n".join(expected_values(task))
    oracle = "\n".join(text for path, text in task.oracle_files.texts() if path != "oracle.yaml")
    seed = "\n".join(text for _, text in task.seed.texts())
    return {
        "its prompt": task.task.prompt,
        "its seed": seed,
        "its expected answer": reference_reply(task),
        "its expected values": values,
        "its oracle": oracle,
    }


@dataclass
class LeakScan:
    """Scans new texts for passages of tasks.

    Args:
        tasks: All tasks of the corpus.
        base: The text that is replaced; what already stands there is not new.
        limits: How long a passage has to be.

    """

    tasks: tuple[LoadedTask, ...]
    base: str = ""
    limits: LeakLimits = field(default_factory=LeakLimits)

    def __post_init__(self) -> None:
        """Collect what is public."""
        self._public = _Public.of(self.base, self.tasks, self.limits.words)
        self._old = _normalised(self.base)

    def find(self, text: str, worked_examples: tuple[str, ...] = ()) -> list[Leak]:
        """Find passages of tasks in a text.

        Args:
            text: The new text.
            worked_examples: Train tasks that the text declares to quote.

        """
        new = _normalised(text)
        places = {gram: place for place, gram in reversed(list(_grams(text, self.limits.words)))}
        leaks: list[Leak] = []
        for task in self.tasks:
            if task.task.split is not Split.TRAIN or task.id not in worked_examples:
                leaks += self._of(task, new, text, places)
        return leaks

    def _of(self, task: LoadedTask, new: str, text: str, places: Mapping[Gram, int]) -> Iterator[Leak]:
        """Yield what of one task stands in a text: whole passages, expected values, and runs of words."""
        train = task.task.split is Split.TRAIN
        known = self._old if train else self._public.text
        sources = sources_of(task)
        whole = {"its id": (task.id, 1), "its prompt": (task.task.prompt, MIN_PROMPT_CHARS)}
        if not train:
            whole["its expected answer"] = (sources["its expected answer"], self.limits.value_chars)
        seen = set()
        for what, (passage, shortest) in whole.items():
            needle = _normalised(passage)
            if len(needle) >= shortest and needle in new and needle not in known:
                seen.add(what)
                yield Leak(task.id, task.task.split, what, passage.strip()[:PASSAGE_CHARS])
        if train:
            return
        for value in expected_values(task):
            needle = _normalised(value)
            if len(needle) >= self.limits.value_chars and needle in new and needle not in self._public.text:
                yield Leak(task.id, task.task.split, "an expected value", value.strip()[:PASSAGE_CHARS])
        for what, source in sources.items():
            if what in seen:
                continue
            place = next((places[g] for _, g in _grams(source, self.limits.words) if self._tells(g, places)), None)
            if place is not None:
                yield Leak(task.id, task.task.split, f"words of {what}", _passage(text, place, self.limits.words))

    def _tells(self, gram: Gram, places: Mapping[Gram, int]) -> bool:
        return gram in places and gram not in self._public.grams


def _passage(text: str, place: int, length: int) -> str:
    """Return the words of a text from a place on, as they stand there."""
    matches = list(_WORD.finditer(text))
    return " ".join(text[matches[place].start() : matches[place + length - 1].end()].split())[:PASSAGE_CHARS]


def find_leaks(
    text: str,
    base: str,
    tasks: tuple[LoadedTask, ...],
    worked_examples: tuple[str, ...],
    limits: LeakLimits | None = None,
) -> list[Leak]:
    """Find passages of tasks in a text; see :class:`LeakScan`."""
    return LeakScan(tasks, base, limits or LeakLimits()).find(text, worked_examples)

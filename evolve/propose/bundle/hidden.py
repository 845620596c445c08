"""Withholding what a proposer may not see, wherever it turns up: in a reply, in a reason, in a name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from evolve.corpus.leaks import LeakScan
from evolve.corpus.loading import Corpus
from evolve.propose.bundle.limits import Cut, Section, size_of
from evolve.records.kinds import Split
from evolve.records.policy import LeakLimits

WITHHELD = "it holds words of a task that a proposer may not see"


@dataclass(frozen=True)
class Guard:
    """Finds passages of selection and sealed tasks, and of their oracles, that no train task or skill holds."""

    scan: LeakScan
    train: tuple[str, ...]

    @classmethod
    def of(cls, corpus: Corpus, base: str, limits: LeakLimits) -> Guard:
        """Make one for a corpus.

        Args:
            corpus: All tasks.
            base: The text of the skill, which is known already.
            limits: How long a passage has to be.

        """
        train = tuple(task.id for task in corpus.tasks if task.task.split is Split.TRAIN)
        return cls(LeakScan(corpus.tasks, base, limits), train)

    def tells(self, text: str) -> bool:
        """Whether a text carries a passage of a hidden task."""
        return bool(self.scan.find(text, self.train))

    def sections(self, file: str, sections: Iterable[Section]) -> tuple[list[Section], list[Cut]]:
        """Return the sections without the parts that tell, and what was withheld."""
        sections = list(sections)
        if not self.tells("\n\n".join(part for section in sections for part in section.parts)):
            return sections, []
        kept, cut = [], []
        for section in sections:
            told = [part for part in section.parts if self.tells(part)]
            if told:
                cut.append(Cut(file, section.title, len(told), sum(map(size_of, told)), WITHHELD))
            parts = tuple(part for part in section.parts if part not in told)
            note = (f"({cut[-1].sentence()})",) if told else ()
            kept.append(replace(section, parts=(*parts, *note)))
        return kept, cut

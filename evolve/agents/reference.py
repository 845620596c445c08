"""An agent that plays the references of tasks: free of charge, to rehearse everything around a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from evolve.agents.base import Session, SessionEnd
from evolve.digest import foreign_tree_digest
from evolve.records.kinds import ErrorKind
from evolve.records.row import Usage
from evolve.records.task import ANSWER_FILE, Limits, Task
from evolve.replies.file_blocks import good_reply
from evolve.snapshot import Snapshot

Plays = Literal["good", "bad"]


class ReferenceAgent:
    """Answers each task with its good or its bad reference."""

    def __init__(self, plays: Plays, references: Mapping[str, Snapshot]) -> None:
        self._plays = plays
        self._references = references

    @property
    def identity(self) -> dict[str, Any]:
        """The adapter and which references it plays."""
        return {"adapter": "reference", "plays": self._plays}

    def run(self, session: Session) -> SessionEnd:
        """Write the reference where an agent would have left its work."""
        reference = self._references[session.task.id]
        usage = Usage(input_tokens=0, output_tokens=0, cost_usd_micros=0, session_ms=0)
        if session.task.replies:
            return SessionEnd(reference.text(ANSWER_FILE).strip(), usage)
        before = foreign_tree_digest(session.work)
        Snapshot({p: e for p, e in reference.files.items() if p != ANSWER_FILE}).write_scratch(session.work)
        reply = good_reply(list(reference.texts()))
        if foreign_tree_digest(session.work) == before:
            return SessionEnd(reply, usage, ErrorKind.NO_WORK_PRODUCED, "the reference changes no file")
        return SessionEnd(reply, usage)

    @property
    def only_reads(self) -> bool:
        """Whether it cannot write to its work: it may."""
        return False

    def unfit_for(self, task: Task) -> str | None:
        """Refuse no task."""
        return None

    def worst_cost_micros(self, limits: Limits, prompt_bytes: int) -> int | None:
        """Return nothing: references are free."""
        return 0

    def close(self) -> None:
        """Hold nothing, release nothing."""

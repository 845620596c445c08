"""What an agent is: a session over a folder in, how it ended out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from evolve.records.kinds import ErrorKind
from evolve.records.row import Usage
from evolve.records.task import Limits, Task


@dataclass(frozen=True)
class Session:
    """One attempt.

    Args:
        task: What is asked.
        work: The folder with the task's files.
        skills: The folder of installed skills.
        seed: The seed that all arms share.
        expects: The skill that must be seen to be used, if the arm has one.
        warm_up: Whether it is thrown away, so that nothing but a first call matters.
        room: A folder of its own for whatever else it needs; by default the one that the work lies in.
        patch: The change under review, which is applied to the work.
        read_only: What is mounted in the work read-only, by its path there.
        writable: What is mounted in that writable, by its path in the work.
        shared: Whether others use the same work, so that nothing may be written to it.

    """

    task: Task
    work: Path
    skills: Path
    seed: int
    expects: str | None = None
    warm_up: bool = False
    room: Path | None = None
    patch: str = ""
    read_only: Mapping[str, Path] = field(default_factory=dict)
    writable: Mapping[str, Path] = field(default_factory=dict)
    shared: bool = False

    @property
    def own(self) -> Path:
        """The folder of its own."""
        return self.work.parent if self.room is None else self.room


@dataclass(frozen=True)
class SessionEnd:
    """How a session ended; ``kind`` is ``None`` when it ended well.

    ``refused`` says that the provider refused the account (key, credit), so that no further session can do better;
    ``transcript`` is what a program of its own said on the way, ``recording`` what its model answered.
    """

    reply: str
    usage: Usage
    kind: ErrorKind | None = None
    detail: str = ""
    refused: bool = False
    transcript: str = ""
    recording: str = ""


class Agent(Protocol):
    """An agent that works on one session at a time."""

    @property
    def identity(self) -> dict[str, Any]:
        """Everything about the agent that can influence an outcome.

        ``repeatable`` says whether the same cell always comes out the same.
        """
        ...

    def run(self, session: Session) -> SessionEnd:
        """Run one session; failures are told in its end, never raised."""
        ...

    @property
    def only_reads(self) -> bool:
        """Whether it cannot write to its work, so that many cells may share one."""
        ...

    def unfit_for(self, task: Task) -> str | None:
        """Return why no session of this agent could ever resolve a task, if that is so."""
        ...

    def worst_cost_micros(self, limits: Limits, prompt_bytes: int) -> int | None:
        """Return the most that one session can cost, in micro-USD; ``None`` when nobody can say.

        Args:
            limits: The task's limits.
            prompt_bytes: Bytes of all text that the session begins with.

        """
        ...

    def close(self) -> None:
        """Release what the agent holds."""
        ...

"""What an agent is: a session over a folder in, how it ended out."""

from __future__ import annotations

from dataclasses import dataclass
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

    """

    task: Task
    work: Path
    skills: Path
    seed: int
    expects: str | None = None
    warm_up: bool = False


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

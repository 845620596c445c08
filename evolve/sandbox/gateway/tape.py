"""The answers of one session's model calls, kept in the order in which they were given, to be given again offline."""

from __future__ import annotations

import json
import threading
from collections import deque
from dataclasses import asdict, dataclass

from evolve.errors import EvidenceFault


@dataclass(frozen=True)
class Taped:
    """One answer as the agent got it."""

    path: str
    status: int
    content_type: str
    body: str


class Recorder:
    """Keeps answers."""

    def __init__(self) -> None:
        self._taped: list[Taped] = []
        self._lock = threading.Lock()

    def add(self, taped: Taped) -> None:
        """Keep an answer."""
        with self._lock:
            self._taped.append(taped)

    def text(self) -> str:
        """Return all answers, one a line."""
        return "".join(json.dumps(asdict(taped), sort_keys=True, ensure_ascii=False) + "\n" for taped in self._taped)


class Player:
    """Gives the answers of a tape again, in order; a call for which the tape holds no answer gets none."""

    def __init__(self, text: str) -> None:
        """Read a tape.

        Raises:
            EvidenceFault: It is none.

        """
        try:
            self._taped = deque(Taped(**json.loads(line)) for line in text.split("\n") if line)
        except (ValueError, TypeError) as error:
            raise EvidenceFault(f"not a recording: {error}", code="broken-recording") from error
        self._lock = threading.Lock()

    def next(self, path: str) -> Taped | None:
        """Return the next answer, when it was one to a call of this path."""
        with self._lock:
            if not self._taped or self._taped[0].path != path:
                return None
            return self._taped.popleft()

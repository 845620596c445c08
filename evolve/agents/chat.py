"""The embedded agent: the skill is the system prompt, the reply is the answer or the edited files."""

from __future__ import annotations

import contextlib
import time
from typing import Any

from evolve.agents.base import Session, SessionEnd
from evolve.errors import EnvironmentFault, InputError
from evolve.models.base import ChatModel, ChatRequest, Message, ModelTimeout
from evolve.models.calls import usage_of
from evolve.records.kinds import ErrorKind
from evolve.records.task import Limits, Task
from evolve.records.workspace import Price
from evolve.replies.file_blocks import read_edits, show_block, user_message
from evolve.skills import SKILL_FILE, split_frontmatter
from evolve.snapshot import FileEntry, Snapshot

ADAPTER_VERSION = 1
TEMPLATE_TOKENS = 256
REFUSALS = frozenset({"provider-refused", "missing-key", "bad-key", "missing-runtime", "processor-too-old"})


class ChatAgent:
    """An agent of one turn over any chat model; it runs no command."""

    def __init__(self, model: ChatModel, *, temperature: float, price: Price | None, append: str | None = None) -> None:
        """Take a model, its temperature, its price (costs are unknown without), and text for the system prompt."""
        self._append = append
        self._model = model
        self._temperature = temperature
        self._price = price

    @property
    def identity(self) -> dict[str, Any]:
        """The adapter, its sampling, and the model's own identity."""
        model = dict(self._model.identity)
        append = {} if self._append is None else {"append": self._append}
        return {
            **append,
            "adapter": "chat",
            "adapter_version": ADAPTER_VERSION,
            "temperature": str(self._temperature),
            "repeatable": model.get("repeatable") is True,
            "model": model,
        }

    def run(self, session: Session) -> SessionEnd:
        """Ask the model once; write the answer or the edits into the session's folder."""
        request = self._request(session)
        started = time.monotonic()
        try:
            reply = self._model.complete(request)
        except ModelTimeout as error:
            return SessionEnd("", usage_of(None, self._price, started), ErrorKind.AGENT_TIMEOUT, error.message)
        except EnvironmentFault as error:
            refused = error.code in REFUSALS
            return SessionEnd(
                "",
                usage_of(None, self._price, started),
                ErrorKind.SESSION_ERROR,
                error.message,
                refused,
            )
        usage = usage_of(reply, self._price, started)
        text = reply.text.replace("\r\n", "\n").encode("utf-8", errors="replace").decode("utf-8")
        if session.task.replies:
            return SessionEnd(text, usage)
        if not _write_edits(session, text):
            return SessionEnd(text, usage, ErrorKind.NO_WORK_PRODUCED, "the reply changed no file")
        return SessionEnd(text, usage)

    def _request(self, session: Session) -> ChatRequest:
        bodies = [
            split_frontmatter((folder / SKILL_FILE).read_text(encoding="utf-8"))[1]
            for folder in sorted(session.skills.iterdir())
        ]
        system = "\n\n".join([*bodies, *([self._append] if self._append else [])])
        files = ((path, text) for path, text in Snapshot.read(session.work).texts() if not path.startswith(".git/"))
        user = user_message(session.task.prompt, files)
        if session.patch:
            user += f"\n\nThe change under review, which is applied already:\n{show_block('diff', session.patch)}"
        limits = session.task.limits
        return ChatRequest(
            messages=(*((Message("system", system),) if system else ()), Message("user", user)),
            max_output_tokens=limits.max_output_tokens,
            temperature=self._temperature,
            seed=session.seed,
            wall_s=limits.wall_s,
        )

    @property
    def only_reads(self) -> bool:
        """Whether it cannot write to its work: it may."""
        return False

    def unfit_for(self, task: Task) -> str | None:
        """Refuse a repository: it is shown every file of its work, and can run nothing."""
        return "it begins with a repository, which a chat model cannot look around in" if task.repository else None

    def worst_cost_micros(self, limits: Limits, prompt_bytes: int) -> int | None:
        """Return the most that one call can cost: no token is shorter than a byte."""
        if self._price is None:
            return None
        prompt_bytes += len((self._append or "").encode())
        return self._price.micros(prompt_bytes + TEMPLATE_TOKENS, 0, limits.max_output_tokens)

    def close(self) -> None:
        """Release the model."""
        self._model.close()


def _write_edits(session: Session, reply: str) -> bool:
    before = after = Snapshot.read(session.work)
    for path, text in read_edits(reply, tuple(sorted(before.files))).items():
        executable = path in before.files and before.files[path].executable
        with contextlib.suppress(InputError):  # a name that cannot stand beside the others
            after = after.replaced({path: FileEntry(text.encode("utf-8"), executable)})
    after.write_scratch(session.work)
    return after.digest != before.digest

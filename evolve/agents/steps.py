"""A stored transcript as the steps that a page shows: what was said, and each call with its result."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from evolve.agents.accounts import KEY as ACCOUNTS
from evolve.agents.accounts import PhaseAccount, read_accounts

MOST_STEPS: Final = 2_000
STEP_CHARS: Final = 20_000
ALL_CHARS: Final = 2_000_000
TITLE_CHARS: Final = 160

StepKind = Literal["said", "thought", "call", "phase", "other"]


@dataclass(frozen=True)
class Step:
    """One step of a transcript, as it is shown.

    Args:
        kind: What it is; all but what was said is folded.
        title: Its line while it is folded.
        asked: What was said, or asked of a tool.
        answered: What the tool answered; ``None`` where nothing is told.
        failed: Whether the tool said that it failed.

    """

    kind: StepKind
    title: str
    asked: str
    answered: str | None = None
    failed: bool = False


@dataclass(frozen=True)
class Steps:
    """What a page shows of a transcript.

    Args:
        steps: The steps.
        left_out: Steps beyond those that are shown.
        unreadable: Lines that hold no JSON object.
        errors: What the program wrote to standard error.
        accounts: What each phase used, told twice.

    """

    steps: tuple[Step, ...] = ()
    left_out: int = 0
    unreadable: int = 0
    errors: str = ""
    accounts: tuple[PhaseAccount, ...] = ()


Show = Callable[[str, int], str]


@dataclass
class _Reader:
    show: Show
    steps: list[Step] = field(default_factory=list)
    calls: dict[str, int] = field(default_factory=dict)
    left_out: int = 0
    left_chars: int = ALL_CHARS

    def add(self, kind: StepKind, title: str, text: object, answered: object = None, *, failed: bool = False) -> int:
        """Add a step, and return where it stands; -1 when there are too many."""
        if len(self.steps) >= MOST_STEPS:
            self.left_out += 1
            return -1
        said = None if answered is None else self._cut(_text(answered))
        line = " ".join(title.split())
        self.steps.append(Step(kind, self.show(line, TITLE_CHARS), self._cut(_text(text)), said, failed))
        return len(self.steps) - 1

    def answer(self, call: str, answered: object, *, failed: bool) -> None:
        """Put a result beside its call; one whose call nobody saw stands alone."""
        position = self.calls.pop(call, -1)
        if position < 0:
            self.add("call", "a result without its call", "", answered, failed=failed)
            return
        self.steps[position] = replace(self.steps[position], answered=self._cut(_text(answered)), failed=failed)

    def _cut(self, text: str) -> str:
        cut = self.show(text, min(STEP_CHARS, self.left_chars))
        self.left_chars = max(0, self.left_chars - len(cut))
        return cut


def read_steps(lines: Iterable[dict[str, Any] | None], adapter: str, show: Show) -> Steps:
    """Return the steps of a transcript; whatever it holds is shown in one way or another.

    Args:
        lines: The JSON object of each line, ``None`` for one that holds none.
        adapter: Who wrote it; what is not known is shown line by line.
        show: Returns a text as it may be shown, of so many characters at the most.

    """
    reader, unreadable, errors = _Reader(show), 0, ""
    accounts: tuple[PhaseAccount, ...] = ()
    take = _READERS.get(adapter, _take_anything)
    for line in lines:
        if line is None:
            unreadable += 1
            continue
        if "evolve_phase" in line:
            reader.add("phase", f"phase {_text(line['evolve_phase'])}", "")
        elif "evolve_errors" in line:
            errors = show(_text(line["evolve_errors"]), STEP_CHARS)
        elif ACCOUNTS in line:
            accounts = read_accounts(line)
        else:
            take(reader, line)
    return Steps(tuple(reader.steps), reader.left_out, unreadable, errors, accounts)


def _take_claude_code(reader: _Reader, line: Mapping[str, Any]) -> None:
    message = line.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        reader.add("said", _text(line.get("type")), content)
    elif isinstance(content, list):
        for block in content:
            _take_block(reader, block if isinstance(block, dict) else {"type": "other", "value": block})
    else:
        _take_anything(reader, line)


def _take_block(reader: _Reader, block: Mapping[str, Any]) -> None:
    kind = block.get("type")
    if kind == "text":
        reader.add("said", "said", block.get("text"))
    elif kind in ("thinking", "redacted_thinking"):
        reader.add("thought", "thought", block.get("thinking", ""))
    elif kind == "tool_use":
        asked = block.get("input")
        position = reader.add("call", f"{_text(block.get('name'))}: {_gist(asked)}", asked)
        reader.calls[_text(block.get("id"))] = position
    elif kind == "tool_result":
        answered = _joined(block.get("content"))
        reader.answer(_text(block.get("tool_use_id")), answered, failed=block.get("is_error") is True)
    else:
        reader.add("other", _text(kind), block)


def _take_codex(reader: _Reader, line: Mapping[str, Any]) -> None:
    item = line.get("item")
    if not isinstance(item, dict):
        _take_anything(reader, line)
        return
    if line.get("type") != "item.completed":
        return  # it is told again, whole, when it has ended
    kind = item.get("type")
    if kind == "agent_message":
        reader.add("said", "said", item.get("text"))
    elif kind == "reasoning":
        reader.add("thought", "thought", item.get("text"))
    elif kind == "command_execution":
        command, code = item.get("command"), item.get("exit_code")
        reader.add("call", f"command: {_text(command)}", command, item.get("aggregated_output"), failed=code != 0)
    else:
        rest = {name: value for name, value in item.items() if name not in ("id", "type")}
        reader.add("call", f"{_text(kind)}: {_gist(rest)}", rest, failed=item.get("status") == "failed")


def _take_anything(reader: _Reader, line: Mapping[str, Any]) -> None:
    kind = line.get("type") or line.get("role")
    if isinstance(kind, str) and isinstance(line.get("content"), str):
        reader.add("said", kind, line["content"])
        return
    detail = f" {_text(line['subtype'])}" if isinstance(line.get("subtype"), str) else ""
    reader.add("other", f"{kind if isinstance(kind, str) else 'line'}{detail}", line)


_READERS: Final[Mapping[str, Callable[[_Reader, Mapping[str, Any]], None]]] = {
    "claude-code": _take_claude_code,
    "codex": _take_codex,
}


def _gist(value: object) -> str:
    """Return what a call is about: its first text, which most often is a path or a command."""
    if isinstance(value, dict):
        return next((text for text in value.values() if isinstance(text, str) and text), "")
    return _text(value)


def _joined(content: object) -> object:
    """Return the texts of a list of blocks as one."""
    if not isinstance(content, list):
        return content
    return "\n".join(
        block["text"] if isinstance(block, dict) and isinstance(block.get("text"), str) else _text(block)
        for block in content
    )


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, indent=1, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return ascii(type(value))

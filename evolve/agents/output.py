"""What a program left behind: what it said, what it complained of, and how its skills would show."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Final

from evolve.agents.adapter import Adapter
from evolve.agents.heard import Heard
from evolve.hostile import read_below
from evolve.skills import SKILL_FILE, split_frontmatter

STDERR_CHARS: Final = 300
KEPT_ERRORS: Final = 64 * 1024
LARGEST_OUTPUT: Final = 64 * 1024 * 1024


def hear(adapter: Adapter, output: bytes, home: Path, skills: frozenset[str]) -> Heard:
    """Read what a program said; whatever it said, it cannot stop evolve."""
    try:
        heard = adapter.read(output, home, skills)
    except (TypeError, ValueError, AttributeError, KeyError, LookupError, OverflowError, RecursionError) as error:
        return Heard(started=True, finished=True, unreadable=f"{type(error).__name__}: {error}"[:STDERR_CHARS])
    return replace(heard, reply=heard.reply.encode("utf-8", errors="replace").decode("utf-8"))


def transcript_of(outputs: Iterable[tuple[str, bytes]]) -> str:
    """Return what the program said; of several phases, each behind a line that names it."""
    texts = [(name, output.decode("utf-8", errors="replace")) for name, output in outputs]
    if len(texts) == 1:
        return texts[0][1]
    return "".join(json.dumps({"evolve_phase": name}) + "\n" + text.rstrip("\n") + "\n" for name, text in texts)


def telling_lines(skills: Path, prompt: str) -> dict[str, str]:
    """Return, by skill, the line by which its body is told in what is sent to the model.

    The longest that stands neither in a description, which is sent unasked, nor in the prompt, nor in another skill.
    """
    texts = {}
    for folder in sorted(skills.iterdir()):
        data = read_below(folder, SKILL_FILE, LARGEST_OUTPUT) or b""
        texts[folder.name] = split_frontmatter(data.decode("utf-8", errors="replace"))
    found = {}
    for name, (_, body) in texts.items():
        elsewhere = "\n".join([prompt, *(head for head, _ in texts.values())])
        elsewhere += "\n".join(other for skill, (_, other) in texts.items() if skill != name)
        lines = sorted((line.strip() for line in body.splitlines()), key=len, reverse=True)
        telling = (line for line in lines if line and line not in elsewhere)
        found[name] = next(telling, lines[0] if lines else "")
    return found


def errors_of(path: Path) -> str:
    """Return the end of what it said on standard error."""
    data = read_below(path.parent, path.name, LARGEST_OUTPUT) or b""
    return data[-KEPT_ERRORS:].decode("utf-8", errors="replace")


def last_words(path: Path) -> str:
    """Return the end of what it said on standard error, in one line."""
    text = (read_below(path.parent, path.name, LARGEST_OUTPUT) or b"")[-4096:].decode("utf-8", errors="replace")
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[-STDERR_CHARS:]

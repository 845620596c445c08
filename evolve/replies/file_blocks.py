"""The form in which a chat model sees files and gives them back."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePosixPath

from evolve.errors import InputError
from evolve.files import safe_relative
from evolve.replies.fences import code_blocks

_FILE_WORD = re.compile(r"^file[:\s]+[`*]*", re.IGNORECASE)
_LABEL = re.compile(r"(?:^|\n)[#*\s`]*(?:file[:\s]+[`*]*)?([\w][\w./-]*\.[\w]+)[`*]*\s*:?[`*]*\s*$", re.IGNORECASE)


def show_file(path: str, text: str) -> str:
    """Render a file as a labelled fenced block."""
    language = PurePosixPath(path).suffix.removeprefix(".") or "text"
    return f"{path}:\n{show_block(language, text)}"


def show_block(language: str, text: str) -> str:
    """Render a fenced block whose fence is longer than any in the text."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def user_message(prompt: str, files: Iterable[tuple[str, str]]) -> str:
    """Render a task's prompt with its visible files."""
    return "\n\n".join([prompt.strip(), *(show_file(path, text) for path, text in files)])


def good_reply(files: list[tuple[str, str]], *, named: bool = False) -> str:
    """Render edited files as the reply that the parser below reads back.

    Args:
        files: Path and text of each edited file.
        named: Names a lone file too, as it must be where there are others.

    """
    if len(files) == 1 and not named:
        path, text = files[0]
        return show_block(PurePosixPath(path).suffix.removeprefix(".") or "text", text)
    return "\n\n".join(show_file(path, text) for path, text in files)


def read_edits(reply: str, known: tuple[str, ...]) -> dict[str, str]:
    """Read edited files out of a reply.

    A block belongs to the path in its info string, or in the line before it; a lone unnamed block belongs to
    the only file there is. Blocks that name no safe path are left out.
    """
    blocks = code_blocks(reply)
    edits: dict[str, str] = {}
    for block in blocks:
        names = _names(block.info, reply[: block.start], known)
        path = next(filter(None, map(_safe, names)), None)
        if not names and len(known) == 1 and len(blocks) == 1:
            path = known[0]
        if path is not None:
            edits[path] = block.content
    return edits


def _names(info: str, before: str, known: tuple[str, ...]) -> list[str]:
    """Return what a block may be named by, the likeliest first."""
    words = [word.removeprefix("path=").removeprefix("file=").strip("\"'") for word in info.split()]
    names = [word for word in words if word in known or "." in word or "/" in word]
    line = _FILE_WORD.sub("", before.rstrip(" \t\n").rpartition("\n")[2].strip("#*` \t:"))
    if line in known:
        names.append(line)
    label = _LABEL.search(before.rstrip(" \t\n")[-300:])
    if label:
        names.append(label[1])
    return names


def _safe(name: str) -> str | None:
    try:
        return safe_relative(name, where="reply").as_posix()
    except InputError:
        return None

"""Reading a Dockerfile that asks for no more than files in a folder."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from evolve.errors import InputError
from evolve.files import safe_relative
from evolve.snapshot import FileEntry, Snapshot

DOCKERFILE = "Dockerfile"
WHERE = f"environment/{DOCKERFILE}"
_BASE = re.compile(r"(?:docker\.io/)?(?:library/)?(python|ubuntu|debian)(?::[\w.-]+)?(?:@sha256:[0-9a-f]{64})?")
_FREE = ("CMD", "LABEL", "MAINTAINER", "EXPOSE", "STOPSIGNAL")


@dataclass(frozen=True)
class PlainImage:
    """A working folder, and the files in it."""

    workdir: str
    files: Mapping[str, FileEntry]


def read_plain(text: str, context: Snapshot) -> PlainImage:
    """Read a Dockerfile of FROM, WORKDIR and COPY alone.

    Args:
        text: The Dockerfile.
        context: The files beside it.

    Raises:
        InputError: It asks for more; the message names file, line and instruction.

    """
    workdir, based = PurePosixPath("/"), False
    copied: list[tuple[int, PurePosixPath, FileEntry]] = []
    for number, name, rest in _instructions(text):
        where = f"{WHERE}:{number}: {name}"
        if name == "FROM":
            if based:
                raise InputError(f"{where}: a second one needs a container", code="needs-container")
            if not _BASE.fullmatch(rest.strip()):
                raise InputError(
                    f"{where} {rest.strip()[:80]}: neither python, ubuntu nor debian", code="needs-container"
                )
            based = True
        elif name == "WORKDIR":
            workdir = _joined(workdir, rest.strip(), where)
        elif name == "COPY":
            copied += [(number, path, entry) for path, entry in _copied(rest, workdir, context, where)]
        elif name not in _FREE:
            raise InputError(f"{where} needs a container", code="needs-container")
    if not based:
        raise InputError(f"{WHERE}: has no FROM", code="needs-container")
    if workdir == PurePosixPath("/"):
        raise InputError(
            f"{WHERE}: sets no WORKDIR, so that the work would be the whole file system", code="no-workdir"
        )
    files = {}
    for number, path, entry in copied:
        if not path.is_relative_to(workdir):
            raise InputError(
                f"{WHERE}:{number}: COPY to {path}, which is outside of the working folder {workdir}", code="outside"
            )
        files[str(path.relative_to(workdir))] = entry
    return PlainImage(str(workdir), files)


def _instructions(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield (line, name, rest), continued lines joined and comments left out."""
    pending, begun = "", 0
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), start=1):
        if line.lstrip().startswith("#") or (not pending and not line.strip()):
            continue
        begun = begun or number
        if line.rstrip().endswith("\\"):
            pending += line.rstrip()[:-1] + " "
            continue
        yield (begun, *_split(pending + line))
        pending, begun = "", 0
    if pending.strip():
        yield (begun, *_split(pending))


def _split(line: str) -> tuple[str, str]:
    name, _, rest = line.strip().partition(" ")
    return name.upper()[:40], rest


def _joined(folder: PurePosixPath, text: str, where: str) -> PurePosixPath:
    path = folder / text
    if not text or "$" in text or ".." in path.parts or any(character in text for character in "\"'*?[]\\ "):
        raise InputError(f"{where} {text[:80]}: only plain paths are read", code="needs-container")
    return path


def _copied(
    rest: str, workdir: PurePosixPath, context: Snapshot, where: str
) -> Iterator[tuple[PurePosixPath, FileEntry]]:
    words = _words(rest, where)
    if len(words) < 2 or any(word.startswith("--") or "<<" in word for word in words):
        raise InputError(
            f"{where} {rest.strip()[:80]}: only plain sources and one target are read", code="needs-container"
        )
    *sources, last = words
    target = _joined(workdir, last, where)
    into_folder = last.endswith("/") or last in (".", "./") or len(sources) > 1 or target == workdir
    for source in sources:
        name = source.removeprefix("/").removeprefix("./").rstrip("/")
        if name in ("", "."):
            # The Dockerfile itself is no part of the work.
            below = {path: entry for path, entry in context.files.items() if path != DOCKERFILE}
        else:
            _joined(PurePosixPath("/"), name, where)
            safe_relative(name, where=where)
            if name in context.files:
                yield (target / PurePosixPath(name).name if into_folder else target), context.files[name]
                continue
            below = dict(context.below(name).files)
        if not below:
            raise InputError(f"{where}: environment/{name}: no such file", code="missing-file")
        yield from ((target / path, entry) for path, entry in below.items())


def _words(rest: str, where: str) -> list[str]:
    if not rest.lstrip().startswith("["):
        return rest.split()
    try:
        value = json.loads(rest)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: not a list in JSON", code="needs-container") from error
    if not all(isinstance(word, str) for word in value):
        raise InputError(f"{where}: not a list of paths", code="needs-container")
    return list(value)

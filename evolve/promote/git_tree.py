"""Reading the files of a tree of git, the contents of all by one process."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Collection
from typing import TYPE_CHECKING

from evolve.snapshot import FileEntry, Snapshot

if TYPE_CHECKING:
    import git

PLAIN = {"100644": False, "100755": True}
"""Modes of plain files, and whether their owner may execute them."""


def read_listed(command: git.Git, listed: str) -> Snapshot:
    """Return the files that ``git ls-tree -r -z`` lists; what is a link or a submodule is never equal to a file.

    Args:
        command: git, in the repository.
        listed: What it said.

    """
    entries = [line.partition("\t") for line in listed.split("\0") if line]
    facts = {path: told.split(" ") for told, _, path in entries}
    held = _blobs(command, {name for _, kind, name in facts.values() if kind == "blob"})
    files = {}
    for path, (mode, _, name) in facts.items():
        content = held.get(name, name.encode())
        marked = content if mode in PLAIN else b"\0" + mode.encode() + content
        files[path] = FileEntry(marked, PLAIN.get(mode, False))
    return Snapshot(files)


def _blobs(command: git.Git, names: Collection[str]) -> dict[str, bytes]:
    if not names:
        return {}
    with tempfile.TemporaryFile() as asked:
        asked.write("\n".join(names).encode() + b"\n")
        asked.seek(0)
        told = command.execute(
            ["git", "cat-file", "--batch"], istream=asked, stdout_as_string=False, strip_newline_in_stdout=False
        )
    answer = io.BytesIO(bytes(told))
    found = {}
    while header := answer.readline().decode("ascii").split():
        found[header[0]] = answer.read(int(header[2]))
        answer.read(1)
    return found

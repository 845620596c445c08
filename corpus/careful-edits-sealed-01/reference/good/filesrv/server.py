"""Answers requests for files."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

from filesrv.mime import content_type
from filesrv.store import find

PREFIX = "/files/"
Answer = tuple[int, dict[str, str], bytes]


def _error(status: int, text: str) -> Answer:
    return status, {"Content-Type": "text/plain; charset=utf-8"}, text.encode()


def handle(root: str | Path, target: str) -> Answer:
    """Answer a GET request.

    Args:
        root: The folder whose files are served.
        target: The path of the request as it came in, with its query.

    """
    path = target.partition("?")[0]
    if not path.startswith(PREFIX):
        return _error(404, "not found")
    found = find(Path(root), unquote(path[len(PREFIX) :]))
    if found is None:
        return _error(404, "not found")
    body = found.read_bytes()
    return 200, {"Content-Type": content_type(found.name), "Content-Length": str(len(body))}, body

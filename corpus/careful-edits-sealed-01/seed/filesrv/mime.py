"""Content types by the end of a name."""

from __future__ import annotations

TYPES = {
    ".txt": "text/plain; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".pdf": "application/pdf",
    ".png": "image/png",
}


def content_type(name: str) -> str:
    """Return the content type of a file by its name."""
    dot = name.rfind(".")
    return TYPES.get(name[dot:].lower(), "application/octet-stream") if dot >= 0 else "application/octet-stream"

"""What is graded."""

from __future__ import annotations

from pathlib import Path

import pytest

from evolve.scoring.submission import MAX_GRADED_BYTES, Submission
from tests.builders import write_files


def test_a_file_of_the_work_is_read_as_text(tmp_path: Path) -> None:
    submission = Submission("", write_files(tmp_path, {"a/b.txt": "grüß"}))
    assert submission.file_text("a/b.txt") == "grüß"


@pytest.mark.parametrize("kind", ["missing", "folder", "link", "large", "binary", "below a file"])
def test_what_is_no_plain_text_file_is_none(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "x"
    if kind == "folder":
        path.mkdir()
    elif kind == "link":
        path.symlink_to("/etc/passwd")
    elif kind == "large":
        path.write_bytes(b"x" * (MAX_GRADED_BYTES + 1))
    elif kind == "binary":
        path.write_bytes(b"\xff")
    elif kind == "below a file":
        path.write_bytes(b"x")
        assert Submission("", tmp_path).file_text("x/y") is None
        return
    assert Submission("", tmp_path).file_text("x") is None

from __future__ import annotations

import subprocess
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from evolve.scoring.patch import MAX_LINES, PATCH_BYTES, patch_of
from evolve.scoring.size import Change


def test_a_patch_says_what_came_went_and_changed() -> None:
    patch = patch_of(
        [
            Change("b.py", b"x = 1\ny = 2\n", b"x = 1\ny = 3\n"),
            Change("a.md", None, b"new\n"),
            Change("old.txt", b"gone\n", None),
        ]
    )
    assert patch == (
        "--- /dev/null\n+++ b/a.md\n@@ -0,0 +1 @@\n+new\n"
        "--- a/b.py\n+++ b/b.py\n@@ -1,2 +1,2 @@\n x = 1\n-y = 2\n+y = 3\n"
        "--- a/old.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n"
    )


def test_what_is_not_shown_is_said() -> None:
    long = b"".join(b"line %d\n" % number for number in range(MAX_LINES + 1))
    wide = b"x" * PATCH_BYTES + b"\n"
    patch = patch_of(
        [
            Change("image.png", None, b"\x89PNG\0"),
            Change("package-lock.json", b"{}", b"{ }"),
            Change("long.txt", b"", long),
            Change("wide.txt", b"", wide),
            Change("small.txt", b"a\n", b"b\n"),
        ]
    )
    assert patch.startswith("--- a/small.txt\n")
    left = patch.partition("Not shown:\n")[2]
    assert "- image.png: no text" in left and "- package-lock.json: no text, written by a tool" in left
    assert "- long.txt: no text, written by a tool, or too long" in left
    assert "- wide.txt: its " in left and "do not fit" in left


def test_nothing_changed_is_no_patch() -> None:
    assert patch_of([]) == ""
    assert patch_of([Change("a.txt", b"a\r\n", b"a\n")]) == ""


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.binary(max_size=30), st.binary(max_size=30)), max_size=6))
def test_a_patch_is_never_larger_than_it_may_be(found: list[tuple[str, bytes, bytes]]) -> None:
    patch = patch_of(Change(path, before, after) for path, before, after in found)
    assert len(patch.encode()) <= PATCH_BYTES + 4096


def test_git_can_apply_it(tmp_path: Path) -> None:
    before, after = "one\ntwo\nthree\n", "one\n2\nthree\nfour\n"
    (tmp_path / "a.txt").write_text(before)
    patch = patch_of([Change("a.txt", before.encode(), after.encode())])
    subprocess.run(["git", "apply", "-"], input=patch.encode(), cwd=tmp_path, check=True)
    assert (tmp_path / "a.txt").read_text() == after

"""Folders that somebody else wrote."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from evolve.digest import foreign_tree_digest, sha256_file, tree_digest
from evolve.errors import InputError
from evolve.hostile import as_count, files_below, open_file, read_below, remove_tree, write_fresh
from tests.builders import NO_FILES, put_no_file, write_files


def test_only_regular_files_are_read_and_no_link_is_followed(tmp_path: Path) -> None:
    secret = write_files(tmp_path / "host", {"secret": "HOST"})
    root = write_files(tmp_path / "work", {"a/b.txt": "yes"})
    (root / "link").symlink_to(secret / "secret")
    (root / "folder").symlink_to(secret)
    os.mkfifo(root / "pipe")
    assert read_below(root, "a/b.txt", 10) == b"yes"
    assert read_below(root, "a/b.txt", 2) is None
    for path in ("link", "folder/secret", "pipe", "a", "gone", "a/b.txt/c", "", "x\0y"):
        assert read_below(root, path, 1000) is None


def test_files_are_listed_without_following_or_blocking(tmp_path: Path) -> None:
    root = write_files(tmp_path / "home", {"p/a.jsonl": "", "p/b.txt": "", "c.jsonl": ""})
    (root / "link.jsonl").symlink_to("/etc/passwd")
    (root / "loop").symlink_to(root)
    (root / "folder.jsonl").mkdir()
    os.mkfifo(root / "pipe.jsonl")
    assert sorted(files_below(root, ".jsonl")) == ["c.jsonl", "p/a.jsonl"]


@pytest.mark.parametrize("what", ["link", "pipe", "folder", "file", "nothing"])
def test_a_fresh_file_takes_the_place_of_whatever_stood_there(tmp_path: Path, what: str) -> None:
    victim = write_files(tmp_path, {"victim": "mine"}) / "victim"
    path = tmp_path / "answer.md"
    if what == "link":
        path.symlink_to(victim)
    elif what == "pipe":
        os.mkfifo(path)
    elif what == "folder":
        write_files(path, {"x": ""})
    elif what == "file":
        path.write_text("old")
    write_fresh(path, "new \ud800")
    assert path.read_text() == "new ?"
    assert not path.is_symlink()
    assert victim.read_text() == "mine"


def test_a_folder_of_any_depth_and_permission_is_removed(tmp_path: Path) -> None:
    root = tmp_path / "deep"
    root.mkdir()
    here = os.open(root, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d", dir_fd=here)
        inner = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)
    locked = write_files(tmp_path / "locked", {"a/b": ""})
    (locked / "a").chmod(0o500)
    assert remove_tree(root)
    assert remove_tree(locked)
    assert remove_tree(tmp_path / "gone")


def test_the_digest_is_that_of_a_plain_folder_and_links_are_what_they_say(tmp_path: Path) -> None:
    root = write_files(tmp_path / "work", {"a/b": "1", "c": "2"})
    (root / "c").chmod(0o755)
    assert foreign_tree_digest(root) == tree_digest(root)
    (root / "out").symlink_to("/etc/passwd")
    first = foreign_tree_digest(root)
    (root / "out").unlink()
    (root / "out").symlink_to("/etc/hosts")
    assert foreign_tree_digest(root) != first


def test_what_cannot_be_graded_is_said(tmp_path: Path) -> None:
    root = write_files(tmp_path / "work", {"a": "1"})
    os.mkfifo(root / "pipe")
    with pytest.raises(InputError, match="pipe: not a file"):
        foreign_tree_digest(root)
    (root / "pipe").unlink()
    (root / "big").touch()
    os.truncate(root / "big", 1 << 40)
    with pytest.raises(InputError, match="more files or bytes"):
        foreign_tree_digest(root)


@pytest.mark.parametrize("value", [-1, 10**12 + 1, 10**400, True, 1.0, "1", None, [1]])
def test_what_nobody_can_have_counted_is_no_count(value: object) -> None:
    assert as_count(value) is None


@pytest.mark.parametrize("value", [0, 1, 10**12])
def test_what_can_have_been_counted_is(value: int) -> None:
    assert as_count(value) == value


@pytest.mark.parametrize("kind", NO_FILES)
def test_what_is_no_file_is_refused_where_a_file_is_read(tmp_path: Path, kind: str) -> None:
    put_no_file(tmp_path / "x", kind)
    with pytest.raises(OSError, match="not a file"):
        open_file(tmp_path / "x")
    with pytest.raises(OSError, match="not a file"):
        sha256_file(tmp_path / "x")


def test_a_file_is_opened_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"yes")
    (tmp_path / "link").symlink_to("x")
    with open_file(tmp_path / "link") as file:
        assert file.read() == b"yes"

"""Atomic writes, safe paths and the writer's lock."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.errors import BusyError, EnvironmentFault, InputError
from evolve.files import copy_tree, safe_relative, write_atomic, write_folder, writer_lock
from tests.builders import write_files


def test_a_file_is_written_with_its_mode_and_no_temporary_is_left(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "file"
    write_atomic(path, b"one")
    write_atomic(path, b"two", mode=0o755)
    assert path.read_bytes() == b"two"
    assert path.stat().st_mode & 0o777 == 0o755
    assert os.listdir(path.parent) == ["file"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_write_that_fails_leaves_the_old_content_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    path = tmp_path / "file"
    write_atomic(path, b"old")

    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    if step == "fsync":
        monkeypatch.setattr(os, "fsync", refuse)
    else:
        monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(EnvironmentFault, match="No space left on device") as caught:
        write_atomic(path, b"new")
    assert str(path) in caught.value.message
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_folder_that_cannot_be_made_is_an_environment_fault(tmp_path: Path) -> None:
    write_files(tmp_path, {"blocked": ""})
    with pytest.raises(EnvironmentFault, match="cannot be written"):
        write_atomic(tmp_path / "blocked" / "file", b"")


def test_a_copied_tree_keeps_links_as_links(tmp_path: Path) -> None:
    source = write_files(tmp_path / "source", {"a/b": "1"})
    (source / "link").symlink_to("a/b")
    copy_tree(source, tmp_path / "target")
    assert os.readlink(tmp_path / "target" / "link") == "a/b"
    assert (tmp_path / "target" / "a" / "b").read_text(encoding="utf-8") == "1"


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("a", "a"),
        ("a/b.txt", "a/b.txt"),
        ("a//b", "a/b"),
        ("./a", "a"),
        ("a/./b/", "a/b"),
        (".gitignore", ".gitignore"),
    ],
)
def test_a_path_inside_is_read(text: str, read: str) -> None:
    assert safe_relative(text, where="here").as_posix() == read


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".",
        "/",
        "/etc/passwd",
        "//x",
        "..",
        "../a",
        "a/../../b",
        "a/..",
        ".git",
        ".GIT/config",
        "a/.Git/hooks/x",
        "a\\b",
        "a\nb",
        "a\0b",
        "a\tb",
        "\ud800",
        "x" * 256,
        "/".join(["deep"] * 1000),
    ],
)
def test_a_path_that_is_not_inside_is_refused(text: str) -> None:
    with pytest.raises(InputError) as caught:
        safe_relative(text, where="here")
    assert caught.value.code == "unsafe-path"
    assert caught.value.message.startswith("here: ")
    caught.value.message.encode("utf-8")


@given(st.text(max_size=20) | st.lists(st.sampled_from(["..", ".", "a", ".git", "", "/", "b "])).map("/".join))
def test_no_text_makes_a_path_that_climbs_out(text: str) -> None:
    try:
        path = safe_relative(text, where="here")
    except InputError:
        return
    assert Path(os.path.normpath(Path("/root-folder") / path)).is_relative_to("/root-folder/")
    assert not path.is_absolute()
    assert {part.casefold() for part in path.parts}.isdisjoint({".git", ".."})


def test_a_lock_names_its_holder_and_refuses_a_second_writer(tmp_path: Path) -> None:
    lock = tmp_path / "sub" / ".lock"
    script = (
        "import sys; from pathlib import Path\n"
        "from evolve.files import writer_lock; from evolve.errors import BusyError\n"
        "try:\n  with writer_lock(Path(sys.argv[1]), 'the sweep'): print('free')\n"
        "except BusyError as error: print(error.message, error.exit_code)\n"
    )

    def other() -> str:
        done = subprocess.run(
            [sys.executable, "-c", script, str(lock)], capture_output=True, text=True, check=True, timeout=30
        )
        return done.stdout.strip()

    with writer_lock(lock, "the sweep"):
        assert other() == f"the sweep is being written by another process (pid {os.getpid()}) 1"
    assert other() == "free"


def test_a_lock_is_released_after_an_error_and_its_pid_is_taken_away(tmp_path: Path) -> None:
    lock = tmp_path / ".lock"
    with pytest.raises(RuntimeError), writer_lock(lock, "x"):
        assert lock.with_suffix(".pid").read_text(encoding="utf-8") == f"{os.getpid()}\n"
        raise RuntimeError
    assert not lock.with_suffix(".pid").exists()
    with writer_lock(lock, "x"):
        pass


def test_a_busy_lock_without_a_pid_file_is_still_refused(tmp_path: Path) -> None:
    import filelock

    with (
        filelock.FileLock(tmp_path / ".lock"),
        pytest.raises(BusyError, match="pid unknown"),
        writer_lock(tmp_path / ".lock", "x"),
    ):
        pass


def test_new_content_has_no_name_before_it_is_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is killed in mid-write must leave nothing in a folder whose digest counts."""
    seen: list[list[str]] = []
    real = os.fsync

    def look(descriptor: int) -> None:
        seen.append(os.listdir(tmp_path))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", look)
    write_atomic(tmp_path / "file", b"new")
    assert seen[0] == []


def test_where_nameless_files_do_not_exist_a_neighbour_serves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "O_TMPFILE")
    write_atomic(tmp_path / "file", b"one")
    write_atomic(tmp_path / "file", b"two")
    assert (os.listdir(tmp_path), (tmp_path / "file").read_bytes()) == (["file"], b"two")


def test_a_folder_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    target, staging = tmp_path / "deep" / "target", tmp_path / "staging"
    write_folder(target, lambda new: write_atomic(new / "a", b"1"), staging=staging)

    def fail(new: Path) -> None:
        write_atomic(new / "a", b"2")
        write_atomic(new / "b", b"2")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_folder(target, fail, staging=staging)
    assert [path.name for path in target.iterdir()] == ["a"]
    assert (target / "a").read_bytes() == b"1"
    write_folder(target, lambda new: write_atomic(new / "b", b"2"), staging=staging)
    assert [path.name for path in target.iterdir()] == ["b"]
    assert list(staging.iterdir()) == []


def test_what_a_killed_process_left_in_the_staging_folder_is_cleared_away_a_day_later(tmp_path: Path) -> None:
    staging = write_files(tmp_path / "staging", {"left/new/file": "", "fresh/new/file": ""})
    os.utime(staging / "left", (0, 0))
    write_folder(tmp_path / "target", lambda new: None, staging=staging)
    assert [path.name for path in staging.iterdir()] == ["fresh"]


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    write_files(tmp_path, {"staging": "a file"})
    with pytest.raises(EnvironmentFault, match="target: cannot be written"):
        write_folder(tmp_path / "target", lambda new: None, staging=tmp_path / "staging")


def test_a_folder_is_moved_into_place_from_another_file_system(tmp_path: Path) -> None:
    shared = Path("/dev/shm")
    if not os.access(shared, os.W_OK) or shared.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is one file system alone")
    target = tmp_path / "target"
    with tempfile.TemporaryDirectory(dir=shared) as staging:
        write_folder(target, lambda new: write_atomic(new / "a", b"1"), staging=Path(staging))
        write_folder(target, lambda new: write_atomic(new / "b", b"2"), staging=Path(staging))
        assert [path.name for path in target.iterdir()] == ["b"]
        assert [*Path(staging).iterdir()] == []
    assert [*tmp_path.iterdir()] == [target]

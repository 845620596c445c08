"""Folders held in memory."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.digest import tree_digest
from evolve.errors import EvolveError, InputError
from evolve.snapshot import FileEntry, Snapshot
from tests.builders import entries, write_files

names = st.text("abc", min_size=1, max_size=3)
paths = st.lists(names, min_size=1, max_size=3).map("/".join)


@st.composite
def snapshots(draw: st.DrawFn) -> Snapshot:
    drawn = draw(st.dictionaries(paths, st.builds(FileEntry, st.binary(max_size=30), st.booleans()), max_size=6))
    folders = {"/".join(path.split("/")[:end]) for path in drawn for end in range(1, path.count("/") + 1)}
    return Snapshot({path: entry for path, entry in drawn.items() if path not in folders})


@given(snapshots(), st.booleans())
def test_a_written_snapshot_has_the_digest_that_it_had_in_memory(snapshot: Snapshot, scratch: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        if scratch:
            snapshot.write_scratch(root)
        else:
            snapshot.write(root)
        assert tree_digest(root) == snapshot.digest
        assert Snapshot.read(root) == snapshot


@given(snapshots(), st.data())
def test_any_changed_byte_changes_the_digest_of_a_snapshot(snapshot: Snapshot, data: st.DataObject) -> None:
    if not any(entry.content for entry in snapshot.files.values()):
        return
    path = data.draw(st.sampled_from(sorted(path for path, entry in snapshot.files.items() if entry.content)))
    content = bytearray(snapshot.files[path].content)
    content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    changed = snapshot.replaced({path: FileEntry(bytes(content), snapshot.files[path].executable)})
    assert changed.digest != snapshot.digest


def test_a_link_inside_is_refused_and_named(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.md": "text"})
    (tmp_path / "b.md").symlink_to("a.md")
    with pytest.raises(InputError) as caught:
        Snapshot.read(tmp_path)
    assert caught.value.code == "link"
    assert "b.md" in caught.value.message


def test_a_folder_that_is_itself_a_link_is_refused(tmp_path: Path) -> None:
    write_files(tmp_path / "real", {"a.md": "text"})
    (tmp_path / "alias").symlink_to("real")
    with pytest.raises(InputError) as caught:
        Snapshot.read(tmp_path / "alias")
    assert caught.value.code == "link"


def test_a_pipe_is_refused_without_waiting_for_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError) as caught:
        Snapshot.read(tmp_path)
    assert caught.value.code == "special-file"


def test_caps_on_files_and_bytes_hold(tmp_path: Path) -> None:
    write_files(tmp_path, {"a": "12345", "b": "67890"})
    assert Snapshot.read(tmp_path, max_files=2, max_bytes=10).files["b"].content == b"67890"
    with pytest.raises(InputError) as caught:
        Snapshot.read(tmp_path, max_files=1)
    assert caught.value.code == "too-many-files"
    with pytest.raises(InputError) as caught:
        Snapshot.read(tmp_path, max_bytes=9)
    assert caught.value.code == "too-large"


def test_a_sparse_giant_is_refused_by_its_size_before_it_is_read(tmp_path: Path) -> None:
    with (tmp_path / "giant").open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(InputError, match="more than"):
        Snapshot.read(tmp_path)


def test_texts_are_the_utf8_files_without_nul_sorted() -> None:
    snapshot = Snapshot(entries({"z": b"last", "a": "ä".encode(), "binary": b"\xff", "nul": b"a\0b"}))
    assert list(snapshot.texts()) == [("a", "ä"), ("z", "last")]
    assert snapshot.text("binary") == "\ufffd"


def test_below_takes_the_files_of_one_folder_only() -> None:
    snapshot = Snapshot.of_texts({"a/x": "1", "a/b/y": "2", "ab/z": "3", "a.md": "4"})
    assert dict(snapshot.below("a").texts()) == {"x": "1", "b/y": "2"} == dict(snapshot.below("a/").texts())


def test_replacing_files_keeps_the_others_and_the_original() -> None:
    original = Snapshot.of_texts({"a": "1", "b": "2"})
    changed = original.replaced(entries({"b": b"3", "c": b"4"}))
    assert dict(changed.texts()) == {"a": "1", "b": "3", "c": "4"}
    assert dict(original.texts()) == {"a": "1", "b": "2"}


@pytest.mark.parametrize("added", ["A", "a/below", "x\ny"])
def test_a_replacement_that_would_be_ambiguous_on_disk_is_refused(added: str) -> None:
    with pytest.raises(InputError):
        Snapshot.of_texts({"a": "1"}).replaced(entries({added: b""}))


def test_a_snapshot_that_cannot_be_written_is_an_error_with_the_path(tmp_path: Path) -> None:
    write_files(tmp_path, {"blocked": "a file"})
    with pytest.raises(EvolveError, match="blocked"):
        Snapshot.of_texts({"blocked/a": "1"}).write(tmp_path)
    assert (tmp_path / "blocked").read_text(encoding="utf-8") == "a file"

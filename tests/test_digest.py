"""Canonical JSON, content digests and tree digests."""

from __future__ import annotations

import hashlib
import json
import os
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.digest import (
    canonical_json,
    digest_entries,
    refuse_ambiguous_names,
    sha256_bytes,
    sha256_file,
    sha256_json,
    tree_digest,
    tree_files,
)
from evolve.errors import EnvironmentFault, InputError
from tests.builders import write_files

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(min_value=-(2**53) + 1, max_value=2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), inner, max_size=4)
    ),
    max_leaves=12,
)
entry_lists = st.dictionaries(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8),
    st.tuples(st.binary(max_size=20), st.booleans()),
    min_size=1,
    max_size=6,
)

Files = dict[str, tuple[bytes, bool]]


def _digest(files: Files) -> str:
    return digest_entries((path, b"file", executable, content) for path, (content, executable) in files.items())


@pytest.mark.parametrize(
    ("value", "canonical"),
    [
        ({"b": 1, "a": [True, None]}, b'{"a":[true,null],"b":1}'),
        ({"€": "\r", "\r": "€"}, '{"\\r":"€","€":"\\r"}'.encode()),
        ([1.0, 1e21, 0.002, -0.0], b"[1,1e+21,0.002,0]"),
        ({"\U0001f600": 1, "\ufb33": 2}, '{"\U0001f600":1,"\ufb33":2}'.encode()),
    ],
)
def test_canonical_json_is_that_of_rfc_8785(value: object, canonical: bytes) -> None:
    assert canonical_json(value) == canonical


@given(json_values)
def test_canonical_json_reads_back_and_is_its_own_canonical_form(value: object) -> None:
    canonical = canonical_json(value)
    read = json.loads(canonical, parse_int=float)
    assert read == value
    assert canonical_json(read) == canonical


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), st.integers(-5, 5)), st.randoms())
def test_canonical_json_does_not_depend_on_the_order_of_keys(value: dict[str, int], rng: random.Random) -> None:
    items = list(value.items())
    rng.shuffle(items)
    assert canonical_json(dict(items)) == canonical_json(value)
    assert sha256_json(dict(items)) == hashlib.sha256(canonical_json(value)).hexdigest()


def _nested(depth: int) -> object:
    value: object = 0
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), 2**53, "\ud800", {"\udfff": 1}, {1, 2}, {1: 2}, _nested(100_000)]
)
def test_a_value_without_canonical_form_is_an_input_error(value: object) -> None:
    with pytest.raises(InputError) as caught:
        canonical_json(value)
    assert caught.value.code == "not-canonical"


def test_the_digest_of_a_file_is_that_of_its_bytes(tmp_path: Path) -> None:
    data = bytes(range(256)) * 5000
    (tmp_path / "a").write_bytes(data)
    assert sha256_file(tmp_path / "a") == sha256_bytes(data) == hashlib.sha256(data).hexdigest()


def test_the_tree_digest_is_the_documented_framing() -> None:
    def frame(part: bytes) -> bytes:
        return len(part).to_bytes(8, "big") + part

    parts = [b"file", b"a", b"0", b"1", b"link", "ä".encode(), b"0", b"a"]
    expected = hashlib.sha256(b"evolve-tree-v1\0" + b"".join(map(frame, parts))).hexdigest()
    assert digest_entries([("ä", b"link", False, b"a"), ("a", b"file", False, b"1")]) == expected


@given(entry_lists, st.randoms())
def test_the_tree_digest_does_not_depend_on_the_order_of_entries(files: Files, rng: random.Random) -> None:
    items = list(files.items())
    rng.shuffle(items)
    assert _digest(dict(items)) == _digest(files)


@given(entry_lists, st.data())
def test_any_changed_byte_bit_or_name_changes_the_tree_digest(files: Files, data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(sorted(files)))
    content, executable = files[path]
    position = data.draw(st.integers(0, len(content)))
    inserted = content[:position] + b"\0" + content[position:]
    changes: list[Files] = [
        {**files, path: (inserted, executable)},
        {**files, path: (content, not executable)},
        {**{name: entry for name, entry in files.items() if name != path}, path + "x" * 9: files[path]},
        {name: entry for name, entry in files.items() if name != path},
    ]
    if content:
        flipped = bytearray(content)
        flipped[position % len(content)] ^= data.draw(st.integers(1, 255))
        changes.append({**files, path: (bytes(flipped), executable)})
    digests = [_digest(changed) for changed in changes]
    assert _digest(files) not in digests
    assert len(set(digests)) == len(digests)


@given(st.binary(max_size=6), st.binary(min_size=1, max_size=6))
def test_bytes_that_move_from_one_file_to_the_next_change_the_tree_digest(first: bytes, second: bytes) -> None:
    moved: Files = {"a": (first + second[:1], False), "b": (second[1:], False)}
    assert _digest({"a": (first, False), "b": (second, False)}) != _digest(moved)


def test_the_tree_digest_of_a_folder_counts_links_and_executable_bits_but_no_empty_folders(tmp_path: Path) -> None:
    root = write_files(tmp_path / "tree", {"a/b.txt": "1", "run": "2"})
    plain = tree_digest(root)
    (root / "empty").mkdir()
    assert tree_digest(root) == plain
    (root / "run").chmod(0o755)
    executable = tree_digest(root)
    (root / "link").symlink_to("a/b.txt")
    linked = tree_digest(root)
    (root / "link").unlink()
    (root / "link").symlink_to("run")
    assert len({plain, executable, linked, tree_digest(root)}) == 4


def test_a_link_to_a_name_that_is_not_utf8_has_a_digest(tmp_path: Path) -> None:
    os.symlink(b"\xff", os.fsencode(tmp_path / "link"))
    assert tree_digest(tmp_path) == digest_entries([("link", b"link", False, b"\xff")])


def test_files_and_links_are_listed_sorted_by_utf8_path(tmp_path: Path) -> None:
    root = write_files(tmp_path / "tree", {"b": "", "a/z": "", "a-": "", "é": "", "Z": ""})
    (root / "folder-link").symlink_to("a")
    names = [name for name, _ in tree_files(root)]
    assert names == ["Z", "a-", "a/z", "b", "folder-link", "é"]


def test_a_relative_root_is_read_like_an_absolute_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = write_files(tmp_path / "tree", {"a": "1"})
    (root / "link").symlink_to("a")
    expected = tree_digest(root)
    monkeypatch.chdir(root)
    assert tree_digest(Path()) == tree_digest(Path("../tree")) == expected
    (root / "out").symlink_to("../elsewhere")
    for spelling in (Path(), Path("../tree"), root):
        with pytest.raises(InputError, match="leaves its folder"):
            tree_digest(spelling)


@pytest.mark.parametrize("target", ["/etc/passwd", "../outside", "sub/../../outside", "here/../outside", ".."])
def test_a_link_that_leaves_the_tree_is_refused(tmp_path: Path, target: str) -> None:
    root = write_files(tmp_path / "tree", {"sub/a": "1"})
    (tmp_path / "outside").write_text("secret", encoding="utf-8")
    (root / "here").symlink_to(".")
    (root / "link").symlink_to(target)
    with pytest.raises(InputError) as caught:
        tree_digest(root)
    assert caught.value.code == "escaping-link"
    assert str(root / "link") in caught.value.message


def test_a_pipe_is_refused_without_reading_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError) as caught:
        tree_digest(tmp_path)
    assert caught.value.code == "special-file"
    assert "pipe" in caught.value.message


def test_a_name_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    with open(os.fsencode(tmp_path) + b"/\xff", "wb"):
        pass
    with pytest.raises(InputError) as caught:
        tree_files(tmp_path)
    assert caught.value.code == "unsafe-name"
    caught.value.message.encode("utf-8")


def test_more_files_than_allowed_are_refused(tmp_path: Path) -> None:
    write_files(tmp_path, {f"f{number}": "" for number in range(4)})
    assert len(tree_files(tmp_path, max_files=4)) == 4
    with pytest.raises(InputError) as caught:
        tree_files(tmp_path, max_files=3)
    assert caught.value.code == "too-many-files"


def test_a_folder_that_is_not_there_is_no_empty_tree(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFault, match="missing"):
        tree_digest(tmp_path / "missing")


@pytest.mark.parametrize(
    ("names", "code"),
    [
        (["a\nb"], "unsafe-name"),
        (["a\rb"], "unsafe-name"),
        (["a\0b"], "unsafe-name"),
        (["README.md", "readme.MD"], "name-collision"),
        (["caf\u00e9", "cafe\u0301"], "name-collision"),
        (["stra\u00dfe", "STRASSE"], "name-collision"),
        (["x/\u00c9", "x/e\u0301"], "name-collision"),
        (["a", "a/b"], "name-collision"),
        (["A/b/c", "a/B"], "name-collision"),
    ],
)
def test_names_that_could_mean_two_things_are_refused(names: list[str], code: str) -> None:
    for order in (names, names[::-1]):
        with pytest.raises(InputError) as caught:
            refuse_ambiguous_names(order, Path("folder"))
        assert caught.value.code == code
        assert caught.value.message.startswith("folder: ")


def test_only_the_names_that_collide_are_refused() -> None:
    names = ["a", "b", "a.b", "ab/a", "ab/b", "A2"]
    refuse_ambiguous_names(names, Path("folder"))
    with pytest.raises(InputError, match="'A2' and 'a2'"):
        refuse_ambiguous_names([*names, "a2"], Path("folder"))

"""Reading and validating skills."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.errors import InputError
from evolve.skills import Skill, read_skill, read_skills, size_warnings, split_frontmatter, with_body
from evolve.snapshot import FileEntry, Snapshot
from tests.builders import entries, make_skill, skill_text, write_files


def test_a_skill_is_read_with_all_of_its_files(tmp_path: Path) -> None:
    write_files(tmp_path / "skills/greeter", {"SKILL.md": skill_text(), "references/more.md": "More."})
    skill = read_skill(tmp_path, "skills", "greeter")
    assert (skill.name, skill.folder, skill.body) == ("greeter", "skills/greeter", "Say hello.")
    assert sorted(skill.files.files) == ["SKILL.md", "references/more.md"]


def test_the_fingerprint_counts_every_file_and_the_name() -> None:
    plain = make_skill()
    variants = [
        make_skill(body="Say hello!"),
        make_skill(extra__md="x"),
        make_skill("other"),
        type(plain)(plain.name, plain.folder, plain.files.replaced({"x": FileEntry(b"", executable=True)})),
        type(plain)(plain.name, plain.folder, plain.files.replaced({"x": FileEntry(b"", executable=False)})),
    ]
    assert len({plain.fingerprint, *(variant.fingerprint for variant in variants)}) == 6
    assert make_skill().fingerprint == plain.fingerprint


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"no frontmatter", "frontmatter"),
        (b"---\nname: greeter\n---\n\nBody\n", "description"),
        (b"---\ndescription: x\n---\n\nBody\n", "name"),
        (b"---\nname: Greeter\ndescription: x\n---\n\nBody\n", "lowercase"),
        (b"---\nname: another\ndescription: x\n---\n\nBody\n", "match"),
        (b"---\nname: greeter\ndescription: x\nunknown-key: y\n---\n\nBody\n", "unknown-key"),
        (b"---\nname: greeter\ndescription: x\n---\n\n  \n", "the body is empty"),
        (b"---\nname: greeter\ndescription: " + b"x" * 1025 + b"\n---\n\nBody\n", "1024"),
        (b"---\nname: [\n---\n\nBody\n", "YAML"),
        (b"---\nname: greeter\ndescription: x\nBody without an end of the frontmatter\n", "frontmatter"),
        (b"\xff\xfe", "not UTF-8 (byte 0)"),
        (b"\xef\xbb\xbf---\nname: greeter\ndescription: x\n---\n\nBody\n", "frontmatter"),
        (b"---\nname: greeter\ndescription: &a [*a]\n---\n\nBody\n", ""),
        (b"---\nname: greeter\ndescription: " + b"[" * 5000 + b"\n---\n\nBody\n", ""),
        (b"", ""),
    ],
)
def test_an_invalid_skill_is_an_input_error_that_names_its_file(tmp_path: Path, content: bytes, says: str) -> None:
    write_files(tmp_path / "skills/greeter", {"SKILL.md": content})
    with pytest.raises(InputError) as caught:
        read_skills(tmp_path, ("skills",))
    assert caught.value.message.startswith("skills/greeter/SKILL.md: ")
    assert says.casefold() in caught.value.message.casefold()


def test_a_folder_without_skill_md_is_no_skill(tmp_path: Path) -> None:
    write_files(tmp_path / "skills", {"greeter/SKILL.md": skill_text(), "drafts/notes.md": "x", "README.md": "y"})
    assert list(read_skills(tmp_path, ("skills",))) == ["greeter"]
    with pytest.raises(InputError) as caught:
        read_skill(tmp_path, "skills", "drafts")
    assert caught.value.code == "no-skill-md"


def test_skills_of_several_roots_are_read_by_name(tmp_path: Path) -> None:
    write_files(tmp_path, {"a/one/SKILL.md": skill_text("one"), "b/two/SKILL.md": skill_text("two")})
    assert {name: skill.folder for name, skill in read_skills(tmp_path, ("a", "b")).items()} == {
        "one": "a/one",
        "two": "b/two",
    }


def test_a_skill_that_stands_in_several_roots_is_mirrored(tmp_path: Path) -> None:
    write_files(tmp_path, {f"{root}/one/SKILL.md": skill_text("one") for root in "abc"})
    (skill,) = read_skills(tmp_path, ("b", "a", "c")).values()
    assert (skill.folder, skill.mirrors, skill.folders) == ("b/one", ("a/one", "c/one"), ("b/one", "a/one", "c/one"))


def overwritten(root: Path) -> None:
    (root / "b/one/SKILL.md").write_text(skill_text("one", body="Other."))


def executable(root: Path) -> None:
    (root / "b/one/SKILL.md").chmod(0o755)


def line_ends(root: Path) -> None:
    (root / "b/one/SKILL.md").write_bytes(skill_text("one").replace("\n", "\r\n").encode())


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (overwritten, "b/one: not what a/one holds: SKILL.md: they differ"),
        (executable, "SKILL.md: they differ"),
        (line_ends, "SKILL.md: they differ"),
        (lambda root: write_files(root, {"b/one/more.md": "x"}), "more.md: a/one does not have it"),
        (lambda root: write_files(root, {"a/one/less.md": "x"}), "less.md: b/one does not have it"),
    ],
)
def test_a_mirror_that_differs_is_refused_by_its_first_file(
    tmp_path: Path, change: Callable[[Path], object], says: str
) -> None:
    write_files(tmp_path, {f"{root}/one/SKILL.md": skill_text("one") for root in "ab"})
    change(tmp_path)
    with pytest.raises(InputError) as caught:
        read_skills(tmp_path, ("a", "b"))
    assert (caught.value.code, says in caught.value.message) == ("mirror-differs", True), caught.value.message
    assert caught.value.hint == "make them the same: diff -r a/one b/one"


@pytest.mark.parametrize("roots", [("skills", "linked"), ("linked", "skills"), ("skills", "holding")])
def test_a_link_to_a_skill_that_is_read_where_it_stands_is_no_mirror(tmp_path: Path, roots: tuple[str, ...]) -> None:
    write_files(tmp_path, {"skills/one/SKILL.md": skill_text("one")})
    (tmp_path / "linked").symlink_to("skills")
    (tmp_path / "holding").mkdir()
    (tmp_path / "holding/one").symlink_to("../skills/one")
    (skill,) = read_skills(tmp_path, roots).values()
    assert skill.folders == ("skills/one",)


def test_a_link_to_a_skill_elsewhere_is_refused(tmp_path: Path) -> None:
    write_files(tmp_path, {"skills/one/SKILL.md": skill_text("one"), "elsewhere/two/SKILL.md": skill_text("two")})
    (tmp_path / "skills/two").symlink_to("../elsewhere/two")
    with pytest.raises(InputError) as caught:
        read_skills(tmp_path, ("skills",))
    assert caught.value.code == "link"


def test_a_missing_or_empty_root_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder"):
        read_skills(tmp_path, ("skills",))
    (tmp_path / "skills").mkdir()
    with pytest.raises(InputError, match="no skill below skills"):
        read_skills(tmp_path, ("skills",))


@pytest.mark.parametrize("kind", ["link out", "link inside", "pipe", "folder link"])
def test_links_and_pipes_in_a_skill_are_refused(tmp_path: Path, kind: str) -> None:
    folder = write_files(tmp_path / "skills/greeter", {"SKILL.md": skill_text()})
    if kind == "link out":
        (folder / "more.md").symlink_to("/etc/passwd")
    elif kind == "link inside":
        (folder / "more.md").symlink_to("SKILL.md")
    elif kind == "pipe":
        os.mkfifo(folder / "more.md")
    else:
        folder.rename(tmp_path / "elsewhere")
        folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError) as caught:
        read_skills(tmp_path, ("skills",))
    assert str(folder) in caught.value.message
    assert caught.value.code in ("escaping-link", "link", "special-file")


@pytest.mark.parametrize(
    ("text", "front", "body"),
    [
        ("---\na: 1\n---\n\nBody\n", "---\na: 1\n---\n", "Body"),
        ("---\na: 1\n---", "---\na: 1\n---", ""),
        ("---\na: 1\n--- \nBody\n---\nMore", "---\na: 1\n--- \n", "Body\n---\nMore"),
        ("Body\n---\na\n---\n", "", "Body\n---\na\n---"),
        ("", "", ""),
    ],
)
def test_frontmatter_is_split_off_at_its_second_fence(text: str, front: str, body: str) -> None:
    assert split_frontmatter(text) == (front, body)


@given(st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=60))
def test_another_body_keeps_the_frontmatter_and_reads_back(body: str) -> None:
    before = skill_text()
    after = with_body(before, body)
    assert split_frontmatter(after)[0].rstrip() == split_frontmatter(before)[0].rstrip()
    assert split_frontmatter(after)[1] == body.strip()


def test_a_skill_with_a_binary_file_beside_it_is_valid(tmp_path: Path) -> None:
    write_files(tmp_path / "skills/greeter", {"SKILL.md": skill_text(), "logo.png": b"\x89PNG\0\xff"})
    assert read_skill(tmp_path, "skills", "greeter").files.files["logo.png"] == entries({"x": b"\x89PNG\0\xff"})["x"]


FIELDS = "---\nname: x\n{}---\n\n{}\n"


@pytest.mark.parametrize(
    ("description", "body", "warns"),
    [
        ("description: short\n", "Body.", []),
        (f"description: {'x' * 1536}\n", "\n".join(["line"] * 500), []),
        (f"description: {'x' * 1537}\n", "Body.", ["the description has 1,537 characters"]),
        (f"description: >\n  {'x' * 800}\n  {'y' * 800}\n", "Body.", ["the description has 1,601 characters"]),
        ("description: short\n", "\n".join(["line"] * 501), ["the body has 501 lines"]),
        ("description: short\n", "\r\n".join(["line"] * 501), ["the body has 501 lines"]),
        (f"description: {'x' * 1537}\n", "a\n\n" * 300, ["the description has 1,537", "the body has 599 lines"]),
        ("", "Body.", []),
        ("description: [\n", "Body.", []),
        ("description:\n", "Body.", []),
        (f"description: short\nlicense: {'x' * 2000}\n", "Body.", []),
    ],
)
def test_budgets_of_agents_are_warned_of(description: str, body: str, warns: list[str]) -> None:
    found = size_warnings(Skill("x", "skills/x", Snapshot.of_texts({"SKILL.md": FIELDS.format(description, body)})))
    assert [text.startswith(start) for text, start in zip(found, warns, strict=True)] == [True] * len(warns)


def test_a_skill_without_frontmatter_is_measured_all_the_same() -> None:
    assert size_warnings(Skill("x", "skills/x", Snapshot.of_texts({"SKILL.md": "---\n- a\n---\nBody.\n"}))) == []
    assert len(size_warnings(Skill("x", "skills/x", Snapshot.of_texts({"SKILL.md": "line\n" * 501})))) == 1

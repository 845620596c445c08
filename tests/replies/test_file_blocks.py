"""The form in which a chat model sees files and gives them back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.errors import InputError
from evolve.files import safe_relative
from evolve.replies.file_blocks import good_reply, read_edits, show_block, show_file, user_message

stems = st.text("abfileF_1", min_size=1, max_size=6)
file_names = st.tuples(stems, st.sampled_from(["py", "ini", "md", "tar.gz"])).map(".".join)
bare_names = st.sampled_from(["Makefile", ".gitignore", ".github/workflows/ci.yml", "LICENSE", "docs/README"])
paths = st.lists(stems, max_size=2).flatmap(lambda parents: file_names.map(lambda name: "/".join([*parents, name])))
texts = st.text(st.sampled_from("ab `~#\n\t=é[]{}:"), max_size=40) | st.text(
    st.characters(codec="utf-8", exclude_characters="\r"), max_size=40
)


def normal(text: str) -> str:
    return text.rstrip() + "\n"


@given(st.dictionaries(paths | bare_names, texts, min_size=1, max_size=4))
def test_the_good_reply_read_back_gives_the_same_files(files: dict[str, str]) -> None:
    expected = {path: normal(text) for path, text in files.items()}
    for known, named in ((tuple(files), False), ((*files, "other.txt"), True)):
        edits = read_edits(good_reply(list(files.items()), named=named), known)
        assert {path: normal(text) for path, text in edits.items()} == expected


@given(
    st.text(st.sampled_from("`~\n abc./:#*file=\\\"'"), max_size=60) | st.text(max_size=60), st.lists(paths, max_size=3)
)
def test_garbage_never_raises_and_never_names_an_unsafe_path(reply: str, known: list[str]) -> None:
    for path in read_edits(reply, tuple(known)):
        assert path in known or safe_relative(path, where="test").as_posix() == path


@pytest.mark.parametrize(
    "reply",
    [
        "app.ini:\n```ini\na = 1\n```",
        "**app.ini**\n```\na = 1\n```",
        "### `app.ini`\n\n```ini\na = 1\n```",
        "Here it is.\n\nFile: app.ini\n```ini\na = 1\n```\nDone.",
        "file app.ini:\n```ini\na = 1\n```",
        "```ini app.ini\na = 1\n```",
        "```path=app.ini\na = 1\n```",
        '```ini file="app.ini"\na = 1\n```',
        "````app.ini\na = 1\n````",
        "~~~app.ini\na = 1\n~~~",
    ],
)
def test_a_block_belongs_to_the_path_beside_it(reply: str) -> None:
    assert read_edits(reply, ("app.ini", "other.ini")) == {"app.ini": "a = 1\n"}


@pytest.mark.parametrize("name", ["filename.py", "file_utils.py", "files/a.py", "profile.py", "file.txt", "File1.md"])
def test_a_path_that_begins_like_the_word_file_is_read_whole(name: str) -> None:
    assert read_edits(f"{name}:\n```\nx\n```", (name, "other.py")) == {name: "x\n"}


def test_a_lone_unnamed_block_belongs_to_the_only_file_there_is() -> None:
    reply = "```ini\na = 1\n```"
    assert read_edits(reply, ("app.ini",)) == {"app.ini": "a = 1\n"}
    assert read_edits(reply, ("app.ini", "b.ini")) == {}
    assert read_edits(reply + "\n\n" + reply, ("app.ini",)) == {}
    assert read_edits(reply, ()) == {}


@pytest.mark.parametrize(
    "path",
    ["../evil.py", "/etc/passwd.txt", "a/../../evil.py", ".git/hooks/pre-commit.sh", "a\\b.py", "x" * 300 + ".py"],
)
def test_a_path_that_leaves_the_folder_is_left_out(path: str) -> None:
    with pytest.raises(InputError):
        safe_relative(path, where="test")
    for reply in (f"{path}:\n```\nx\n```", f"```{path}\nx\n```"):
        assert path not in read_edits(reply, ("a.py", "b.py"))


def test_the_last_block_of_a_file_counts() -> None:
    reply = "a.py:\n```\nfirst\n```\n\na.py:\n```\nsecond\n```"
    assert read_edits(reply, ("a.py", "b.py")) == {"a.py": "second\n"}


def test_a_new_file_may_be_named() -> None:
    assert read_edits("docs/new.md:\n```\nx\n```", ("a.py",)) == {"docs/new.md": "x\n"}


@pytest.mark.parametrize("text", ["plain", "```\ninner\n```", "````\n```", "`" * 9])
def test_a_block_has_a_fence_that_its_text_cannot_end(text: str) -> None:
    shown = show_block("md", text)
    fence = shown.split("md", 1)[0]
    assert fence not in text
    assert shown == f"{fence}md\n{text}\n{fence}"


def test_the_message_shows_the_prompt_and_every_file() -> None:
    message = user_message(" Do it. \n", [("a.ini", "x\n"), ("Makefile", "y")])
    assert message == "Do it.\n\na.ini:\n```ini\nx\n```\n\nMakefile:\n```text\ny\n```"
    assert show_file("a/b.py", "z") == "a/b.py:\n```py\nz\n```"


def test_a_lone_block_that_names_an_unsafe_path_is_not_taken_for_the_known_file() -> None:
    assert read_edits("```ini ../../etc/passwd\nroot\n```", ("app.ini",)) == {}
    assert read_edits("/etc/passwd.conf:\n```\nroot\n```\n```ini\na = 1\n```", ("app.ini",)) == {}

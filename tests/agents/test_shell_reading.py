"""What a command of a shell does: a look is only called one when it surely is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.agents.shell_reading import Reading, read_command
from evolve.agents.transcript_events import EventKind


def read(path: str | None, first: int | None = None, last: int | None = None) -> Reading:
    return Reading(EventKind.READ, path, first, last)


def search(path: str) -> Reading:
    return Reading(EventKind.SEARCH, path)


@pytest.mark.parametrize(
    ("command", "reading"),
    [
        ("cat a.py", read("a.py", 1)),
        ("cat /box/work/src/a.py", read("src/a.py", 1)),
        ("bash -lc 'sed -n 1,20p src/a.py'", read("src/a.py", 1, 20)),
        ("nl -ba a.py | sed -n '5,9p'", read("a.py", 5, 9)),
        ("cat a.py | tail -n 3", read("a.py")),
        ("head -n 40 a.py", read("a.py", 1, 40)),
        ("head -40 a.py", read("a.py", 1, 40)),
        ("tail -n 5 a.py", read("a.py")),
        ("cat a.py b.py", read(None)),
        ("cd src && cat b.py", read("src/b.py", 1)),
        ("cd /box/work && cat b.py", read("b.py", 1)),
        ("cat a.py 2>/dev/null || true", read("a.py", 1)),
        ("git diff HEAD~1", read(None)),
        ("rg 'foo|bar' src", search("src")),
        ("rg -g '*.py' foo src tests", search("src tests")),
        ("grep -rnE -e foo src", search("src")),
        ("grep -E foo src", search("src")),
        ("find . -name '*.py' | head -20", search(".")),
        ("ls", search(".")),
        ("ls && cat a.py", Reading(EventKind.SEARCH)),
    ],
)
def test_a_look_is_told_with_its_place(command: str, reading: Reading) -> None:
    assert read_command(command) == reading


@pytest.mark.parametrize(
    "command",
    [
        "",
        "python -m pytest",
        "cat a > b",
        "cat a | tee b",
        "cat a; rm b",
        "rg foo & rm b",
        "rg foo $(rm b)",
        "cat `rm b`",
        "(rm b)",
        "cat a\nrm b",
        "find . -delete",
        "find . -name x -exec rm {} ;",
        "fd x -x rm",
        "rg --pre ./run foo",
        "sed -i s/a/b/ c",
        "sed -n 's/a/b/w out' c",
        "sort -oout a",
        "git commit -m x",
        "git diff --output=x",
        "bash run.sh",
        "env cat a",
        "cat 'unclosed",
    ],
)
def test_what_may_change_something_is_no_look(command: str) -> None:
    assert read_command(command) == Reading(EventKind.COMMAND)


@given(st.text())
def test_no_command_is_too_strange(command: str) -> None:
    assert isinstance(read_command(command), Reading)

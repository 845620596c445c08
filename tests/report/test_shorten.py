"""Shortening a report: never too long, nothing cut open, the decision always there."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from evolve.report.markdown import clipped, fenced, inert
from evolve.report.shorten import FOLDED_LINES, FOLDED_ROWS, LIMIT_BYTES, shortened

VERDICT = "**Promote: the candidate is better, and it is proven.**"
HOSTILE = (
    "</details>",
    "```",
    "````diff",
    "| a |",
    "| --- |",
    "# x",
    "<details><summary>",
    "~~~",
    "\u2028# y",
    "é" * 40,
)
TEXTS = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=60))


def report(reasons: list[str], tasks: list[str], diff: list[str], arms: int = 1) -> str:
    rows = "\n".join(f"| {inert(task)} | 0/3 |" for task in tasks)
    tables = "\n\n".join(f"## Arm {arm}\n\n| task | resolved |\n| --- | --- |\n{rows}" for arm in range(arms))
    said = "\n".join(f"- **{inert(clipped(reason))}**" for reason in reasons)
    return f"# bracket\n\n{VERDICT}\n\n{said}\n\n{tables}\n\n## What changes\n\n{fenced(chr(10).join(diff), 'diff')}\n"


def blocks_of(text: str) -> list[str]:
    """Return what a renderer takes for HTML, tags of details alone; a cut fence would swallow those after it."""
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(text)
    html = "".join(token.content for token in tokens if token.type == "html_block")
    return re.findall(r"</?details>", html)


def assert_whole(text: str) -> None:
    tags = blocks_of(text)
    assert tags == ["<details>", "</details>"] * (len(tags) // 2)
    assert len(tags) == 2 * len(re.findall(r"^<details><summary>(?:[^<\n]*)</summary>$", text, re.MULTILINE))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(TEXTS, max_size=30),
    st.lists(TEXTS, max_size=80),
    st.lists(TEXTS, max_size=90),
    st.integers(1, 30),
    st.integers(1_000, 6_000),
)
def test_a_report_is_never_too_long_nor_cut_open_and_keeps_its_decision(
    reasons: list[str], tasks: list[str], diff: list[str], arms: int, limit: int
) -> None:
    text = shortened(report(reasons, tasks, diff, arms), limit)
    assert len(text.encode()) <= limit
    assert text.startswith(f"# bracket\n\n{VERDICT}\n")
    assert_whole(text)


@settings(max_examples=60, deadline=None)
@given(st.text(), st.integers(1_000, 2_000))
def test_whatever_is_given_the_limit_holds(text: str, limit: int) -> None:
    assert len(shortened(text * 40, limit).encode("utf-8", errors="replace")) <= limit


@settings(max_examples=40, deadline=None)
@given(st.lists(TEXTS, max_size=80), st.lists(TEXTS, max_size=30), st.integers(1_000, 4_000))
def test_lines_are_left_out_from_the_end_and_none_is_cut(tasks: list[str], diff: list[str], limit: int) -> None:
    given_lines = report([], tasks, diff).split("\n")
    text = shortened("\n".join(given_lines), limit)
    rows = [line for line in text.split("\n") if line.startswith("|")]
    assert rows == [line for line in given_lines if line.startswith("|")][: len(rows)]


def test_a_short_report_is_left_as_it_is() -> None:
    text = report(["it won"], ["a", "b"], ["+x"])
    assert shortened(text) == text


def test_long_tables_and_diffs_are_folded_under_what_they_are() -> None:
    text = shortened(report([], ["t"] * (FOLDED_ROWS + 1), ["+x"] * (FOLDED_LINES + 1)))
    assert "<details><summary>Arm 0: 21 rows</summary>\n\n| task |" in text
    assert "<details><summary>What changes: 41 lines</summary>\n\n```diff\n" in text
    assert "left out" not in text
    assert_whole(text)


def test_what_is_left_out_is_said_in_words() -> None:
    text = shortened(report([], [f"task-{n:05}" for n in range(9_000)], ["+" + "x" * 98] * 2_000))
    assert 0.98 * LIMIT_BYTES < len(text.encode()) <= LIMIT_BYTES
    assert re.search(r"^\(\d+ of 9000 rows left out\)$", text, re.MULTILINE)
    assert re.search(r"^\(\d+ of 2000 lines left out\)$", text, re.MULTILINE)
    assert text.endswith("The whole: `evolve report --json`, and the evidence itself.\n")


def test_parts_without_room_are_counted() -> None:
    text = shortened(report(["it won"], ["a"], [], arms=200), 2_000)
    assert re.search(r"the last \d+ parts left out\. The whole", text)
    assert "- **it won**" in text


@pytest.mark.parametrize("name", ["<script>", "a\\<b", "</summary>"])
def test_the_title_of_a_fold_is_text(name: str) -> None:
    text = shortened(f"## {inert(name)}\n\n| a |\n| --- |\n" + "| b |\n" * 30)
    summary = text.split("<summary>")[1].split("</summary>")[0]
    assert "<" not in summary and "rows" in summary

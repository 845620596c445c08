"""Fenced code blocks."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.replies.fences import code_blocks


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("```py\nx\n```", [("py", "x\n")]),
        ("a\n```\nx\n```\nb\n~~~ sh -e\ny\n~~~\n", [("", "x\n"), ("sh -e", "y\n")]),
        ("````md\n```\nin\n```\n````", [("md", "```\nin\n```\n")]),
        ("```\n```", [("", "")]),
        ("```py\nnever closed", []),
        ("inline ```x``` only", []),
        ("  ```py\nindented\n  ```", []),
        ("", []),
    ],
)
def test_code_blocks_are_found_in_order(text: str, found: list[tuple[str, str]]) -> None:
    blocks = code_blocks(text)
    assert [(block.info, block.content) for block in blocks] == found
    assert all(block.content in text[block.start : block.end] for block in blocks)


@given(st.text(st.sampled_from("`~\n a"), max_size=80))
def test_blocks_never_overlap(text: str) -> None:
    blocks = code_blocks(text)
    assert all(one.end <= two.start for one, two in itertools.pairwise(blocks))

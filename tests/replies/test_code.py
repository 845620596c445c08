"""A right answer never fails for its wrapping."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.replies.code import python_of

CODE = "def f(x):\n    return x * 2\n"
HELPER = "def double(x):\n    return x * 2\n"
CALLER = "def f(x):\n    return double(x)\n"


def value(reply: str) -> object:
    """Run the code that is found and call the function."""
    namespace: dict[str, object] = {}
    exec(python_of(reply, "f"), namespace)
    function = namespace["f"]
    assert callable(function)
    return function(3)


@pytest.mark.parametrize(
    "reply",
    [
        CODE,
        f"```python\n{CODE}```",
        f"```\n{CODE}```",
        f"~~~py\n{CODE}~~~",
        f"Here it is:\n\n```python\n{CODE}```\n\nIt doubles.",
        f"Here it is:\n\n{CODE}",
        f"Sure! Here is the function.\n\n{CODE}\nThis doubles a number.",
        f"import math\n\n{CODE}\nHope this helps!",
        f"```python\n{CODE}",
        f"{CODE}```",
        f"```python\n{CODE}```".replace("\n", "\r\n"),
        CODE.replace("\n", "\r\n"),
        f"First a shell line:\n```sh\npip install x\n```\nThen:\n```python\n{CODE}```",
        f"```python\n{CODE}```\nUse it like so:\n```python\nprint(f(2))\n```",
        f"```python\n{CODE}```\n```\n>>> f(2)\n4\n```",
        f"helper.py:\n```python\n{HELPER}```\nmain.py:\n```python\n{CALLER}```",
        f"```python main.py\n{CALLER}```\n```python helper.py\n{HELPER}```",
        f"A first try:\n```python\ndef f(x):\n    return x\n```\nBetter:\n```python\n{CODE}```",
        f"`f` is what you want.\n\n    not this\n\n{CODE}",
        f"x = 5 is assumed below.\n\n{CODE}",
    ],
)
def test_a_right_answer_is_found_in_whatever_it_is_wrapped(reply: str) -> None:
    assert value(reply) == 6


def test_what_is_no_code_is_given_back_as_it_is() -> None:
    assert python_of("No idea.", "f") == "No idea."
    assert python_of("```python\nx = 1\n```", "f") == "x = 1\n"


@given(st.text(max_size=300))
def test_no_reply_breaks_it(reply: str) -> None:
    assert isinstance(python_of(reply, "f"), str)


@pytest.mark.parametrize("reply", ["(" * 50_000, "def f(\n" * 5000, "x = 1\n" * 50_000, "```\n" * 5000])
def test_hostile_replies_do_not_take_for_ever(reply: str) -> None:
    assert isinstance(python_of(reply, "f"), str)

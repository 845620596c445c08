"""The compressed rival: fewer words, the same code."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evolve.bench.compress import compress
from evolve.bench.declared import compressed_skill
from evolve.errors import InputError
from tests.builders import make_skill


@pytest.mark.parametrize(
    ("text", "shorter"),
    [
        ("You should simply reply with the number.", "reply with number."),
        ("Make sure to use **bold** words, please.", "use bold words, ."),
        ("# The title\n\n\nA line.\n\n<!-- a\nnote -->\nThe end.", "# title\nline.\nend."),
        ('- Say `the a an` and "the quote" here', '- Say `the a an` and "the quote" here'),
        ("See https://example.org/the/a please", "See https://example.org/the/a"),
        ("| the | table |", "| the | table |"),
        ("    the = indented_code()", "the = indented_code()"),
        ("Use {{ the_value }} and <the-tag> in order to win.", "Use {{ the_value }} and <the-tag> to win."),
        ("snake_case__the__name stays", "snake_case__the__name stays"),
        ("Use **the `**a**` mark** please", "Use `**a**` mark"),
        ('Say "the `a "the" b` end" always', 'Say "the `a "the" b` end" always'),
    ],
)
def test_what_can_be_spared(text: str, shorter: str) -> None:
    assert compress(text) == shorter


def test_code_stays_as_it_is() -> None:
    code = "```python\n# the comment  with  spaces\n\nx = 'the'  # please\n```"
    assert code in compress(f"The following is really simple:\n\n{code}\n\nThe end.")
    nested = "~~~\n```\nthe\n```\n~~~"
    assert compress(nested) == nested


@example("`<  `")
@example("<`>a`")
@example('"`"a`')
@example("https://`the a`")
@example("**`**a**`**")
@example("``<`a`")
@given(st.text(alphabet='the a`*\n<>|"~#- very,x', max_size=120))
def test_it_is_never_longer_and_keeps_the_code(text: str) -> None:
    shorter = compress(text)
    assert len(shorter) <= len(text)
    if "``" in text or "~~~" in text or "<!--" in text:
        return
    for line in text.split("\n"):
        for span in re.findall(r"`[^`]+`", line):
            assert span in shorter or not span.strip("` ")


def test_a_compressed_skill_keeps_its_frontmatter_and_other_files() -> None:
    skill = make_skill("greeter", "You should greet the people.", notes__md="The notes stay.")
    shorter = compressed_skill("compressed", skill)
    assert shorter.body == "greet people."
    assert shorter.text.startswith("---\nname: greeter\ndescription: Greets people.\n---\n")
    assert shorter.files.text("notes.md") == "The notes stay."
    with pytest.raises(InputError, match="arm shorter: nothing of skills/greeter can be spared"):
        compressed_skill("shorter", make_skill("greeter", "Greet."))


@pytest.mark.parametrize("text", ['"' + "`" * 20_000, "'`a`" * 5000, "<" + "`a" * 10_000, "{{" + "`" * 20_000 + "}"])
def test_no_text_takes_long(text: str) -> None:
    began = time.process_time()
    compress(text)
    assert time.process_time() - began < 2

"""What how-tos say of the program is so."""

from __future__ import annotations

import re

from tests.docs.pages import ROOT
from tests.docs.running import Place


def test_reading_a_report_speaks_of_every_section_of_the_page(measured: Place) -> None:
    code, page = measured.run("evolve report promotion/purchase-json/* --html")
    assert code == 0
    sections = re.findall(r"<h2[^>]*>(.*?)</h2>", page)
    text = (ROOT / "docs/howto/reading-a-report.md").read_text(encoding="utf-8")
    told = " ".join(re.findall(r"^\*\*(.*?)\.\*\*", text, re.MULTILINE))
    assert len(sections) >= 9
    assert [section for section in sections if section not in told] == []


def test_make_docs_builds_as_the_tests_do() -> None:
    recipe = (ROOT / "Makefile").read_text(encoding="utf-8").split("\ndocs: ")[1].split("\n\n")[0]
    assert "sphinx-build -W --keep-going -q -b html docs docs/_build/html" in recipe

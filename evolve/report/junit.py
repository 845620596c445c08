"""Checks as JUnit XML, which every CI shows: those of an audit, or of the gate."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal
from xml.etree import ElementTree

from evolve.promote.findings import Finding

# What XML 1.0 cannot hold, whatever it is written as.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

Ending = Literal["passed", "failure", "error", "skipped"]


@dataclass(frozen=True)
class Case:
    """A test case: where, what, how it ended, and what there is to say; a case that passed may say something too."""

    place: str
    name: str
    ending: Ending = "passed"
    text: str = ""


def junit(findings: Sequence[Finding]) -> bytes:
    """Return one test suite: a test case a check, a failure where it does not hold."""
    return suite(
        "evolve audit",
        [
            Case(finding.file, finding.check)
            if finding.holds
            else Case(finding.file, finding.check, "failure", finding.detail or "does not hold")
            for finding in findings
        ],
    )


def suite(name: str, cases: Sequence[Case], properties: Mapping[str, str] | None = None) -> bytes:
    """Return a test suite as XML; what XML cannot hold is replaced.

    Args:
        name: Its name.
        cases: Its test cases, in order.
        properties: What holds for all of it, by name.

    """
    count = {ending: str(sum(case.ending == ending for case in cases)) for ending in ("failure", "error", "skipped")}
    root = ElementTree.Element(
        "testsuite",
        name=_plain(name),
        tests=str(len(cases)),
        failures=count["failure"],
        errors=count["error"],
        skipped=count["skipped"],
    )
    if properties:
        listed = ElementTree.SubElement(root, "properties")
        for key, value in properties.items():
            ElementTree.SubElement(listed, "property", name=_plain(key), value=_plain(value))
    for case in cases:
        _add(root, case)
    ElementTree.indent(root)
    return bytes(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def _add(root: ElementTree.Element, case: Case) -> None:
    added = ElementTree.SubElement(root, "testcase", classname=_plain(case.place), name=_plain(case.name))
    text = _plain(case.text)
    if case.ending == "skipped":
        ElementTree.SubElement(added, "skipped", message=text)
    elif case.ending != "passed":
        ElementTree.SubElement(added, case.ending, message=text).text = text
    elif text:
        ElementTree.SubElement(added, "system-out").text = text


def _plain(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)

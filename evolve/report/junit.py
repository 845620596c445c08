"""Findings of an audit as JUnit XML, which every CI shows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree

from evolve.promote.findings import Finding

# What XML 1.0 cannot hold, whatever it is written as.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(findings: Sequence[Finding]) -> bytes:
    """Return one test suite: a test case a check, a failure where it does not hold."""
    faults = sum(not finding.holds for finding in findings)
    suite = ElementTree.Element(
        "testsuite", name="evolve audit", tests=str(len(findings)), failures=str(faults), errors="0", skipped="0"
    )
    for finding in findings:
        case = ElementTree.SubElement(suite, "testcase", classname=_plain(finding.file), name=_plain(finding.check))
        if not finding.holds:
            text = _plain(finding.detail or "does not hold")
            ElementTree.SubElement(case, "failure", message=text).text = text
    ElementTree.indent(suite)
    return bytes(ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True)) + b"\n"


def _plain(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)

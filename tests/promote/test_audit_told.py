"""What an audit tells beside its verdict: a story, JUnit, and what came after a revision."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.promote.findings import Finding
from evolve.report.junit import junit
from tests.conftest import CommandLine
from tests.promote.conftest import Measured
from tests.worlds import git


@pytest.fixture
def promoted(measured: Measured, evolve: CommandLine) -> Measured:
    assert evolve("promote", measured.overlay).code == 0
    return measured


def where(measured: Measured) -> str:
    return measured.folder.relative_to(measured.root).as_posix()


def test_the_story_says_what_changed_where_it_helped_how_sure_at_what_cost_and_whether_it_holds(
    promoted: Measured, evolve: CommandLine
) -> None:
    ran = evolve("audit", where(promoted), "--explain")
    assert ran.code == 0, ran.err
    sha = git(promoted.root, "rev-parse", "HEAD")
    assert ran.out.startswith(
        f"# bracket: promoted on {git(promoted.root, 'show', '-s', '--format=%cs')}, in commit {sha[:12]}"
    )
    for heading in ("What changed", "Where it helped, and where it hurt", "How sure", "At what cost", "Does it hold"):
        assert f"## {heading}" in ran.out
    assert "`demonstrate`: Shows 3 train tasks with the right reply." in ran.out
    assert "+User: Please return the number 101" in ran.out
    assert "- Better on 8: bracket-sealed-01 0/3 to 3/3;" in ran.out
    assert "would come up about once in 256 looks" in ran.out
    assert "all hold." in ran.out
    assert len(ran.out.splitlines()) < 100


def test_the_story_of_what_was_not_promoted_says_so(measured: Measured, evolve: CommandLine) -> None:
    ran = evolve("audit", where(measured), "--explain")
    assert ran.out.startswith("# bracket: proven, and not promoted here")


def test_the_story_names_the_faults_and_the_code_is_4(promoted: Measured, evolve: CommandLine) -> None:
    path = promoted.folder / "attestation.json"
    path.write_bytes(path.read_bytes().replace(b"payload", b"Payload", 1))
    ran = evolve("audit", where(promoted), "--explain")
    assert ran.code == 4
    assert "do not hold" in ran.out and "attestation.json: attestation" in ran.out


def test_a_story_that_cannot_be_read_is_no_traceback(promoted: Measured, evolve: CommandLine) -> None:
    (promoted.folder / "promotion.json").write_text("{")
    ran = evolve("audit", where(promoted), "--explain")
    assert ran.code == 4
    assert "the story cannot be told" in ran.out


def test_a_story_is_of_one_promotion(measured: Measured, evolve: CommandLine) -> None:
    ran = evolve("audit", "--explain")
    assert ran.code == 2
    assert "evolve audit PROMOTION --explain" in ran.err


def test_what_came_after_a_revision_is_checked_and_what_came_before_is_not(
    promoted: Measured, evolve: CommandLine
) -> None:
    path = promoted.folder / "rows.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"run":0', b'"run":7', 1))
    assert evolve("audit", "--since", "HEAD^").code == 4
    assert evolve("audit", "--since", "HEAD").code == 0
    unknown = evolve("audit", "--since", "no-such")
    assert unknown.code == 2
    assert "no revision 'no-such'" in unknown.err
    assert evolve("audit", "--since=--all").code == 2
    assert evolve("audit", "--since", "HEAD", "--all").code == 2


def test_evidence_that_a_recent_commit_names_and_that_is_gone_is_a_fault(
    promoted: Measured, evolve: CommandLine
) -> None:
    (promoted.folder / "promotion.json").unlink()
    ran = evolve("audit", "--since", "HEAD^")
    assert ran.code == 4
    assert "a commit names it, and it is gone" in ran.out


def test_junit_has_a_case_a_check_and_a_failure_a_fault(
    promoted: Measured, evolve: CommandLine, tmp_path: Path
) -> None:
    file = tmp_path / "audit.xml"
    assert evolve("audit", "--all", "--junit", str(file)).code == 0
    suite = ElementTree.fromstring(file.read_bytes())
    assert int(suite.attrib["tests"]) == len(suite.findall("testcase")) > 40
    assert suite.attrib["failures"] == "0"
    path = promoted.folder / "rows.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"run":0', b'"run":7', 1))
    assert evolve("audit", "--all", "--junit", str(file)).code == 4
    suite = ElementTree.fromstring(file.read_bytes())
    failures = suite.findall("testcase/failure")
    assert len(failures) == int(suite.attrib["failures"]) > 0
    assert any(
        "row digest" in case.attrib["name"] for case in suite.findall("testcase") if case.find("failure") is not None
    )


@given(st.text(), st.text(), st.text())
def test_junit_is_xml_whatever_is_found(file: str, check: str, detail: str) -> None:
    suite = ElementTree.fromstring(junit([Finding(file, check, False, detail), Finding(file, check, True)]))
    assert len(suite.findall("testcase")) == 2
    assert len(suite.findall("testcase/failure")) == 1


def test_the_audit_begins_with_a_table_that_has_a_line_for_each_evidence(
    measured: Measured, evolve: CommandLine
) -> None:
    name = measured.folder.relative_to(measured.root / "promotion").as_posix()
    first, second, blank, *_ = evolve("audit", "--all").out.splitlines()
    assert first.split() == ["evidence", "decision", "look", "signed", "by", "commit", "checks", "faults"]
    assert (second.split()[:4], second.split()[-1], blank) == ([name, "promote", "1", "nobody"], "none", "")
    assert "not promoted" in second
    assert evolve("promote", measured.overlay).code == 0
    commit = git(measured.root, "rev-parse", "HEAD")
    assert commit[:12] in evolve("audit", "--all").out.splitlines()[1]
    assert evolve("rollback", "bracket", "--reason", "No").code == 0
    (measured.folder / "overlay/skills/bracket/SKILL.md").write_text("x")
    first, line, *_ = evolve("audit", "--all").out.splitlines()
    assert ("rolled back 20" in line, line.split()[-1] != "none") == (True, True)
    assert first.index("faults") == line.rindex(line.split()[-1]), "columns are aligned"
    assert evolve("audit", "--all", "--json").json()[0]["check"].startswith("chain of ")

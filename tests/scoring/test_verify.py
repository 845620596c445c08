"""Grading a submission."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest

from evolve.records.kinds import Split
from evolve.sandbox.base import Completed, Job
from evolve.sandbox.host import Host
from evolve.scoring.submission import Submission
from evolve.scoring.verify import Said, judge, verify, verify_and_tell
from tests.builders import equals_check, make_task

COMMAND: dict[str, Any] = {"id": "run", "rule": "r", "kind": "command", "argv": ["{python}", "-I", "{oracle}/check.py"]}
EVERY_KIND: list[tuple[dict[str, Any], str]] = [
    ({"kind": "json-object", "keys": ["a"]}, '{"a": 1}'),
    ({"kind": "json-value", "key": "a", "any_of": [1]}, '{"a": 1}'),
    ({"kind": "line", "max_chars": 9}, "one line"),
    ({"kind": "equals", "any_of": ["yes"]}, "yes"),
    ({"kind": "code-block", "language": "python"}, "```python\nx\n```"),
    ({"kind": "python-calls", "function": "f", "calls": [{"args": [], "returns": 1}]}, "def f(): return 1"),
    ({"kind": "ini-options", "file": "a.ini", "options": {"s.o": "1"}}, ""),
    ({"kind": "command", "argv": ["/bin/sh", "-c", "test -e a.ini"]}, ""),
]


@pytest.mark.parametrize(
    ("check", "reply"), EVERY_KIND, ids=lambda value: value["kind"] if isinstance(value, dict) else ""
)
def test_every_kind_of_check_passes_what_is_right_and_fails_what_is_not(
    tmp_path: Path, check: dict[str, Any], reply: str
) -> None:
    task = make_task(checks=[{"id": "c", "rule": "r", **check}])
    assert not judge(task, Submission("wrong\nreply {", tmp_path), Host()).passed
    (tmp_path / "a.ini").write_text("[s]\no = 1\n", encoding="utf-8")
    assert judge(task, Submission(reply, tmp_path), Host()).passed


@pytest.mark.parametrize("split", Split)
def test_the_check_that_failed_is_told_for_train_tasks_only(tmp_path: Path, split: Split) -> None:
    checks = [equals_check("yes", "no", identifier="first"), equals_check("yes", identifier="second")]
    task = make_task(split=split, checks=checks, verify=[{**checks[1], "id": "public"}])
    submission = Submission("no", tmp_path)
    judged, verified = judge(task, submission, Host()), verify(task, submission, Host())
    assert (judged.passed, judged.score, verified.passed, verified.score) == (False, 0.5, False, 0)
    told = (judged.failed_check, verified.failed_check)
    assert told == (("second", "public") if split is Split.TRAIN else (None, None))


@pytest.mark.parametrize("split", Split)
def test_what_public_checks_say_is_told_for_train_tasks_only(tmp_path: Path, split: Split) -> None:
    loud = {"id": "loud", "rule": "r", "kind": "command", "argv": ["/bin/sh", "-c", "echo heard; exit 3"]}
    task = make_task(split=split, verify=[equals_check("yes", identifier="word"), loud])
    outcome, said = verify_and_tell(task, Submission("yes", tmp_path), Host())
    assert outcome == verify(task, Submission("yes", tmp_path), Host())
    told = (Said("word", True, ""), Said("loud", False, "exit 3: heard\n"))
    assert said == (told if split is Split.TRAIN else ())


def test_a_task_without_public_checks_is_verified(tmp_path: Path) -> None:
    outcome = verify(make_task(), Submission("anything", tmp_path), Host())
    assert (outcome.passed, outcome.score, outcome.failed_check) == (True, 1, None)


class Watching(Host):
    def __init__(self) -> None:
        self.staged: list[dict[str, str]] = []
        self.folders: list[Path] = []

    def run(self, job: Job) -> Completed:
        for folder in job.mounts.values():
            self.folders.append(folder)
            self.staged.append({p.name: p.read_text(encoding="utf-8") for p in folder.iterdir()})
        return super().run(job)


def test_the_oracle_is_staged_for_the_judgement_alone_and_removed(tmp_path: Path) -> None:
    task = make_task(checks=[COMMAND], oracle_files={"check.py": "raise SystemExit(0)"})
    sandbox = Watching()
    assert judge(task, Submission("", tmp_path), sandbox).passed
    assert sandbox.staged == [{"check.py": "raise SystemExit(0)"}]
    assert not sandbox.folders[0].exists()
    assert not sandbox.folders[0].is_relative_to(tmp_path)
    judge(task, Submission("", tmp_path), sandbox)
    assert sandbox.folders[1] != sandbox.folders[0]


def test_public_checks_never_see_the_oracle(tmp_path: Path) -> None:
    task = make_task(verify=[COMMAND], oracle_files={"check.py": "raise SystemExit(0)"})
    sandbox = Watching()
    assert not verify(task, Submission("", tmp_path), sandbox).passed
    assert sandbox.staged == []


def test_nothing_is_staged_for_an_oracle_that_only_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = make_task(oracle_files={"notes.md": "hidden"})
    monkeypatch.setattr(tempfile, "mkdtemp", lambda **_: pytest.fail("a folder was made"))
    assert judge(task, Submission("yes", tmp_path), Host()).passed


def test_what_an_oracle_prints_is_not_kept(tmp_path: Path) -> None:
    task = make_task(checks=[COMMAND], oracle_files={"check.py": "print('expected: 42'); raise SystemExit(1)"})
    outcome = judge(task, Submission("", tmp_path), Host())
    assert "42" not in outcome.model_dump_json()

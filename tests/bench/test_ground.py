"""Cells of tasks that begin with a repository, a setup, dependencies, or a change under review."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from evolve.agents.base import Session, SessionEnd
from evolve.bench.measure import Bench
from evolve.bench.plan import Group
from evolve.bench.runner import RunOptions, SweepResult
from evolve.cli.progress import LineProgress
from evolve.corpus.loading import load_corpus
from evolve.errors import InputError
from evolve.records.kinds import ErrorKind, Split
from evolve.records.row import Row, Usage
from evolve.records.task import Limits, Task
from evolve.report.cell.kept import kept_of
from evolve.report.cell.view import cell_view
from evolve.sandbox.choose import choose_sandbox
from evolve.workspace import find_workspace
from tests.builders import write_files
from tests.conftest import CommandLine
from tests.sandbox.test_bubblewrap import REASON, WORKS
from tests.worlds import ScriptedModel, git

pytestmark = pytest.mark.skipif(not WORKS, reason=REASON)

Work = Callable[[Session], str]
PASSES = {"id": "ran", "kind": "command", "argv": ["/bin/sh", "-c", "test -f done.txt"], "rule": "Do it."}


class Worker:
    """Works as it is told to, and remembers its sessions."""

    def __init__(self, work: Work, *, only_reads: bool = False) -> None:
        self._work = work
        self.only_reads = only_reads
        self.sessions: list[Session] = []

    @property
    def identity(self) -> dict[str, Any]:
        return {"adapter": "worker", "repeatable": False}

    def run(self, session: Session) -> SessionEnd:
        if session.warm_up:
            return SessionEnd("ready", Usage())
        self.sessions.append(session)
        return SessionEnd(self._work(session), Usage(cost_usd_micros=1))

    def unfit_for(self, task: Task) -> str | None:
        return None

    def worst_cost_micros(self, limits: Limits, prompt_bytes: int) -> int | None:
        return 1

    def close(self) -> None:
        return


def add_task(root: Path, name: str, files: dict[str, str | bytes] | None = None, **fields: Any) -> str:
    """Write a train task of the workspace's skill."""
    check = fields.pop("check", PASSES)
    value = {
        "schema": "evolve/task@1",
        "id": name,
        "split": "train",
        "skills": ["bracket"],
        "prompt": f"Do {name}.",
        **fields,
    }
    oracle = {"schema": "evolve/oracle@1", "checks": [check]}
    good = {"reference/good/done.txt": "done\n", "reference/bad/undone.txt": "no\n"}
    if value["kind"] == "review":
        clean = json.dumps({"verdict": "approve", "findings": []})
        blunt = json.dumps({"verdict": "request_changes", "findings": []})
        good = {"reference/good/answer.md": clean, "reference/bad/answer.md": blunt}
    content = {
        "task.yaml": yaml.safe_dump(value),
        "oracle/oracle.yaml": yaml.safe_dump(oracle),
        **good,
        **(files or {}),
    }
    write_files(root / "corpus" / name, content)
    return name


def measure(root: Path, agent: Worker, *names: str, runs: int = 1) -> SweepResult:
    workspace = find_workspace(root)
    corpus = load_corpus(workspace.corpus)
    bench = Bench(workspace, corpus, workspace.policy(), agent, choose_sandbox(), LineProgress(), RunOptions())
    tasks = tuple(task for task in corpus.of("bracket", Split.TRAIN) if task.id in names)
    arm = bench.arms.incumbent(workspace.skill("bracket"))
    return bench.measure("train", f"only-reads-{agent.only_reads}", (Group((arm,), tasks),), runs, reuse=False)


def rows(result: SweepResult) -> list[Row]:
    for row in result.rows:
        assert row.kind not in (ErrorKind.INFRA_ERROR, ErrorKind.SESSION_ERROR), row.detail
    return list(result.rows)


def finish(session: Session) -> str:
    (session.work / "done.txt").write_text("done\n")
    return "done"


def call(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def head(workspace: Path) -> str:
    (workspace / "app.py").write_text("x = 1\n")
    git(workspace, "add", "--all")
    git(workspace, "commit", "--quiet", "--message", "An application")
    return git(workspace, "rev-parse", "HEAD")


def test_a_repository_is_given_without_history_tasks_evidence_or_skills(workspace: Path, head: str) -> None:
    add_task(workspace, "repo", kind="edit", repository={"path": ".", "commit": head})
    seen: list[tuple[list[str], str, str]] = []

    def work(session: Session) -> str:
        names = sorted(path.name for path in session.work.iterdir())
        seen.append((names, call(session.work, "log", "--format=%s"), call(session.work, "status", "--porcelain")))
        return finish(session)

    agent = Worker(work)
    first = rows(measure(workspace, agent, "repo", runs=2))
    assert [row.resolved for row in first] == [True, True]
    assert seen[0] == ([".git", ".gitignore", "app.py", "evolve.yaml"], "Initial state", "")
    assert first[0].identity.beginning_sha256 is not None
    assert not agent.sessions[0].work.exists()
    templates = [path for path in (workspace / "results/.beginnings").iterdir() if (path / "seal").exists()]
    assert len(templates) == 1
    (templates[0] / "tree/app.py").write_text("x = 'poisoned'\n")
    agent = Worker(lambda session: finish(session) + (session.work / "app.py").read_text())
    measure(workspace, agent, "repo")
    assert (templates[0] / "tree/app.py").read_text() == "x = 1\n", "what was changed is made anew"


def test_work_that_touches_git_alone_is_no_work(workspace: Path, head: str) -> None:
    add_task(workspace, "repo", kind="edit", repository={"path": ".", "commit": head})

    def work(session: Session) -> str:
        git(session.work, "commit", "--quiet", "--allow-empty", "--message", "nothing")
        return finish(session)

    row = rows(measure(workspace, Worker(work), "repo"))[0]
    assert row.resolved


@pytest.mark.parametrize(
    ("repository", "said"),
    [
        ({"path": ".", "commit": "0" * 40}, "has no commit 000000000000"),
        ({"path": "gone", "commit": "0" * 40}, "no git repository"),
        ({"url": "file:///nowhere/at/all", "commit": "0" * 40}, "cannot be fetched"),
    ],
)
def test_a_repository_that_is_not_there_blocks_the_sweep_before_it_begins(
    workspace: Path, evolve: CommandLine, model: ScriptedModel, repository: dict[str, str], said: str
) -> None:
    add_task(workspace, "repo", kind="edit", repository=repository)
    ran = evolve("check")
    assert said in ran.out + ran.err
    assert ran.code in (1, 2)
    assert not model.requests


def test_a_repository_is_fetched_once_and_only_what_is_wanted(workspace: Path, head: str, tmp_path: Path) -> None:
    bundle = tmp_path / "app.bundle"
    git(workspace, "bundle", "create", "--quiet", str(bundle), "HEAD")
    add_task(workspace, "from-bundle", kind="edit", repository={"path": str(bundle), "commit": head})
    add_task(workspace, "from-url", kind="edit", repository={"url": f"file://{workspace}", "commit": head})
    result = rows(measure(workspace, Worker(finish), "from-bundle", "from-url"))
    assert [row.resolved for row in result] == [True, True]
    assert len({row.identity.beginning_sha256 for row in result}) == 1


def test_setup_runs_once_contained_and_before_the_agent(workspace: Path, head: str) -> None:
    script = "import os, socket\nopen('built.txt', 'a').write('built ')\nprint(sorted(os.listdir('/box')))"
    setup = [{"argv": ["python3", "-c", script]}, {"argv": ["/bin/sh", "-c", "test -f built.txt"]}]
    add_task(workspace, "built", {"seed/in.txt": "x"}, kind="edit", setup=setup)
    agent = Worker(lambda session: finish(session) + (session.work / "built.txt").read_text())
    found = rows(measure(workspace, agent, "built", runs=3))
    assert [row.resolved for row in found] == [True] * 3
    assert {(workspace / "results/sweeps" / found[0].arm).exists() for _ in found} == {False}
    tree = next(path for path in (workspace / "results/.beginnings").glob("*/tree"))
    assert (tree / "built.txt").read_text() == "built "


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["/bin/sh", "-c", "echo no compiler >&2; exit 3"], "exit 3: no compiler"),
        (["python3", "-c", "import socket; socket.create_connection(('192.0.2.1', 80), 2)"], "exit 1"),
        (["/bin/sh", "-c", "echo x > /etc/x"], "exit 2"),
    ],
)
def test_a_setup_that_fails_is_a_broken_instrument(
    workspace: Path, evolve: CommandLine, model: ScriptedModel, command: list[str], said: str
) -> None:
    add_task(workspace, "built", {"seed/in.txt": "x"}, kind="edit", setup=[{"argv": command}])
    ran = evolve("check")
    assert (ran.code, "FAULT  built: task built: setup: " in ran.out) == (2, True), ran.out
    assert said in ran.out
    assert evolve("measure", "--skill", "bracket").code == 2
    assert not model.requests


def test_dependencies_are_mounted_read_only_for_agent_and_graders_and_named_by_content(workspace: Path) -> None:
    write_files(workspace / "deps/venv", {"lib/a.py": "VALUE = 7\n", "cache/seen.txt": "old\n"})
    reads = {**PASSES, "argv": ["/bin/sh", "-c", "test -f done.txt && grep -q 7 .venv/lib/a.py && ! touch .venv/x"]}
    dependency = {"path": ".venv", "source": "deps/venv", "caches": ["cache"]}
    files: dict[str, str | bytes] = {"seed/in.txt": "x"}
    add_task(workspace, "needs", files, kind="edit", check=reads, dependencies=[dependency])
    agent = Worker(finish)
    first = rows(measure(workspace, agent, "needs"))[0]
    assert first.resolved, first.kind
    session = agent.sessions[0]
    assert (session.read_only[".venv"] / "lib/a.py").read_text() == "VALUE = 7\n"
    assert set(session.writable) == {".venv/cache"}
    (workspace / "deps/venv/lib/a.py").write_text("VALUE = 17\n")
    second = rows(measure(workspace, Worker(finish), "needs"))[0]
    assert second.identity.beginning_sha256 != first.identity.beginning_sha256


def test_a_dependency_that_is_not_there_is_said(workspace: Path) -> None:
    dependency = {"path": ".venv", "source": "deps/gone"}
    add_task(workspace, "needs", {"seed/in.txt": "x"}, kind="edit", dependencies=[dependency])
    with pytest.raises(InputError, match=r"task needs: dependencies: 'deps/gone': no such folder"):
        measure(workspace, Worker(finish), "needs")


def test_what_public_checks_said_is_kept_of_train_tasks_without_secrets(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-a-secret-of-mine")
    says = ["/bin/sh", "-c", "echo looked sk-a-secret-of-mine; echo '<b>' >&2; test -f done.txt"]
    loud, quiet = {**PASSES, "id": "loud", "argv": says}, {**PASSES, "id": "quiet"}
    add_task(workspace, "told", {"seed/in.txt": "x"}, kind="edit", verify=[quiet, loud], check=loud)
    result = measure(workspace, Worker(finish), "told")
    sweep = next(path.parent for path in (workspace / "results/sweeps").glob("*/checks"))
    row = rows(result)[0]
    said = kept_of([sweep], row, "worker", None).said
    assert [(one.check, one.passed) for one in said] == [("quiet", True), ("loud", True)]
    assert said[1].output.startswith("exit 0: looked [redacted]\n<b>")
    assert len(list((sweep / "checks").iterdir())) == 1, "what the oracle said is kept nowhere"
    view = cell_view(row, kept_of([sweep], row, "worker", None))
    assert view.said == said


PATCH = b"--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"
CLEAN = {"id": "clean", "kind": "review", "labels": [], "rule": "Leave a good change be."}


def test_a_change_under_review_is_seen_and_its_work_is_shared_by_those_who_only_read(
    workspace: Path, evolve: CommandLine
) -> None:
    add_task(workspace, "look", {"seed/a.py": "x = 1\n", "change.patch": PATCH}, kind="review", check=CLEAN)
    approve = json.dumps({"verdict": "approve", "findings": []})

    def work(session: Session) -> str:
        assert "+x = 2" in call(session.work, "diff")
        assert session.patch == PATCH.decode()
        return approve

    for only_reads in (False, True):
        agent = Worker(work, only_reads=only_reads)
        found = rows(measure(workspace, agent, "look", runs=2))
        assert [row.resolved for row in found] == [True, True]
        assert found[0].oracle is not None and found[0].oracle.review is not None
        assert found[0].oracle.review.clean_pass is True
        works = {session.work for session in agent.sessions}
        assert (len(works), agent.sessions[0].shared) == ((1, True) if only_reads else (2, False))
        agent.sessions.clear()
    assert evolve("check").code == 0
    assert evolve("rehearse").code == 0


def test_a_chat_model_reviews_what_it_is_shown(workspace: Path, evolve: CommandLine, model: ScriptedModel) -> None:
    add_task(workspace, "look", {"seed/a.py": "x = 1\n", "change.patch": PATCH}, kind="review", check=CLEAN)
    model.answer = lambda system, user, seed: json.dumps({"verdict": "approve", "findings": []})
    ran = evolve("measure", "--skill", "bracket", "--json")
    assert ran.json()["arms"]["incumbent"]["resolved"] == 1
    asked = next(r.messages[-1].content for r in model.requests if "Do look." in r.messages[-1].content)
    assert "a.py:\n```py\nx = 2\n```" in asked
    assert "which is applied already:\n```diff\n--- a/a.py" in asked
    assert ".git" not in asked


def test_a_chat_model_is_given_no_repository(
    workspace: Path, head: str, evolve: CommandLine, model: ScriptedModel
) -> None:
    add_task(workspace, "repo", kind="edit", repository={"path": ".", "commit": head})
    ran = evolve("measure", "--skill", "bracket")
    assert (ran.code, "task repo: it begins with a repository" in ran.err) == (2, True)
    assert not model.requests


def test_expensive_tasks_are_left_out_unless_they_are_asked_for(
    workspace: Path, evolve: CommandLine, model: ScriptedModel
) -> None:
    path = workspace / "corpus/bracket-train-01/task.yaml"
    path.write_text(path.read_text() + "expensive: true\n")
    ran = evolve("measure", "--skill", "bracket", "--json")
    assert ran.json()["arms"]["incumbent"]["cells"] == 2
    assert "left out because they are expensive" in evolve("measure", "--skill", "bracket").out
    assert "bracket-train-01" in evolve("report", ran.json()["sweep"]).out
    every = evolve("measure", "--skill", "bracket", "--include-expensive", "--json")
    assert every.json()["arms"]["incumbent"]["cells"] == 3
    assert "1 expensive tasks left out: --include-expensive takes them" in evolve("check").out
    assert "14 tasks, 0 faults" in evolve("check", "--include-expensive").out


def test_what_an_edit_of_a_train_task_changed_is_kept_redacted_and_of_a_hidden_task_nothing(
    workspace: Path, head: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-very-secret-value-1234567890")
    for name, split in (("repo", "train"), ("hidden", "selection")):
        add_task(workspace, name, kind="edit", repository={"path": ".", "commit": head}, split=split)

    def work(session: Session) -> str:
        (session.work / "app.py").write_text("x = 'sk-very-secret-value-1234567890'\n")
        return finish(session)

    measure(workspace, Worker(work), "repo")
    [kept] = (workspace / "results/sweeps").glob("*/patches/*.diff")
    text = kept.read_text()
    assert "--- a/app.py\n+++ b/app.py\n" in text and "+done" in text
    assert "sk-very-secret" not in text

    found = find_workspace(workspace)
    corpus = load_corpus(found.corpus)
    bench = Bench(found, corpus, found.policy(), Worker(work), choose_sandbox(), LineProgress(), RunOptions())
    group = Group((bench.arms.incumbent(found.skill("bracket")),), (corpus.get("hidden"),))
    result = bench.measure("selection", "hidden", (group,), 1, reuse=False)
    assert [row.delivered is not None for row in result.rows] == [True]
    assert not list(result.folder.glob("patches/*"))

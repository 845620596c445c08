"""The workspace that this repository ships."""

from __future__ import annotations

import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from evolve.corpus.clone import Recipe, build_clean
from evolve.corpus.loading import Corpus, LoadedTask, load_corpus
from evolve.corpus.selftest import check_corpus, split_counts
from evolve.records.checks import CommandCheck, ReviewCheck
from evolve.records.review import Finding, Review
from evolve.sandbox.base import Sandbox
from evolve.sandbox.choose import choose_sandbox
from evolve.scoring.review import read_review, score_review
from evolve.scoring.submission import Submission
from evolve.scoring.verify import all_verdicts
from evolve.snapshot import FileEntry, Snapshot
from evolve.workspace import find_workspace
from tests.conftest import CommandLine
from tests.worlds import ScriptedModel, git

ROOT = Path(__file__).parents[1]
WORKSPACE = find_workspace(ROOT)
PROVEN = ["bug-triage", "commit-line", "ini-edit", "purchase-json", "python-function", "value-format"]
TRIED = ["careful-edits", "code-review"]

# For each trap: the file of the good reference, and how the fix that makes it safe is undone.
UNDONE: dict[str, list[tuple[str, str, str]]] = {
    "careful-edits-train-01": [
        ("mailer/mail.py", 'event.get("shipping") or {}', 'event.get("shipping", {})'),
        ("mailer/mail.py", 'shipping.get("address") or {}', 'shipping.get("address", {})'),
        ("mailer/mail.py", ' if place]\n    return [f"Deliver', ']\n    return [f"Deliver'),
    ],
    "careful-edits-selection-01": [
        ("stockin/parsing.py", "except InvalidOperation as", "except OverflowError as"),
        ("stockin/parsing.py", "not price.is_finite() or ", ""),
    ],
    "careful-edits-sealed-01": [
        ("filesrv/store.py", "not path.is_relative_to(root)", '".." in name.split("/")'),
        ("filesrv/store.py", "not path.is_relative_to(root)", "not str(path).startswith(str(root))"),
        ("filesrv/store.py", "not path.is_relative_to(root)", "False"),
    ],
    "careful-edits-sealed-02": [
        ("tickets/queries.py", "if order_by not in SORTABLE", "if not order_by"),
        ("tickets/queries.py", 'instr(lower(title), lower(?)) > 0", [text]', 'title LIKE \'%" + text + "%\'", []'),
        ("tickets/queries.py", '" AND status = ?"\n        values.append(status)', "f\" AND status = '{status}'\""),
    ],
    "careful-edits-sealed-03": [("shop/money.py", "{sign}{whole}.", "{sign}{whole:,}.")],
    "careful-edits-sealed-04": [
        ("quotes/service.py", "self._admit(partner)", 'self._admit("")'),
        ("quotes/service.py", "return 401", 'self._admit("Ann\'s Café")\n            return 401'),
    ],
}
PLANTED = {
    "conftest.py": "import os\nos._exit(0)\n",
    "sitecustomize.py": "import os\nos._exit(0)\n",
    "usercustomize.py": "import os\nos._exit(0)\n",
    "json.py": "import os\nos._exit(0)\n",
    "sqlite3.py": "import os\nos._exit(0)\n",
    "subprocess.py": "import os\nos._exit(0)\n",
    "harness.py": "def run(cases): raise SystemExit(0)\nreturns = returned = lacks = lambda value: None\n",
    "probes.py": "import os\nos._exit(0)\n",
}


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return load_corpus(WORKSPACE.corpus)


@pytest.fixture(scope="module")
def sandbox() -> Sandbox:
    return choose_sandbox()


def failed_axes(task: LoadedTask, sandbox: Sandbox, folder: Path, *layers: Snapshot) -> set[str]:
    """Grade files that are laid over each other, and return the axes on which they fail."""
    folder.mkdir()
    for layer in layers:
        layer.write_scratch(folder)
    verdicts = all_verdicts(task, Submission(reply="", folder=folder), sandbox)
    return {verdict.check.axis for verdict in verdicts if not verdict.passed}


def edited(files: Snapshot, path: str, old: str, new: str) -> Snapshot:
    """Return files of which one has another text in the place of one that stands there once."""
    text = files.text(path)
    assert text.count(old) == 1, f"{path}: {old!r}"
    entry = FileEntry(text.replace(old, new).encode())
    return replace(files, files={**files.files, path: entry})


def test_every_instrument_is_good(corpus: Corpus, sandbox: Sandbox) -> None:
    assert check_corpus(corpus, WORKSPACE.skills(), sandbox) == []


def test_the_skills_are_those_that_can_be_proven_and_those_that_are_only_tried() -> None:
    assert sorted(WORKSPACE.skills()) == sorted(PROVEN + TRIED)


@pytest.mark.parametrize("skill", PROVEN)
def test_every_skill_of_the_embedded_model_has_tasks_enough_to_be_proven(corpus: Corpus, skill: str) -> None:
    counts = split_counts(corpus, skill)
    assert counts["train"] >= 5
    assert counts["selection"] >= 5
    assert counts["sealed"] >= 10


def test_there_are_tasks_enough_in_all(corpus: Corpus) -> None:
    assert len(corpus.tasks) >= 120


@pytest.mark.parametrize("skill", TRIED)
def test_every_other_skill_has_tasks_of_each_split(corpus: Corpus, skill: str) -> None:
    counts = split_counts(corpus, skill)
    assert counts["train"] >= 1
    assert counts["selection"] >= 1
    assert counts["sealed"] >= 2


def test_the_traps_ask_for_right_and_for_safe_work(corpus: Corpus) -> None:
    traps = [task for task in corpus.tasks if "careful-edits" in task.task.skills]
    assert len(traps) >= 6
    assert {task.id for task in traps} == set(UNDONE)
    for task in traps:
        assert (task.task.kind, task.task.bad_fails) == ("edit", "safe")
        commands = [check for check in task.oracle.checks if isinstance(check, CommandCheck)]
        assert {check.axis for check in commands} == {"correct", "safe"}, task.id


def test_the_traps_are_judged_in_one_way(corpus: Corpus) -> None:
    harnesses = {corpus.get(identifier).oracle_files.text("harness.py") for identifier in UNDONE}
    assert len(harnesses) == 1


@pytest.mark.parametrize("identifier", UNDONE)
def test_a_good_reference_whose_safety_is_undone_fails(
    corpus: Corpus, sandbox: Sandbox, tmp_path: Path, identifier: str
) -> None:
    task = corpus.get(identifier)
    for number, (path, old, new) in enumerate(UNDONE[identifier]):
        mutant = edited(task.good, path, old, new)
        assert failed_axes(task, sandbox, tmp_path / str(number), task.seed, mutant) == {"safe"}, new


@pytest.mark.parametrize("identifier", UNDONE)
def test_planted_modules_and_an_early_end_deceive_no_check(
    corpus: Corpus, sandbox: Sandbox, tmp_path: Path, identifier: str
) -> None:
    task, planted = corpus.get(identifier), Snapshot.of_texts(PLANTED)
    assert failed_axes(task, sandbox, tmp_path / "good", task.seed, task.good, planted) == set()
    assert failed_axes(task, sandbox, tmp_path / "bad", task.seed, task.bad, planted) == {"safe"}
    assert "correct" in failed_axes(task, sandbox, tmp_path / "seed", task.seed, planted)
    for number, end in enumerate(("import os\nos._exit(0)\n", "raise SystemExit(0)\n", 'print("[]")\nexit(0)\n')):
        ending = Snapshot.of_texts({path: end for path, _ in task.seed.texts() if path.endswith(".py")})
        assert failed_axes(task, sandbox, tmp_path / str(number), task.seed, ending) == {"correct", "safe"}, end


def reviews(corpus: Corpus) -> list[tuple[LoadedTask, ReviewCheck]]:
    """Return the review tasks with what their reviews are scored against."""
    found = []
    for task in corpus.tasks:
        if task.task.kind == "review":
            (check,) = task.oracle.checks
            assert isinstance(check, ReviewCheck)
            found.append((task, check))
    return found


def test_changes_under_review_have_faults_or_are_clean_controls(corpus: Corpus) -> None:
    found = reviews(corpus)
    assert len(found) >= 4
    assert sum(not check.labels for _, check in found) >= 2
    assert sum(bool(check.labels) for _, check in found) >= 2
    assert {skill for task, _ in found for skill in task.task.skills} == {"code-review"}


def test_changes_under_review_apply_and_their_labels_lie_in_the_files_after_them(
    corpus: Corpus, tmp_path: Path
) -> None:
    for task, check in reviews(corpus):
        build_clean(Recipe(seed=task.seed, patch=task.patch), tmp_path / task.id)
        changed = [line[6:] for line in task.patch.decode().splitlines() if line.startswith("+++ b/")]
        for label in check.labels:
            assert label.path in changed, task.id
            assert label.last <= len((tmp_path / task.id / label.path).read_text().splitlines()), task.id
            assert label.category in task.task.prompt, task.id
        text_of = partial(read_at, tmp_path / task.id)
        good = score_review(read_review(task.good.text("answer.md")), check, text_of)
        assert good.figures.grounded in (None, 1.0), task.id


def read_at(folder: Path, path: str) -> str:
    """Return a file of the work under review."""
    return (folder / path).read_text()


def test_a_prompt_of_a_review_names_every_field_of_the_document(corpus: Corpus) -> None:
    fields = {*Review.model_fields, *Finding.model_fields}
    for task, _ in reviews(corpus):
        assert [field for field in fields if f'"{field}": ' not in task.task.prompt] == [], task.id
        explained = task.task.prompt.replace("path, line, end_line: ", "path: line: end_line: ")
        assert [field for field in fields if f"{field}: " not in explained] == [], task.id


def test_a_review_that_says_nothing_or_too_much_fails(corpus: Corpus) -> None:
    for task, check in reviews(corpus):
        good = read_review(task.good.text("answer.md"))
        silent = good.model_copy(update={"findings": (), "verdict": "approve"})
        assert score_review(silent, check, lambda _: None).passed is not bool(check.labels), task.id
        demanding = good.model_copy(update={"verdict": "request_changes"})
        assert score_review(demanding, check, lambda _: None).passed is bool(check.labels), task.id


def test_a_generation_leaves_out_what_it_could_not_prove(
    tmp_path: Path, model: ScriptedModel, evolve: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = ("purchase-json", *TRIED)
    for name in ("evolve.yaml", "promotion/policy.yaml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    for skill in kept:
        shutil.copytree(ROOT / "skills" / skill, tmp_path / "skills" / skill)
        for folder in (ROOT / "corpus").glob(f"{skill}-*"):
            shutil.copytree(folder, tmp_path / "corpus" / folder.name)
    (tmp_path / ".gitignore").write_text("/results/\n")
    git(tmp_path, "init", "--quiet", "--initial-branch", "main")
    git(tmp_path, "add", "--all")
    git(tmp_path, "commit", "--quiet", "--message", "Start")
    monkeypatch.chdir(tmp_path)
    ran = evolve("generation")
    assert ran.code == 0, ran.err
    assert "skill: purchase-json" in ran.err
    for skill in TRIED:
        assert f"skill {skill} is left out: " in ran.err
    asked = "\n".join(message.content for request in model.requests for message in request.messages)
    assert asked
    for task in load_corpus(tmp_path / "corpus").tasks:
        assert "purchase-json" in task.task.skills or task.task.prompt not in asked


def test_the_rules_of_train_tasks_give_no_answer_away(corpus: Corpus) -> None:
    for task in corpus.tasks:
        for check in task.oracle.checks:
            for value in getattr(check, "any_of", ()):
                assert len(str(value)) < 4 or str(value).casefold() not in check.rule.casefold(), task.id


def test_the_policy_is_the_one_that_the_readme_speaks_of() -> None:
    policy = WORKSPACE.policy()
    assert (policy.min_runs, policy.min_improvement_pct, policy.max_task_regression_pct) == (3, 5, 20)

"""What an operator may see."""

from __future__ import annotations

from pathlib import Path

import pytest

from evolve.errors import InputError
from evolve.propose.evidence import TrainEvidence, failed_rule, train_evidence, worked_example
from evolve.records.kinds import ErrorKind, Split
from evolve.records.row import CheckOutcome, Row
from tests.builders import equals_check, make_corpus, make_row, make_task, write_files

PUBLIC = {**equals_check(identifier="public"), "rule": "The public rule."}
HIDDEN = {**equals_check(identifier="hidden"), "rule": "The hidden rule."}
TASK = make_task("t-1", verify=[PUBLIC], checks=[HIDDEN])
CORPUS = make_corpus(TASK, make_task("t-2"), make_task("s-1", split=Split.SEALED), make_task("x-1", skills=["other"]))


def row_of(task: str = "t-1", split: Split = Split.TRAIN, **fields: object) -> Row:
    return make_row(task, **{"split": split, "kind": ErrorKind.ORACLE_FAILED, **fields})  # type: ignore[arg-type]


def test_failed_train_rows_become_failures_with_reply_answer_and_rule(tmp_path: Path) -> None:
    digest = "ab" * 32
    write_files(tmp_path / "replies", {f"{digest}.md": "no"})
    failed = CheckOutcome(passed=False, score=0, failed_check="hidden")
    evidence = train_evidence(CORPUS, "greeter", [row_of(reply_sha256=digest, oracle=failed)], tmp_path)
    assert [task.id for task in evidence.tasks] == ["t-1", "t-2"]
    failure = evidence.failures[0]
    assert (failure.task, failure.user, failure.reply) == ("t-1", "Please answer the question number t-1.", "no")
    assert (failure.correct, failure.rule) == ("yes", "The hidden rule.")


def test_resolved_void_and_foreign_rows_are_no_failures(tmp_path: Path) -> None:
    rows = [row_of(kind=None), row_of(kind=ErrorKind.INFRA_ERROR), row_of("x-1"), row_of("unknown")]
    assert train_evidence(CORPUS, "greeter", rows, tmp_path).failures == ()


def test_a_reply_that_was_not_kept_is_empty(tmp_path: Path) -> None:
    rows = [row_of(kind=ErrorKind.AGENT_TIMEOUT, detail="too slow"), row_of(reply_sha256="cd" * 32)]
    failures = train_evidence(CORPUS, "greeter", rows, tmp_path).failures
    assert [failure.reply for failure in failures] == ["", ""]
    assert failures[0].rule == "too slow"


@pytest.mark.parametrize("split", [Split.SELECTION, Split.SEALED])
def test_a_row_of_another_split_never_reaches_an_operator(tmp_path: Path, split: Split) -> None:
    with pytest.raises(InputError) as caught:
        train_evidence(CORPUS, "greeter", [row_of(), row_of("s-1", split)], tmp_path)
    assert caught.value.code == "split-hygiene"


@pytest.mark.parametrize(
    ("verify", "oracle", "rule"),
    [
        (CheckOutcome(passed=False, score=0, failed_check="public"), None, "The public rule."),
        (
            CheckOutcome(passed=True, score=1),
            CheckOutcome(passed=False, score=0, failed_check="hidden"),
            "The hidden rule.",
        ),
        (
            CheckOutcome(passed=False, score=0, failed_check="public"),
            CheckOutcome(passed=False, score=0, failed_check="hidden"),
            "The public rule.",
        ),
        (None, None, "it broke"),
    ],
)
def test_the_rule_is_that_of_the_first_check_that_failed(
    verify: CheckOutcome | None, oracle: CheckOutcome | None, rule: str
) -> None:
    assert failed_rule(TASK, row_of(verify=verify, oracle=oracle, detail="it broke")) == rule


def test_a_worked_example_has_the_form_in_which_the_agent_sees_the_task() -> None:
    task = make_task(kind="edit", prompt="Set x.", seed={"a.ini": "x = 1\n"}, good={"a.ini": "x = 2\n"})
    example = worked_example(task)
    assert example.user == "Set x.\n\na.ini:\n```ini\nx = 1\n```"
    assert example.reply == "```ini\nx = 2\n```"


def test_the_digest_names_what_the_operators_saw(tmp_path: Path) -> None:
    one = train_evidence(CORPUS, "greeter", [row_of()], tmp_path)
    two = train_evidence(CORPUS, "greeter", [row_of(), row_of("t-2")], tmp_path)
    assert len({one.digest(), two.digest(), TrainEvidence((), ()).digest()}) == 3
    assert one.digest() == train_evidence(CORPUS, "greeter", [row_of()], tmp_path).digest()

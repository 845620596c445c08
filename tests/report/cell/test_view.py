"""The page of a cell: only what is kept as it was is shown, and what is not shown is said, with the reason."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evolve.agents.accounts import PhaseAccount, with_accounts
from evolve.bench.reuse import checks_name, patch_name, stored_reply, stored_transcript
from evolve.digest import sha256_bytes
from evolve.records.kinds import ErrorKind, Split
from evolve.records.row import CheckOutcome, Delivered, Reuse, Row, Usage
from evolve.report.cell.kept import Kept, kept_of
from evolve.report.cell.view import cell_view, outcome_of
from evolve.sandbox.gateway.meter import Tokens
from evolve.scoring.verify import Said
from tests.builders import digest_of, equals_check, make_row, make_task

SAID = json.dumps({"type": "assistant", "message": {"content": [{"type": "text", "text": "hello"}]}})
PATCH = "--- a/x\n+++ b/x\n@@ -1,1 +1,1 @@\n-old word\n+new word\n"
ACCOUNT = PhaseAccount("work", Tokens(100, 40, output=7), Tokens(100, 50, output=7), 3, 2)
SIZE = Delivered(
    files=1,
    added=1,
    removed=1,
    test_files=0,
    test_added=0,
    test_removed=0,
    bytes_compressed=9,
    code_lines=0,
    statements=0,
)


def keep(sweep: Path, row: Row, reply: str = "", transcript: str = "", patch: str = "") -> Row:
    """Keep what belongs to a row in a sweep, and return the row that names it."""
    for text, stored in ((reply, stored_reply), (transcript, stored_transcript)):
        path = stored(sweep, sha256_bytes(text.encode()))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    path = sweep / patch_name(row)
    path.parent.mkdir(parents=True, exist_ok=True)
    if patch:
        path.write_text(patch)
    named = {"reply_sha256": reply, "transcript_sha256": transcript}
    return row.model_copy(update={name: sha256_bytes(text.encode()) for name, text in named.items() if text})


def test_all_that_is_kept_is_shown(tmp_path: Path) -> None:
    task = make_task("t", split=Split.TRAIN)
    row = make_row("t", split=Split.TRAIN)
    row = row.model_copy(update={"identity": row.identity.model_copy(update={"task_sha256": task.task_sha256})})
    row = keep(tmp_path, row, "the reply", with_accounts(SAID, [ACCOUNT]), PATCH)
    view = cell_view(row, kept_of([tmp_path], row, "claude-code", task))
    assert (view.prompt, view.reply, view.missing) == (task.task.prompt, "the reply", ())
    assert view.patch is not None and (view.patch.added, view.patch.removed) == (1, 1)
    assert view.steps is not None and [step.asked for step in view.steps.steps] == ["hello"]
    assert {fact.name for fact in view.digests} == {"row", "identity of the cell", "reply", "transcript"}


def test_what_the_program_told_stands_beside_what_the_gateway_saw(tmp_path: Path) -> None:
    row = keep(tmp_path, make_row("t"), transcript=with_accounts(SAID, [ACCOUNT]))
    table = cell_view(row, kept_of([tmp_path], row, "claude-code", None)).accounts
    assert table is not None
    told = {line[0]: line[1:] for line in table.rows}
    assert told["work: input"] == ("100", "100", "tokens", "agree")
    assert told["work: of it read from a cache"] == ("40", "50", "tokens", "differ")
    assert told["work: calls of the model"] == ("not told", "3, answered 2", "calls", "")


def test_an_account_that_nobody_gave_is_unknown_and_agrees_with_nothing(tmp_path: Path) -> None:
    alone = PhaseAccount("work", None, Tokens(5), 1, 1)
    row = keep(tmp_path, make_row("t"), transcript=with_accounts(SAID, [alone]))
    table = cell_view(row, kept_of([tmp_path], row, "codex", None)).accounts
    assert table is not None and table.rows[0] == ("work: input", "unknown", "5", "tokens", "")


def test_what_was_changed_since_is_not_shown_for_it(tmp_path: Path) -> None:
    row = keep(tmp_path, make_row("t"), "the reply", SAID)
    for path in tmp_path.rglob("*.*"):
        path.write_text("another")
    view = cell_view(row, kept_of([tmp_path], row, "claude-code", make_task("t")))
    assert (view.prompt, view.reply, view.steps) == (None, None, None)
    assert [line.split(":")[0] for line in view.missing] == [
        "The prompt is not shown",
        "No reply is shown",
        "No transcript is shown",
    ]
    assert all("gone, or was changed" in line or "another than" in line for line in view.missing)


def test_what_was_never_there_is_told_apart_from_what_is_gone(tmp_path: Path) -> None:
    row = make_row("t", split=Split.SEALED).model_copy(update={"delivered": SIZE})
    view = cell_view(row, kept_of([tmp_path], row, "chat", None))
    assert view.missing[1:] == (
        "No reply is shown: none was given.",
        "No transcript is shown: this agent keeps none.",
        "No patch is shown: it is kept for train tasks alone.",
    )


def test_what_a_reused_row_names_is_found_in_the_sweep_that_measured_it(tmp_path: Path) -> None:
    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    row = keep(theirs, make_row("t"), "the reply", SAID)
    reused = row.model_copy(update={"reused": Reuse(sweep="theirs", row_sha256=digest_of("row"))})
    assert cell_view(reused, kept_of([mine], reused, "claude-code", None)).reply == "the reply"
    assert cell_view(row, kept_of([mine], row, "claude-code", None)).reply is None
    outside = row.model_copy(update={"reused": Reuse(sweep="../theirs", row_sha256=digest_of("row"))})
    assert cell_view(outside, kept_of([mine / "deep"], outside, "claude-code", None)).reply is None


@pytest.mark.parametrize(("split", "rule"), [(Split.TRAIN, "one word"), (Split.SELECTION, ""), (Split.SEALED, "")])
def test_the_rule_that_failed_is_told_of_train_tasks_alone(split: Split, rule: str, tmp_path: Path) -> None:
    task = make_task("t", split=split, verify=[equals_check(identifier="word")])
    failed = CheckOutcome(passed=False, score=0.0, failed_check="word" if split is Split.TRAIN else None)
    row = make_row("t", split=split, resolved=False, kind=ErrorKind.VERIFY_FAILED)
    identity = row.identity.model_copy(update={"task_sha256": task.task_sha256})
    row = row.model_copy(update={"identity": identity, "verify": failed})
    view = cell_view(row, kept_of([tmp_path], row, "chat", task))
    assert rule in view.rule and bool(view.rule) == bool(rule)
    assert ("Which one failed" in view.checks.caption) == (split is not Split.TRAIN)


def test_every_figure_of_a_row_has_its_unit_and_what_nobody_reported_is_unknown() -> None:
    row = make_row("t").model_copy(update={"usage": Usage(cost_usd_micros=1_234, session_ms=65_432, turns=0)})
    table = cell_view(row, Kept()).usage
    assert len(table.rows) == len(Usage.model_fields)
    told = {line[0]: line[1:] for line in table.rows}
    assert (told["cost"], told["session"], told["turns"]) == (("0.001234", "USD"), ("65.4", "s"), ("0", "turns"))
    assert told["input"] == ("unknown", "tokens")


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (None, "resolved: every check passed"),
        (ErrorKind.VERIFY_FAILED, "not resolved: verify-failed"),
        (ErrorKind.INFRA_ERROR, "void, it says nothing about its arm: infra-error"),
    ],
)
def test_how_a_cell_ended(kind: ErrorKind | None, words: str) -> None:
    assert outcome_of(make_row("t", resolved=kind is None, kind=kind)) == words


@pytest.mark.parametrize("text", ["", "[", "{}", "[3, null]", "[" * 100_000, '[{"check": 1}]'])
def test_what_checks_are_said_to_have_said_is_read_or_passed_over(tmp_path: Path, text: str) -> None:
    row = make_row("t")
    path = tmp_path / checks_name(row)
    path.parent.mkdir()
    path.write_text(text)
    said = kept_of([tmp_path], row, "chat", None).said
    assert said == ((Said("1", False, ""),) if "check" in text else ())

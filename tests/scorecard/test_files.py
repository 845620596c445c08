"""Scorecards read from folders, and each of their formats as a file to read; EVOLVE_GOLDEN=write writes them anew."""

from __future__ import annotations

import csv
import io
import json
import os
import tracemalloc
from pathlib import Path

import pytest

from evolve.bench.journal import JOURNAL_FILE, Journal
from evolve.bench.measured import ROWS_FILE
from evolve.bench.reuse import stored_reply, stored_transcript
from evolve.cli.output import table
from evolve.compare.compare import compare
from evolve.compare.figures import METRICS as COMPARED
from evolve.compare.figures import Side
from evolve.compare.scorecards import read_scorecard
from evolve.compare.sweeps import read_sweep
from evolve.digest import sha256_bytes
from evolve.errors import InputError
from evolve.records.base import jsonl_bytes
from evolve.records.kinds import ErrorKind
from evolve.records.row import Reuse, Row
from evolve.report.markdown import inert
from evolve.scorecard import read
from evolve.scorecard.files import COLUMNS, scorecard_csv, scorecard_json, scorecard_json_pieces
from evolve.scorecard.metrics import METRICS, Flag, Why
from evolve.scorecard.read import Scorecard, scorecard_of
from evolve.scorecard.tables import as_markdown, as_text, sections_of
from tests.builders import NO_FILES, digest_of, make_identity, put_no_file
from tests.scorecard.builders import arm_row, keep, transcript_text, usage_of, write_sweep

GOLDEN = Path(__file__).parent / "golden"


def assert_golden(name: str, data: bytes) -> None:
    path = GOLDEN / name
    if os.environ.get("EVOLVE_GOLDEN") == "write":
        path.write_bytes(data)
    assert data == path.read_bytes(), "as meant? EVOLVE_GOLDEN=write python -m pytest tests/scorecard/test_files.py"


def rows_of(folder: Path, *, cut_off: bool = True) -> list[Row]:
    """Return two tasks of two arms: the second takes a third fewer turns, and one of its cells may be cut off."""
    kept = {"transcript": transcript_text(), "reply": "Done. " + "one two three " * 20}
    identities = {(task, arm): make_identity(task, text=arm) for task in ("task-1", "task-2") for arm in ("one", "two")}
    end = ErrorKind.AGENT_TIMEOUT if cut_off else None
    return [
        keep(folder, arm_row("one", identity=identities["task-1", "one"], usage=usage_of(input_tokens=1_111)), **kept),
        keep(folder, arm_row("two", identity=identities["task-1", "two"], usage=usage_of(turns=3)), **kept),
        keep(folder, arm_row("one", identity=identities["task-2", "one"], usage=usage_of(turns=9)), **kept),
        keep(folder, arm_row("two", identity=identities["task-2", "two"], kind=end, usage=usage_of(turns=6)), **kept),
    ]


def two_arms(sweeps: Path, name: str = "s-one", *, cut_off: bool = True) -> Path:
    warm_up = [
        {"event": "leased", "arm": "one", "token": 1, "reserved_micros": 90_000},
        {"event": "spent", "token": 1, "cost_usd_micros": 5_000, "reason": "warm-up"},
    ]
    return write_sweep(sweeps, name, rows_of(sweeps / name, cut_off=cut_off), before=warm_up)


def lines_of(scorecard: Scorecard) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(scorecard_csv(scorecard).decode(), newline=""), strict=True))


def test_each_format_is_as_its_golden_file(tmp_path: Path) -> None:
    found = scorecard_of([two_arms(tmp_path)])
    assert_golden("card.csv", scorecard_csv(found))
    value = scorecard_json(found)
    begun = {"cells": value["cells"][:1], "summaries": value["summaries"][:1]}
    assert_golden("card.json", json.dumps({**value, **begun}, indent=1, sort_keys=True).encode() + b"\n")
    sections = sections_of(found, cells=True)
    assert_golden("card.md", as_markdown(sections, inert).encode())
    assert_golden("card.txt", as_text(sections_of(found, by_task=True), table).encode() + b"\n")


def test_files_hold_every_digit_and_print_does_not(tmp_path: Path) -> None:
    found = scorecard_of([two_arms(tmp_path)])
    line = lines_of(found)[0]
    assert float(line["cache_ratio"]) == 600 / 1_111 and len(line["cache_ratio"]) > 15
    value = scorecard_json(found)
    (mean,) = [
        figure["value"]
        for figure in value["summaries"][0]["figures"]
        if (figure["metric"], figure["estimand"]) == ("cache_ratio", "mean of ratios")
    ]
    assert mean == (600 / 1_111 + 600 / 1_000) / 2
    printed = as_text(sections_of(found), table)
    assert f"{mean:.3f}" in printed and repr(mean) not in printed


def test_a_line_has_a_value_or_a_reason_for_each_metric(tmp_path: Path) -> None:
    sweep = write_sweep(tmp_path, "s-one", [arm_row("one")], absent=[arm_row("one", "task-2")], adapter="chat")
    first, second = lines_of(scorecard_of([sweep]))
    assert list(first) == list(COLUMNS)
    for line in (first, second):
        reasons = " ".join(part.partition(": ")[2] for part in line["null_because"].split("; ")).split()
        assert [name for name in METRICS if not line[name]] == [name for name in METRICS if name in reasons]
    assert (first["card_complete"], first["incomplete_because"]) == ("true", "")
    assert (second["card_complete"], second["incomplete_because"]) == ("false", "not-measured")
    assert "no-transcript: prompt_growth diagnostics" in first["null_because"]


def medians(side: Side) -> dict[str, list[float | None]]:
    return {name: side.by_task(metric, sorted(side.runs)) for name, metric in COMPARED.items()}


def test_a_card_says_of_a_sweep_what_compare_says_of_the_sweep(tmp_path: Path) -> None:
    folder = two_arms(tmp_path, cut_off=False)
    card = tmp_path / "card.csv"
    card.write_bytes(scorecard_csv(scorecard_of([folder])))
    for arm, side in read_sweep(folder).items():
        assert medians(read_scorecard(f"{card}#{arm}")) == medians(side)


def test_two_arms_of_a_card_are_compared_as_rounds(tmp_path: Path) -> None:
    card = tmp_path / "card.csv"
    card.write_bytes(scorecard_csv(scorecard_of([two_arms(tmp_path, cut_off=False)])))
    one, two = read_scorecard(f"{card}#one"), read_scorecard(f"{card}#two")
    (found,) = compare(one, two, [COMPARED["turns"]], "geometric_mean_ratio").findings
    # sqrt(3/4 * 6/9) = sqrt(1/2)
    assert found.estimate is not None and found.estimate.value == pytest.approx(0.5**0.5)


def test_an_incomplete_card_is_in_no_comparison_of_amounts(tmp_path: Path) -> None:
    card = tmp_path / "card.csv"
    card.write_bytes(scorecard_csv(scorecard_of([two_arms(tmp_path)])))
    side = read_scorecard(f"{card}#two")
    assert medians(side)["turns"] == [3, None] and medians(side)["completed"] == [1, 0]
    assert side.notes == (
        f"{card}#two: incomplete cards, of which no amount counts, so that their tasks have no figure: task-2 (1)",
    )
    assert read_scorecard(f"{card}#one").notes == ()
    found = compare(read_scorecard(f"{card}#one"), side, [COMPARED["turns"]], "geometric_mean_ratio")
    assert found.findings[0].estimate is None and side.notes[0] in found.caveats


def test_a_void_cell_has_no_outcome_to_compare(tmp_path: Path) -> None:
    rows = [arm_row("one", "task-1"), arm_row("one", "task-2", kind=ErrorKind.INFRA_ERROR)]
    found = scorecard_of([write_sweep(tmp_path, "s-one", rows, adapter="chat")])
    assert [card.incomplete for card in found.cards] == [(), (Flag.VOID,)]
    card = tmp_path / "card.csv"
    card.write_bytes(scorecard_csv(found))
    figures = medians(read_scorecard(str(card)))
    assert figures["completed"] == [1, None] and figures["prompt"] == [1_000, None]


def test_a_card_that_is_neither_complete_nor_not_is_refused(tmp_path: Path) -> None:
    card = tmp_path / "card.csv"
    card.write_text("task,card_complete,turns\na,TRUE,1\nb,maybe,1\n")
    with pytest.raises(InputError, match=r"card.csv:3: card_complete: 'maybe' is neither true nor false"):
        read_scorecard(str(card))


def test_rounds_of_several_sweeps_are_named_by_both(tmp_path: Path) -> None:
    found = scorecard_of([two_arms(tmp_path, "s-one"), two_arms(tmp_path, "s-two")], arm="two")
    assert {line["round"] for line in lines_of(found)} == {"s-one/two", "s-two/two"}
    assert [one.heading for one in sections_of(found)] == ["s-one/two", "s-two/two"]
    card = tmp_path / "card.csv"
    card.write_bytes(scorecard_csv(found))
    assert set(read_scorecard(f"{card}#s-one/two").runs) == {"task-1", "task-2"}


def test_a_transcript_or_reply_that_is_gone_or_changed_is_flagged(tmp_path: Path) -> None:
    folder = tmp_path / "s-one"
    rows = [
        keep(folder, arm_row("one", run=run), transcript=transcript_text(run + 1), reply=f"{run}") for run in (0, 1, 2)
    ]
    write_sweep(tmp_path, "s-one", rows)
    for row in rows[:1]:
        stored_transcript(folder, str(row.transcript_sha256)).unlink()
        stored_reply(folder, str(row.reply_sha256)).unlink()
    for row in rows[1:2]:
        stored_transcript(folder, str(row.transcript_sha256)).write_text("{}")
        stored_reply(folder, str(row.reply_sha256)).write_text("changed")
    *touched, whole = scorecard_of([folder]).cards
    for card in touched:
        assert card.incomplete == (Flag.TRANSCRIPT_MISSING,) and card.nulls["reply_words"] == Why.REPLY_GONE
    assert whole.complete and whole.values["reply_words"] == 1


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        ("{broken\n", {Flag.TRANSCRIPT_DAMAGED}),
        ("[" * 100_000 + "\n", {Flag.TRANSCRIPT_DAMAGED}),
        ("x" * 40_000_000 + "\n", {Flag.TRANSCRIPT_DAMAGED}),
        ('{"type": "assistant", "message": {"usage": {"input_tokens": 1e999, "output_tokens": -5}}}\n', set()),
        (
            '{"type": "assistant", "message": {"id": "m", "usage": {"input_tokens": 999999999, '
            '"cache_read_input_tokens": 0, "cache_creation_input_tokens": 0, "output_tokens": 1}}}\n',
            {Flag.CONTRADICTORY},
        ),
        ('{"type": "\\ud800\\u001b[31m", "message": {"content": [{"type": "tool_use", "id": {}}]}}\n', set()),
    ],
    ids=["broken", "deep", "huge", "absurd", "contradictory", "strange"],
)
def test_hostile_transcripts_are_flagged_and_never_a_crash(tmp_path: Path, text: str, flags: set[Flag]) -> None:
    row = keep(tmp_path / "s-one", arm_row("one"), transcript=transcript_text() + text)
    (card,) = scorecard_of([write_sweep(tmp_path, "s-one", [row])]).cards
    assert set(card.incomplete) == flags
    assert card.values["turns"] == 4


def test_a_reply_that_is_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read, "MAX_REPLY_BYTES", 9)
    rows = [keep(tmp_path / "s-one", arm_row("one", run=size), reply="x" * size) for size in (9, 10)]
    near, large = scorecard_of([write_sweep(tmp_path, "s-one", rows, adapter="chat")]).cards
    assert near.values["reply_words"] == 1 and large.nulls["reply_words"] == Why.REPLY_GONE


def test_a_reused_row_is_scored_and_was_not_paid_for_here(tmp_path: Path) -> None:
    row = keep(tmp_path / "s-old", arm_row("one"), transcript=transcript_text())
    reused = row.model_copy(update={"reused": Reuse(sweep="s-old", row_sha256=digest_of("row"))})
    folder = write_sweep(tmp_path, "s-new", [], absent=[row])
    data = jsonl_bytes([reused])
    (folder / ROWS_FILE).write_bytes(data)
    Journal(folder / JOURNAL_FILE).append("finished", rows_sha256=sha256_bytes(data))
    found = scorecard_of([folder])
    (card,) = found.cards
    assert card.complete and card.nulls["cost_per_pass_usd"] == Why.NOT_PAID_HERE
    (cost,) = [one for one in found.summaries[0].figures if one.metric == "cost_per_pass_usd"]
    assert (cost.value, cost.why) == (None, "not-paid-here")


def test_one_transcript_is_held_at_a_time(tmp_path: Path) -> None:
    def peak(cells: int) -> int:
        name = f"s-{cells}"
        rows = [keep(tmp_path / name, arm_row("one", run=run), transcript=transcript_text(150)) for run in range(cells)]
        folder = write_sweep(tmp_path, name, rows)
        tracemalloc.start()
        scorecard_of([folder])
        used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return used

    peak(1)
    assert peak(8) < 1.5 * peak(2)


@pytest.mark.parametrize("kind", NO_FILES)
def test_nobody_waits_for_what_is_kept_of_a_cell(tmp_path: Path, kind: str) -> None:
    row = keep(tmp_path / "s", arm_row("incumbent"), transcript=transcript_text(), reply="a reply")
    for path in (
        stored_transcript(tmp_path / "s", str(row.transcript_sha256)),
        stored_reply(tmp_path / "s", str(row.reply_sha256)),
    ):
        path.unlink()
        put_no_file(path, kind)
    put_no_file(tmp_path / "s" / ROWS_FILE, kind)
    card = scorecard_of([write_sweep(tmp_path, "s", [row])]).cards[0]
    assert card.incomplete == (Flag.TRANSCRIPT_MISSING,)
    assert card.nulls["reply_words"] is Why.REPLY_GONE


@pytest.mark.parametrize("sweeps", [(), ("one",), ("one", "two")])
def test_json_in_pieces_is_json_as_a_whole(tmp_path: Path, sweeps: tuple[str, ...]) -> None:
    rows = [arm_row(arm, run=run) for arm in ("incumbent", "candidate") for run in range(2)]
    scorecard = scorecard_of([write_sweep(tmp_path, name, rows) for name in sweeps])
    whole = json.dumps(scorecard_json(scorecard), indent=2, ensure_ascii=False, sort_keys=True)
    assert "".join(scorecard_json_pieces(scorecard)) == whole


def test_json_of_many_cells_takes_little_more_than_its_text(tmp_path: Path) -> None:
    scorecard = scorecard_of([write_sweep(tmp_path, "s", [arm_row("incumbent", run=run) for run in range(100)])])
    tracemalloc.start()
    size = sum(map(len, scorecard_json_pieces(scorecard)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < size, "no more than a card and the summaries at a time"

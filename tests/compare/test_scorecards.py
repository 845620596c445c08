from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evolve.compare.figures import METRICS, Price
from evolve.compare.scorecards import MAX_BYTES, MAX_COLUMNS, MAX_TASKS, is_file, read_scorecard, split_name
from evolve.errors import InputError
from tests.compare.builders import CODEX, LEAD, card

ROUNDS = [(f"{LEAD}#8", "1.7944"), (f"{LEAD}#32", "1.7775"), (f"{CODEX}#33", "3.3819"), (str(CODEX), "3.3819")]


@pytest.mark.parametrize(("what", "cost"), ROUNDS)
def test_costs_are_computed_from_the_published_rounds(what: str, cost: str) -> None:
    side = read_scorecard(what, price=Price(5, 0.5, 30))
    costs = side.by_task(METRICS["cost_usd"], list(side.runs))
    assert f"{sum(value or 0 for value in costs):.4f}" == cost
    assert len(side.runs) == 3


def test_other_names_of_columns_are_known_and_what_is_computed_is_said() -> None:
    side = read_scorecard(str(CODEX))
    assert side.name == f"{CODEX}#33"
    assert side.runs["r4-debug-forwarding-gap"][0] == {
        "wall_ms": 240320,
        "uncached": 114654,
        "cached": 981120,
        "output": 14675,
        "completed": 1,
        "prompt": 1095774,
        "w10": 212766,
        "w25": 359934,
    }
    assert side.computed == {
        "prompt": "cached + uncached",
        "w10": "uncached + 0.10 cached",
        "w25": "uncached + 0.25 cached",
    }
    assert "turns" not in side.columns
    assert read_scorecard(f"{LEAD}#8").computed == {}


def test_a_round_is_chosen_and_must_be_where_there_are_several(tmp_path: Path) -> None:
    assert read_scorecard(f"{LEAD}#8").runs != read_scorecard(f"{LEAD}#32").runs
    with pytest.raises(InputError, match="holds several rounds: 8, 32") as several:
        read_scorecard(str(LEAD))
    assert several.value.hint == f"choose one: {LEAD}#8"
    with pytest.raises(InputError, match="has no round '33'") as none:
        read_scorecard(f"{LEAD}#33")
    assert none.value.hint == "rounds there: 8, 32"
    plain = card(tmp_path, "task,turns\na,1\n")
    assert read_scorecard(plain).name == plain
    with pytest.raises(InputError, match="has no column 'round'"):
        read_scorecard(f"{plain}#8")


def test_a_file_may_have_a_hash_in_its_name(tmp_path: Path) -> None:
    path = card(tmp_path, "task,turns\na,1\n", "b#8")
    assert split_name(path) == (Path(path), None)
    assert split_name(f"{path}#9") == (Path(path), "9")
    assert not is_file(tmp_path) and not is_file(Path("x" * 5000)) and not is_file(Path("\0"))


def test_runs_of_a_task_are_told_apart_by_a_column(tmp_path: Path) -> None:
    side = read_scorecard(card(tmp_path, "task,run,completed,turns\na,0,1,2\na,1,0,4\nb,0,1,\n"))
    assert side.by_task(METRICS["completed"], ["a", "b"]) == [0.5, 1]
    assert side.by_task(METRICS["turns"], ["a", "b"]) == [3, None]


def test_columns_of_no_metric_are_read_when_they_are_asked_for(tmp_path: Path) -> None:
    path = card(tmp_path, "task,growth,who\na,-3,me\n")
    assert read_scorecard(path).runs == {"a": [{}]}
    assert read_scorecard(path, extra=["growth", "nowhere"]).runs == {"a": [{"growth": -3}]}
    with pytest.raises(InputError, match=r"card.csv:2: who: 'me' is no number"):
        read_scorecard(path, extra=["who"])


def test_quotes_blank_lines_and_blanks_around_cells_are_taken(tmp_path: Path) -> None:
    side = read_scorecard(card(tmp_path, 'task ,turns\r\n\r\n"a, b", 1.5e1 \r\n,\r\n'))
    assert side.runs == {"a, b": [{"turns": 15}]}


@pytest.mark.parametrize(
    ("change", "figures"),
    [
        (("224491,186368", "224492,186368"), "prompt 224492 is not cached + uncached: 186368 + 38123 = 224491"),
        (("56759.8", "56769.8"), "w10 56769.8 is not uncached + 0.10 cached: 56759.8"),
        (("84715", "8471"), "w25 8471 is not uncached + 0.25 cached: 84715"),
    ],
)
@pytest.mark.parametrize("chosen", ["8", "32"])
def test_a_contradiction_refuses_the_whole_card(
    tmp_path: Path, change: tuple[str, str], figures: str, chosen: str
) -> None:
    path = card(tmp_path, LEAD.read_text(encoding="utf-8").replace(*change))
    with pytest.raises(InputError) as refused:
        read_scorecard(f"{path}#{chosen}")
    assert refused.value.message == f"{path}:2: task r4-debug-forwarding-gap: {figures}"
    assert refused.value.code == "contradictory-card"
    assert refused.value.exit_code == 2


HOSTILE: list[tuple[str, str | bytes, str]] = [
    ("empty", "", "the file is empty"),
    ("blank", "\n\n  \n", "the file is empty"),
    ("header only", "task,turns\n", "no row below the header"),
    ("NUL", "task,turns\na\0,1\n", "byte order mark or a NUL"),
    ("byte order mark", "\ufefftask,turns\na,1\n", "byte order mark or a NUL"),
    ("not UTF-8", b"task,turns\n\xff,1\n", r"not UTF-8 \(byte 11\)"),
    ("UTF-16", "task,turns\na,1\n".encode("utf-16"), "not UTF-8"),
    ("short row", "task,turns\na\n", r":2: 1 cells, where the header has 2"),
    ("long row", "task,turns\na,1\nb,1,2\n", r":3: 3 cells, where the header has 2"),
    ("no task column", "name,turns\na,1\n", r":1: there is no column 'task'"),
    ("column twice", "task,turns,turns\na,1,2\n", r":1: two columns are named 'turns'"),
    ("metric twice", "task,cached,cached_in\na,1,2\n", "columns 'cached' and 'cached_in' both hold cached"),
    ("nameless column", "task,,turns\na,1,2\n", r":1: a column has no name"),
    ("steering column", "task,tu\x1brns\na,1\n", "control characters"),
    ("long column", f"task,{'x' * 201}\na,1\n", "too long"),
    ("many columns", "task," + ",".join(f"c{i}" for i in range(MAX_COLUMNS)) + "\n", "201 columns, more than the 200"),
    ("task twice", "task,turns\na,1\nb,1\na,2\n", r":4: task a: is there already, at .*card.csv:2"),
    ("run twice", "task,run\na,1\na,1\n", "is there already"),
    ("nameless task", "task,turns\n ,1\n", r":2: task: is empty"),
    ("nameless round", "round,task\n,a\n", r":2: round: is empty"),
    ("steering task", "task,turns\na\x1b[31m,1\n", r":2: task: 'a\\x1b\[31m' holds control"),
    ("turning task", "task,turns\na\u202eb,1\n", "holds control characters"),
    ("line end in a task", 'task,turns\n"a\nb",1\n', "holds control characters"),
    ("long task", f"task,turns\n{'x' * 201},1\n", "longer than 200"),
    ("open quote", 'task,turns\n"a,1\n', "no CSV"),
    ("text after a quote", 'task,turns\n"a"b,1\n', "no CSV"),
    ("giant cell", f"task,turns\n{'x' * 140_000},1\n", "no CSV: field larger than"),
    ("text for a figure", "task,turns\na,many\n", r":2: turns: 'many' is no number"),
    ("NaN", "task,turns\na,nan\n", "'nan' is no number"),
    ("infinite", "task,turns\na,inf\n", "'inf' is no number"),
    ("overflow", "task,turns\na,1e999\n", "more than can be believed"),
    ("giant number", f"task,turns\na,{'9' * 5000}\n", "more than can be believed"),
    ("underscores", "task,turns\na,1_000\n", "'1_000' is no number"),
    ("other digits", "task,turns\na,\u0661\n", "is no number"),
    ("comma as point", 'task,turns\na,"1,5"\n', "'1,5' is no number"),
    ("below zero", "task,turns\na,-1\n", r":2: turns: -1 is below zero"),
    ("more than all", "task,completed\na,2\n", r":2: completed: 2 is more than 1"),
    ("huge", b"task,turns\n" + b"a,1\n" * (MAX_BYTES // 4 + 1), "more than the 4194304 allowed"),
    ("many tasks", "task\n" + "".join(f"t{i}\n" for i in range(MAX_TASKS + 1)), "2501 tasks, more than the 2500"),
]


@pytest.mark.parametrize(("content", "message"), [case[1:] for case in HOSTILE], ids=[case[0] for case in HOSTILE])
def test_what_is_no_card_is_refused_with_a_message(tmp_path: Path, content: str | bytes, message: str) -> None:
    with pytest.raises(InputError, match=message) as refused:
        read_scorecard(card(tmp_path, content))
    assert "card.csv" in refused.value.message
    assert len(refused.value.message) < 400 + len(str(tmp_path)) * 2


CELLS = st.sampled_from(
    ["task", "round", "run", "turns", "w10", "cached_in", "a", "1", "-0", "1e3", "", " ", '"', "\x85"]
)
CARDS = st.one_of(
    st.binary(max_size=60),
    st.lists(st.lists(CELLS, min_size=1, max_size=4).map(",".join), max_size=5).map(
        lambda lines: "\n".join(["task,turns,cached,uncached", *lines]).encode()
    ),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(CARDS)
def test_whatever_a_card_holds_it_is_read_or_refused(tmp_path: Path, content: bytes) -> None:
    try:
        side = read_scorecard(card(tmp_path, content))
    except InputError as refused:
        assert "card.csv" in refused.message
    else:
        assert side.runs


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_scorecard(str(tmp_path / "none.csv"))
    with pytest.raises(InputError, match="not a file"):
        read_scorecard(str(tmp_path))
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(InputError, match="not a file"):
        read_scorecard(str(tmp_path / "pipe.csv"))

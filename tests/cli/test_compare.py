from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.compare.builders import CODEX, LEAD, card
from tests.conftest import CommandLine
from tests.worlds import ScriptedModel


@pytest.fixture
def rounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in a folder of cards that is no workspace."""
    for path in (LEAD, CODEX):
        shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def line_of(out: str, start: str) -> str:
    return next(line for line in out.splitlines() if line.startswith(start))


def test_two_rounds_are_no_different(rounds: Path, evolve: CommandLine) -> None:
    ran = evolve("compare", "rounds-lead.csv#8", "rounds-lead.csv#32", "--price", "5/0.5/30")
    assert (ran.code, ran.err) == (0, "")
    wall = line_of(ran.out, "wall_ms ").split("  ")
    shown = [cell.strip() for cell in wall if cell.strip()]
    assert shown[:5] == ["wall_ms", "ms", "278,324", "257,149", "-7.6 %"]
    assert shown[6:] == ["ratio of sums", "3 x 1", "0.75", "no difference"]
    assert "+10.9 %" in line_of(ran.out, "w10 ")
    assert "1.7944   " in ran.out and "1.7775   " in ran.out
    assert (
        "wall_ms by task, %: r4-debug-forwarding-gap -39.7, r4-impl-usage-summary +43.1, "
        "r4-explain-compact-engine -4.1" in ran.out
    )
    assert "higher" not in ran.out and "lower" not in ran.out and "-100" not in ran.out
    assert "nothing is decided by a comparison; each metric is judged by itself" in ran.out
    assert "note: with 3 tasks no metric can differ" in ran.out


def test_what_a_file_lacks_is_said_and_what_is_computed(rounds: Path, evolve: CommandLine) -> None:
    ran = evolve("compare", "rounds-lead.csv#32", "rounds-codex.csv", "--price", "5/0.5/30")
    assert ran.code == 0
    assert line_of(ran.out, "turns ").endswith("not comparable")
    assert "turns: not comparable: rounds-codex.csv#33 lacks the column turns" in ran.out
    assert "* w10 of rounds-codex.csv#33 is computed: uncached + 0.10 cached" in ran.out
    assert "w10 of rounds-lead" not in ran.out
    assert "3.3819" in line_of(ran.out, "cost_usd* ")
    assert "-100" not in ran.out


def test_json_says_the_same(rounds: Path, evolve: CommandLine) -> None:
    value = evolve("compare", "rounds-lead.csv#8", "rounds-lead.csv#32", "--json", "--estimand", "mean_ratio").json()
    assert value["decides"] is False
    (comparison,) = value["comparisons"]
    assert comparison["a"] == {"name": "rounds-lead.csv#8", "agents": [], "runs": [1, 1]}
    wall = next(one for one in comparison["metrics"] if one["metric"] == "wall_ms")
    assert (wall["verdict"], wall["estimand"], wall["unit"]) == ("no difference", "mean_ratio", "ms")
    assert wall["change"] == pytest.approx((-39.69 + 43.15 - 4.13) / 3, abs=0.01)
    assert wall["change_low"] < wall["change"] < wall["change_high"]
    assert wall["estimate"]["interval"] == "BCa bootstrap over tasks"
    completed = comparison["metrics"][0]
    assert (completed["verdict"], completed["estimate"], completed["change"]) == ("not comparable", None, None)
    cost = comparison["metrics"][-1]
    assert cost["why"].endswith("lack the column cost_usd; --price computes it")


def test_metrics_are_chosen_by_any_of_their_names(rounds: Path, evolve: CommandLine) -> None:
    chosen = ("--metric", "wall", "--metric", "w10", "--metric", "wall_ms", "--metric", "growth")
    value = evolve("compare", "rounds-lead.csv#8", "rounds-lead.csv#32", "--json", *chosen).json()
    found = value["comparisons"][0]["metrics"]
    assert [one["metric"] for one in found] == ["wall_ms", "w10", "growth"]
    assert (found[2]["verdict"], found[2]["a"], found[2]["unit"]) == ("no difference", 96086, "")
    ran = evolve("compare", "rounds-lead.csv#32", "rounds-codex.csv", "--metric", "growth")
    assert "growth: not comparable: rounds-codex.csv#33 lacks the column growth" in ran.out
    single = evolve("compare", "rounds-lead.csv#8", "rounds-lead.csv#32", "--metric", "turns").out
    assert single.endswith("nothing is decided by a comparison\n")


def test_many_tasks_are_shown_one_by_one_when_asked(tmp_path: Path, evolve: CommandLine) -> None:
    a = card(tmp_path, "task,turns,completed\n" + "".join(f"t{i},{i + 1},0\n" for i in range(8)), "a.csv")
    b = card(tmp_path, "task,turns,completed\n" + "".join(f"t{i},{(i + 1) * 2},1\n" for i in range(1, 9)), "b.csv")
    ran = evolve("compare", a, b)
    assert "by task" not in ran.out
    assert f"left out, not in B ({b}): t0\n" in ran.out
    assert f"left out, not in A ({a}): t8\n" in ran.out
    assert line_of(ran.out, "turns ").endswith("+100.0 to +100.0  ratio of sums    7 x 1  0.0156  higher")
    assert "+100.0 points" in line_of(ran.out, "completed ")
    assert "turns by task, %: t1 +100.0, t2" in evolve("compare", a, b, "--by-task").out


def test_files_of_one_name_are_told_apart(tmp_path: Path, evolve: CommandLine) -> None:
    (tmp_path / "old").mkdir()
    a, b = card(tmp_path / "old", "task\na\n"), card(tmp_path, "task,turns\na,3\n")
    ran = evolve("compare", a, b, "--metric", "turns", "--metric", "wall")
    assert f"turns: not comparable: {a} lacks the column turns\n" in ran.out
    assert f"wall_ms: not comparable: {a} and {b} lack the column wall_ms\n" in ran.out


def test_tasks_with_more_or_fewer_runs_are_said_to_be(tmp_path: Path, evolve: CommandLine) -> None:
    a = card(tmp_path, "task,run,turns\na,0,1\na,1,1\nb,0,2\n", "a.csv")
    b = card(tmp_path, "task,turns\na,3\nb,3\n", "b.csv")
    assert "  2 x 1-2/1  " in line_of(evolve("compare", a, b).out, "turns ")


def test_one_task_has_no_bounds(tmp_path: Path, evolve: CommandLine) -> None:
    a, b = card(tmp_path, "task,run,turns\na,0,1\na,1,1\n", "a.csv"), card(tmp_path, "task,turns\na,3\n", "b.csv")
    line = line_of(evolve("compare", a, b, "--metric", "turns").out, "turns ")
    assert "+200.0 %" in line and "  unbounded  " in line and "  1 x 2/1  " in line
    assert line.endswith("no difference")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("rounds-lead.csv", "rounds-codex.csv"), "holds several rounds: 8, 32"),
        (("rounds-lead.csv#9", "rounds-codex.csv"), "has no round '9'"),
        (("none.csv", "rounds-codex.csv"), "none.csv: no such file"),
        (("none", "rounds-codex.csv"), "none: no such file, and no workspace"),
        (("a" * 5000, "rounds-codex.csv"), "no sweep and no file"),
        (("a\0b", "rounds-codex.csv"), "no sweep and no file"),
        ((".", "rounds-codex.csv"), "no such file, and no workspace"),
        (("rounds-codex.csv", "rounds-codex.csv", "--metric", "agnet"), "--metric agnet: neither side has it"),
        (("rounds-lead.csv#8", "rounds-lead.csv#32", "--metric", "agent"), "agent: 'reviewer' is no number"),
        (("rounds-codex.csv", "rounds-codex.csv", "--metric", "task"), "--metric task: names a row"),
        (("rounds-codex.csv", "rounds-codex.csv", "--arm", "x"), "A has no arm 'x'"),
        (("rounds-codex.csv", "rounds-codex.csv", "--price", "5/0.5"), "'5/0.5' is not UNCACHED/CACHED/OUTPUT"),
        (("rounds-codex.csv", "rounds-codex.csv", "--price", "a/b/c"), "is not UNCACHED/CACHED/OUTPUT"),
        (("rounds-codex.csv", "rounds-codex.csv", "--price", "1/nan/1"), "is not UNCACHED/CACHED/OUTPUT"),
        (("rounds-codex.csv", "rounds-codex.csv", "--price", "1/-1/1"), "is not UNCACHED/CACHED/OUTPUT"),
        (("rounds-codex.csv", "rounds-codex.csv", "--estimand", "mode"), "'mode' is not one of"),
        (("rounds-codex.csv",), "Missing argument 'B'"),
    ],
)
def test_what_makes_no_sense_is_refused(
    rounds: Path, evolve: CommandLine, arguments: tuple[str, ...], says: str
) -> None:
    ran = evolve("compare", *arguments)
    assert ran.code == 2
    assert ran.out == ""
    assert says in ran.err
    assert "Traceback" not in ran.err


def test_a_contradictory_card_is_refused_with_its_figures(rounds: Path, evolve: CommandLine) -> None:
    path = rounds / "rounds-lead.csv"
    path.write_text(path.read_text().replace(",162195,", ",162196,"))
    ran = evolve("compare", "rounds-lead.csv#8", "rounds-codex.csv", "--json")
    assert ran.code == 2
    error = ran.json()["error"]
    assert error["message"] == (
        "rounds-lead.csv:5: task r4-debug-forwarding-gap: "
        "prompt 162196 is not cached + uncached: 108032 + 54163 = 162195"
    )
    assert error["code"] == "contradictory-card"


def test_names_that_steer_a_terminal_do_not(tmp_path: Path, evolve: CommandLine) -> None:
    a = card(tmp_path, "task,turns\na,1\n", "a\x1b[31m.csv")
    ran = evolve("compare", a, a)
    assert ran.code == 0
    assert "\x1b" not in ran.out


def test_sweeps_are_compared_arm_by_arm(workspace: Path, model: ScriptedModel, evolve: CommandLine) -> None:
    measure = ("measure", "--skill", "bracket", "--split", "selection", "--json")
    one = evolve(*measure, "incumbent", "brief", "--runs", "2").json()["sweep"]
    two = evolve(*measure, "incumbent", "brief", "no-skill").json()["sweep"]
    value = evolve("compare", one, Path(two).name, "--json").json()
    names = [(found["a"]["name"], found["b"]["name"]) for found in value["comparisons"]]
    assert names == [(f"{Path(one).name}, arm {arm}", f"{Path(two).name}, arm {arm}") for arm in ("incumbent", "brief")]
    first = value["comparisons"][0]
    assert (first["a"]["runs"], first["b"]["runs"], len(first["tasks"])) == ([2, 2], [1, 1], 3)
    verdicts = {found["metric"]: found["verdict"] for found in first["metrics"]}
    assert verdicts["prompt"] == verdicts["completed"] == "no difference"
    assert verdicts["cached"] == verdicts["w10"] == "not comparable"
    across = evolve("compare", two, two, "--arm", "incumbent", "--arm-b", "brief")
    assert f"B: {Path(two).name}, arm brief" in across.out
    assert "note: different agents: chat scripted (" in across.out
    assert "is computed" not in across.out and "(computed: uncached + 0.10 cached)" in across.out
    assert evolve("compare", one, two, "--arm", "no-skill").code == 2
    missing = evolve("compare", one, "nowhere")
    assert (missing.code, "nowhere: no file, and no sweep below results/sweeps" in missing.err) == (2, True)


def test_a_sealed_sweep_is_compared_and_nothing_is_decided(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    path = evolve("propose", "--operator", "demonstrate").out.strip()
    assert evolve("benchmark", path).code == 0
    sweep = next((workspace / "results/sweeps").glob("sealed-*")).name
    kept = {file: file.read_bytes() for file in workspace.rglob("*") if file.is_file()}
    ran = evolve("compare", sweep, sweep, "--arm", "incumbent", "--arm-b", "candidate", "--metric", "resolved")
    assert "+100.0 points" in line_of(ran.out, "completed ")
    assert line_of(ran.out, "completed ").endswith("higher")
    assert f"note: sealed tasks of {sweep}: a comparison is no look, and promotes nothing" in ran.out
    assert kept == {file: file.read_bytes() for file in workspace.rglob("*") if file.is_file()}

"""``evolve ledger``."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evolve.cli.ledger import Told, _brief_row, _power_text, _told
from evolve.gate.planning import Spread
from evolve.promote.accounts import accounts_of
from evolve.promote.ledger import Ledger, NewLook, find_entry
from evolve.records.base import jsonl_bytes
from evolve.records.kinds import Outcome
from evolve.stats.multiplicity import alpha_at, lord_alpha
from evolve.workspace import find_workspace
from tests.conftest import CommandLine
from tests.worlds import ScriptedModel, make_workspace

SEALED = tuple(f"bracket-sealed-{number:02d}" for number in range(1, 9))
Look = Callable[..., None]


@pytest.fixture
def look(workspace: Path) -> Look:
    """Enter a look, and its decision where an outcome is given."""

    def enter(
        sweep: str, outcome: Outcome | None = None, *, skill: str = "bracket", tasks: tuple[str, ...] = SEALED
    ) -> None:
        ledger = Ledger(workspace / "promotion", workspace / "results/.locks")
        new = NewLook(skill, "ab" * 32, sweep, "2" * 64, tasks)
        entry = ledger.record_look(find_workspace(workspace).policy(), new, again=False)
        if outcome is not None:
            ledger.append(entry.model_copy(update={"entry": "decision", "outcome": outcome}))

    return enter


def set_policy(root: Path, text: str) -> None:
    (root / "promotion/policy.yaml").write_text(f"schema: evolve/policy@1\ncache: cold\n{text}\n")


def rewrite_last(workspace: Path, **fields: Any) -> None:
    """Change the last entry, which no later one vouches for."""
    ledger = Ledger(workspace / "promotion", workspace / "results/.locks")
    entries = ledger.read()
    ledger.path.write_bytes(jsonl_bytes((*entries[:-1], entries[-1].model_copy(update=fields))))


def test_an_empty_ledger_says_what_the_first_look_is_granted(workspace: Path, evolve: CommandLine) -> None:
    ran = evolve("ledger", "bracket")
    assert ran.code == 0
    assert "no look yet: the ledger is empty" in ran.out
    assert "bracket, 8 sealed tasks (bracket-sealed-01, " in ran.out
    assert "bracket-sealed-04 and 4 more): no look yet" in ran.out
    assert "granted so far 0 of 0.05; look 1 is granted 0.0304, one-sided" in ran.out
    assert "from 6 tasks on; there are 8" in ran.out
    assert "after 2 more looks" in ran.out
    assert "power for +25 points with 8 tasks x 3 runs: 0.38 at look 1" in ran.out
    assert "assumed" in ran.out
    assert "evolve ledger SKILL" not in ran.out


def test_skills_without_a_look_are_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, evolve: CommandLine
) -> None:
    """2^-6 is below the level 0.0304 and 2^-5 is not; 8 tasks reach the second look's 0.0076, not the third's."""
    monkeypatch.chdir(make_workspace(tmp_path / "two", skills=("bracket", "wall")))
    said, blank, title, header, *rows, power, more = evolve("ledger").out.splitlines()
    assert (said, blank) == ("no look yet: the ledger is empty", "")
    assert title == "without a look yet, levels one-sided (of 0.05):"
    columns = ["skill", "sealed tasks", "next look's level", "tasks needed", "last look that can prove", "power"]
    assert re.split("  +", header) == [*columns, "incumbent"]
    assert [re.split("  +", row) for row in rows] == [
        [name, "8", "0.0304", "6", "2", "0.38", "50.0 % assumed"] for name in ("bracket", "wall")
    ]
    assert power == "power for +25 points with 3 runs a task, approximate"
    assert more == "evolve ledger SKILL tells more of one"


def test_only_skills_without_a_look_are_in_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, evolve: CommandLine
) -> None:
    root = make_workspace(tmp_path / "two", skills=("bracket", "wall"))
    monkeypatch.chdir(root)
    new = NewLook("bracket", "ab" * 32, "one", "2" * 64, SEALED)
    Ledger(root / "promotion", root / "results/.locks").record_look(find_workspace(root).policy(), new, again=False)
    out = evolve("ledger").out
    assert "bracket, 8 sealed tasks" in out and "wall, 8 sealed tasks" not in out
    table = out[out.index("without a look yet") :]
    assert "\nwall  " in table and "bracket" not in table
    assert "wall, 8 sealed tasks" in evolve("ledger", "wall").out
    assert "without a look yet" not in evolve("ledger", "bracket").out


@pytest.mark.parametrize(("kept", "last"), [(5, "none: fresh sealed tasks are due now"), (6, "1")])
def test_the_table_says_which_look_is_the_last(workspace: Path, evolve: CommandLine, kept: int, last: str) -> None:
    for number in range(kept + 1, 9):
        shutil.rmtree(workspace / f"corpus/bracket-sealed-{number:02d}")
    row = re.split("  +", evolve("ledger").out.splitlines()[4])
    assert (row[1], row[4]) == (str(kept), last)


def test_the_table_says_what_is_not_planned(workspace: Path, model: ScriptedModel, evolve: CommandLine) -> None:
    model.answer = lambda system, user, seed: f"<{user.split()[-1]}>" if user.strip() else ""
    evolve("measure", "--skill", "bracket")

    def told() -> tuple[list[str], str]:
        lines = evolve("ledger").out.splitlines()
        return re.split("  +", lines[4]), "\n".join(lines[2:])

    row, out = told()
    assert row[5:] == ["no room", "100.0 % measured"]
    set_policy(workspace, "metric: cost_usd")
    row, out = told()
    assert row[2:] == ["0.0304", "6", "2", "-", "-"] and "power for" not in out
    set_policy(workspace, "preset: thresholds")
    row, out = told()
    assert evolve("ledger", "--json").json()["accounts"][0]["least_tasks"] is None
    assert row[2:] == ["0.0304", "-", "-", "-", "-"]
    assert "thresholds asks for no test" in out and "power for" not in out
    set_policy(workspace, "alpha_account: lord")
    assert "(lord, a false discovery rate of 0.05)" in told()[1]


def test_the_table_says_where_no_end_is_in_sight(workspace: Path) -> None:
    """Of 60 tasks 2^-60 is below the level of any look that is counted."""
    policy = find_workspace(workspace).policy()
    steady = Told(accounts_of((), policy, {"bracket": SEALED})[0], 2, None, 0.9, Spread())
    assert _power_text(steady, policy).endswith("assumed, assumed variances), and at least 0.5 as far as is counted")
    (account,) = accounts_of((), policy, {"bracket": [f"t-{number}" for number in range(60)]})
    assert _brief_row(_told(account, policy, None), policy)[4] == "no end in sight"


def test_looks_are_a_table_and_the_account_adds_them_up(workspace: Path, look: Look, evolve: CommandLine) -> None:
    look("sealed-one", Outcome.KEEP_INCUMBENT)
    look("sealed-two")
    ran = evolve("ledger", "bracket")
    header, first, second, *_ = ran.out.splitlines()
    assert header.split()[:4] == ["look", "date", "skill", "tasks"]
    assert first.split()[0] == "1" and first.split()[2:7] == ["bracket", "8", "1", "0.0304", "0"]
    assert first.endswith("keep incumbent  sealed-one  abababab")
    assert second.split()[5:7] == ["0.0076", "0.0304"] and "undecided" in second
    assert "2 looks" in ran.out
    assert "granted so far 0.038 of 0.05; look 3 is granted 0.00338" in ran.out
    assert "from 9 tasks on; there are 8" in ran.out
    assert "8 tasks can prove nothing at look 3: fresh sealed tasks are due now" in ran.out
    assert "0.00 at look 3" in ran.out and "below 0.5 already" in ran.out


def test_for_programs_it_is_one_document(workspace: Path, look: Look, evolve: CommandLine) -> None:
    look("sealed-one", Outcome.KEEP_INCUMBENT)
    found = evolve("ledger", "--json").json()
    (told,) = found["looks"]
    assert (told["look"], told["alpha"], told["spent_before"]) == (1, alpha_at(1, 0.05), 0)
    assert (told["outcome"], told["sweep"], told["sealed_tasks"]) == ("keep incumbent", "sealed-one", list(SEALED))
    (account,) = found["accounts"]
    assert (account["granted"], account["next_look"], account["next_alpha"]) == (
        alpha_at(1, 0.05),
        2,
        alpha_at(2, 0.05),
    )
    assert (account["least_tasks"], account["last_look_that_can_prove"], account["weak_from_look"]) == (8, 2, 2)
    assert found["policy"] == {"alpha": 0.05, "account": "inverse-square", "min_runs": 3}


def test_when_the_power_falls_is_said(workspace: Path, look: Look, evolve: CommandLine) -> None:
    set_policy(workspace, "alpha: 0.3")
    out = evolve("ledger", "bracket").out
    assert "below 0.5 from look 2 on" in out
    look("sealed-one")
    assert "below 0.5 already" in evolve("ledger").out


def test_lord_says_what_was_earned_back(workspace: Path, look: Look, evolve: CommandLine) -> None:
    set_policy(workspace, "alpha_account: lord")
    assert "so far at looks: none" in evolve("ledger", "bracket").out
    look("sealed-one", Outcome.KEEP_INCUMBENT)
    look("sealed-two", Outcome.PROMOTE)
    out = evolve("ledger").out
    assert "promotions earn level back, so far at looks: 2" in out
    assert f"look 3 is granted {lord_alpha(3, 0.05, (2,)):.3g}" in out


def test_tasks_that_are_sealed_no_more_keep_their_account(workspace: Path, look: Look, evolve: CommandLine) -> None:
    look("sealed-old", tasks=("gone-1", "gone-2"))
    look("sealed-other", skill="gone", tasks=("x",))
    out = evolve("ledger").out
    assert "\nbracket  8 " in out
    assert "bracket, 2 sealed tasks (gone-1, gone-2), not those that are sealed now: 1 look" in out
    assert "gone, 1 sealed tasks (x), not those that are sealed now: 1 look" in out
    other = evolve("ledger", "gone").out
    assert "bracket" not in other and "sealed-other" in other


def test_measured_rates_are_what_the_power_goes_by(workspace: Path, model: ScriptedModel, evolve: CommandLine) -> None:
    evolve("measure", "--skill", "bracket", "--runs", "2")
    assert "incumbent at 0.0 %, 6 runs of 3 tasks, assumed variances" in evolve("ledger", "bracket").out


def test_an_incumbent_without_room_is_said(workspace: Path, model: ScriptedModel, evolve: CommandLine) -> None:
    model.answer = lambda system, user, seed: f"<{user.split()[-1]}>" if user.strip() else ""
    evolve("measure", "--skill", "bracket")
    assert "100.0 %, which leaves no room for them" in evolve("ledger", "bracket").out


@pytest.mark.parametrize(
    ("policy", "said"), [("preset: thresholds", "asks for no test"), ("metric: cost_usd", "from 6 tasks on")]
)
def test_other_policies(workspace: Path, evolve: CommandLine, policy: str, said: str) -> None:
    set_policy(workspace, policy)
    ran = evolve("ledger", "bracket")
    assert ran.code == 0
    assert said in ran.out and "power for" not in ran.out


def test_without_a_sealed_task_the_first_level_is_said_all_the_same(workspace: Path, evolve: CommandLine) -> None:
    for path in workspace.glob("corpus/bracket-sealed-*"):
        shutil.rmtree(path)
    assert "a first look would be granted 0.0304 of 0.05" in evolve("ledger").out


def test_a_broken_chain_is_a_fault_with_its_place(workspace: Path, look: Look, evolve: CommandLine) -> None:
    look("sealed-one")
    look("sealed-two")
    path = workspace / "promotion/ledger.jsonl"
    path.write_text(path.read_text().replace("sealed-one", "sealed-won"))
    ran = evolve("ledger")
    assert ran.code == 1
    assert "ledger.jsonl:2: previous: the chain is broken here" in ran.err
    assert evolve("ledger", "--json").json()["error"]["code"] == "ledger-chain"


def test_hostile_entries_do_not_steer_the_terminal(workspace: Path, look: Look, evolve: CommandLine) -> None:
    look("sealed-one")
    rewrite_last(workspace, sweep="evil\x1b[2J\r\x9b31m\u202e\n9  2026-01-01  bracket  forged")
    for arguments in (("ledger",), ("ledger", "--json")):
        ran = evolve(*arguments)
        assert ran.code == 0
        assert not {"\x1b", "\r", "\x9b", "\u202e"} & set(ran.out)
    assert [line for line in evolve("ledger").out.splitlines() if line.startswith("9")] == []
    assert "forged" in evolve("ledger").out


def test_forged_numbers_are_a_fault_and_no_traceback(workspace: Path, look: Look, evolve: CommandLine) -> None:
    set_policy(workspace, "alpha_account: lord")
    look("sealed-one")
    rewrite_last(workspace, look=99)
    ledger = Ledger(workspace / "promotion", workspace / "results/.locks")
    ledger.append(ledger.read()[0].model_copy(update={"entry": "decision", "outcome": Outcome.PROMOTE}))
    for command in ("ledger", "power"):
        ran = evolve(command)
        assert ran.code == 1
        assert "the ledger's looks of bracket" in ran.err and "evolve audit" in ran.err


def test_a_skill_that_never_was_is_named(workspace: Path, evolve: CommandLine) -> None:
    ran = evolve("ledger", "unknown")
    assert ran.code == 2
    assert "unknown" in ran.err and "bracket" in ran.err


def test_a_real_look_is_shown(workspace: Path, model: ScriptedModel, evolve: CommandLine) -> None:
    path = evolve("propose", "--operator", "demonstrate").out.strip()
    assert evolve("benchmark", path).code == 0
    entries = Ledger(workspace / "promotion", workspace / "results/.locks").read()
    decision = find_entry(entries, "decision", entries[0].sweep)
    assert decision is not None and decision.outcome is Outcome.PROMOTE
    row = evolve("ledger").out.splitlines()[1]
    assert row.endswith(f"promote  {entries[0].sweep}  {entries[0].overlay_sha256[:8]}")

"""What a generation leaves in the archive, and what later ones take from it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from evolve.corpus.loading import load_corpus
from evolve.digest import sha256_json
from evolve.errors import InputError
from evolve.generation.notes import (
    MAX_REASON_CHARS,
    archive_entries,
    cost_of,
    effect_in_words,
    fate_of,
    numbers_of,
    scores_by_task,
)
from evolve.generation.pool import EARLIER, Candidate, Pool
from evolve.generation.search import with_archived
from evolve.generation.state import GenerationState, new_generation
from evolve.overlays import FrozenOverlay, apply_overlay, single_file_overlay
from evolve.propose.archive import add_to_archive, read_archive
from evolve.propose.edits import edits_of
from evolve.propose.search.engine import new_checkpoint
from evolve.records.archive import ArchiveEntry, Learning
from evolve.records.decision import Decision
from evolve.records.generation import Confirmed, Generation, Proposal, Request
from evolve.records.kinds import ErrorKind, Outcome
from evolve.records.overlay import OVERLAY_SCHEMA, OverlaySpec
from evolve.records.policy import Metric
from evolve.records.row import Row, Usage
from evolve.records.search import SearchSettings, Tried
from evolve.redact import MARK
from evolve.skills import SKILL_FILE, Skill, with_body
from evolve.workspace import Workspace, find_workspace
from tests.builders import NOW, digest_of, make_policy, make_row

SECRET = f"sk-ant-{'a1B2' * 8}"
AGENT = {"name": "scripted"}
ONE, TWO = digest_of(1), digest_of(2)


def proposal(name: str = "lesson", digest: str | None = ONE, **fields: Any) -> Proposal:
    values = {"name": name, "operator": "lesson", "step": "propose 1.1", "overlay": None, "overlay_sha256": digest}
    return Proposal.model_validate({**values, **fields})


def generation(*proposals: Proposal, **fields: Any) -> Generation:
    values = {"id": "g0001", "request": Request(), "started_at": NOW, "proposals": proposals}
    return Generation.model_validate({**values, **fields})


def test_scores_are_means_by_task_without_void_cells() -> None:
    rows = [make_row("t-1", 0), make_row("t-1", 1, resolved=False), make_row("t-2", 0, kind=ErrorKind.SESSION_ERROR)]
    assert scores_by_task(rows, make_policy()) == {"t-1": (0.5, 2)}
    assert scores_by_task([], make_policy()) == {}


def test_a_policy_that_looks_at_cost_is_scored_by_what_was_resolved() -> None:
    costs = [metric for metric in Metric if "cost" in metric.value]
    assert costs
    assert scores_by_task([make_row("t-1")], make_policy(metric=costs[0])) == {"t-1": (1.0, 1)}


@pytest.mark.parametrize(("costs", "total"), [([], None), ([3, 4], 7), ([3, None], None), ([None], None), ([0], 0)])
def test_costs_are_known_only_when_all_are(costs: list[int | None], total: int | None) -> None:
    rows = [make_row("t-1", n, usage=Usage(cost_usd_micros=cost)) for n, cost in enumerate(costs)]
    assert cost_of(rows) == total


def confirmed(digest: str, outcome: Outcome | None = None, why: str = "", effect: str = "") -> Confirmed:
    outcome = outcome or (Outcome.KEEP_INCUMBENT if why else Outcome.PROMOTE)
    return Confirmed(overlay_sha256=digest, evidence="promotion/x/y", outcome=outcome, why=why, effect=effect)


@pytest.mark.parametrize(
    ("made", "record", "fate", "says"),
    [
        ({"digest": None, "refused": "No rule."}, {}, "refused", "No rule."),
        ({"digest": None}, {}, "refused", ""),
        ({}, {}, "screened-out", "never measured"),
        ({"train": "1/2"}, {}, "screened-out", "better on train"),
        ({"train": "1/2", "selection": "1/2"}, {}, "not-selected", "better on selection"),
        ({"selection": "2/2"}, {"confirmed": (confirmed(TWO),)}, "not-selected", "better on selection"),
        ({"selection": "2/2"}, {"confirmed": (confirmed(TWO, why="No."), confirmed(ONE))}, "proven", "passed the gate"),
        ({}, {"confirmed": (confirmed(ONE, why="Too few."), confirmed(TWO))}, "unproven", "Too few."),
        ({}, {"confirmed": (confirmed(ONE, Outcome.KEEP_INCUMBENT),), "summary": "Ended."}, "unproven", "Ended."),
    ],
)
def test_the_fate_of_a_proposal_is_how_far_it_came(
    made: dict[str, Any], record: dict[str, Any], fate: str, says: str
) -> None:
    found, reason = fate_of(proposal(**made), generation(**record))
    assert found == fate and says in reason


def test_numbers_stand_beside_those_of_the_incumbent() -> None:
    record = generation(
        incumbent_train="0/2",
        incumbent_selection="1/3",
        confirmed=(confirmed(ONE, effect="+0.5 resolved, 8 tasks x 1 runs"),),
    )
    assert numbers_of(proposal(), generation()) == ""
    another = record.model_copy(update={"confirmed": (confirmed(TWO, effect="+1"),)})
    assert numbers_of(proposal(train="1/2"), another) == "train 1/2 (incumbent 0/2)"
    assert numbers_of(proposal(train="1/2", selection="3/3"), record) == (
        "train 1/2 (incumbent 0/2); selection 3/3 (incumbent 1/3); sealed +0.5 resolved, 8 tasks x 1 runs"
    )
    assert numbers_of(proposal(digest=None), record) == ""


def estimate(**fields: Any) -> Any:
    values = {"decides": True, "value": 0.5, "low": 0.25, "high": 0.75, "confidence": 0.9, "unit": "resolved"}
    return SimpleNamespace(**{**values, "tasks": 8, "runs": 2, **fields})


@pytest.mark.parametrize(
    ("estimates", "says"),
    [
        ([], ""),
        ([estimate(decides=False)], ""),
        ([estimate(value=None)], ""),
        ([estimate()], "+0.5 resolved (90%: +0.25 to +0.75), 8 tasks x 2 runs"),
        ([estimate(low=None)], "+0.5 resolved, 8 tasks x 2 runs"),
        ([estimate(decides=False), estimate(value=-0.5)], "-0.5 resolved (90%: +0.25 to +0.75), 8 tasks x 2 runs"),
    ],
)
def test_the_effect_is_told_with_its_interval_unit_and_size(estimates: list[Any], says: str) -> None:
    assert effect_in_words(cast(Decision, SimpleNamespace(estimates=estimates))) == says


class FakePool:
    """The parts of a pool that notes are taken from."""

    agent_identity = AGENT

    def __init__(self, skill: Skill, overlays: Mapping[str, FrozenOverlay], rows: Mapping[str, list[Row]]) -> None:
        self.skill, self._overlays, self._rows = skill, overlays, rows
        self.archived: dict[str, tuple[ArchiveEntry, Candidate]] = {}

    def rows(self, arm: str) -> list[Row]:
        return self._rows.get(arm, [])

    def get(self, digest: str) -> Candidate:
        if digest not in self._overlays:
            raise InputError("gone")
        overlay = self._overlays[digest]
        return Candidate("x", overlay, edits_of(self.skill, apply_overlay(self.skill, overlay)))


@pytest.fixture
def opened(workspace: Path) -> Workspace:
    return find_workspace(workspace)


def overlay(skill: Skill, more: str, rationale: str = "") -> FrozenOverlay:
    spec = OverlaySpec(schema_id=OVERLAY_SCHEMA, skills=(skill.name,), operator="lesson", rationale=rationale)
    return single_file_overlay(skill, SKILL_FILE, with_body(skill.text, f"{skill.body}\n\n{more}"), spec)


def left(
    workspace: Workspace, record: Generation, overlays: list[FrozenOverlay], rows: Mapping[str, list[Row]]
) -> tuple[list[ArchiveEntry], list[Learning]]:
    skill = workspace.skill("bracket")
    pool = FakePool(skill, {one.digest: one for one in overlays}, rows)
    search = new_checkpoint(SearchSettings(), ["t-1"], ["lesson"], 1)
    tried = tuple(Tried(id=one.digest, operator="lesson", edits=(one.digest,), tokens=3, round=1) for one in overlays)
    search = search.model_copy(update={"candidates": tried})
    state = GenerationState(workspace.root / "results", record)
    return archive_entries(workspace, state, cast(Pool, pool), search, make_policy(), NOW)


def test_each_candidate_has_a_line_and_a_folder_and_taught_something(opened: Workspace) -> None:
    skill = opened.skill("bracket")
    made = overlay(skill, "Use angle brackets.", "States a rule.")
    record = generation(
        proposal(digest=made.digest, train="1/1", resident_tokens=4, cost_usd_micros=9),
        proposal("prune", None, refused="Nothing.", operator="prune"),
        incumbent_selection="1/2",
    )
    rows = {"incumbent": [make_row("t-1", resolved=False)], "lesson": [make_row("t-1")]}
    entries, learnings = left(opened, record, [made], rows)
    assert [(one.name, one.fate, one.train) for one in entries] == [
        ("incumbent", "not-selected", {"t-1": (0.0, 1)}),
        ("lesson", "screened-out", {"t-1": (1.0, 1)}),
        ("prune", "refused", {}),
    ]
    lesson = entries[1]
    assert (lesson.resident_tokens, lesson.proposer_usd_micros) == (4, 9)
    assert lesson.overlay and (opened.root / lesson.overlay / "overlay.yaml").is_file()
    assert entries[2].overlay is None and entries[2].earned is None
    assert [(one.operator, one.idea) for one in learnings] == [
        ("lesson", "States a rule. Adds: Use angle brackets."),
        ("prune", "prune"),
    ]


def test_no_secret_and_no_endless_reason_is_written(opened: Workspace) -> None:
    made = overlay(opened.skill("bracket"), "More.", f"Because of {SECRET}.")
    record = generation(
        proposal(digest=made.digest),
        proposal("reflect", None, refused=f"The key {SECRET} was refused."),
        confirmed=(confirmed(made.digest, why=f"{SECRET} " + "w" * 5000),),
    )
    entries, learnings = left(opened, record, [made], {})
    written = "".join(one.model_dump_json() for one in (*entries, *learnings))
    assert SECRET not in written and written.count(MARK) == 5
    assert len(entries[1].reason) == len(learnings[0].reason) == MAX_REASON_CHARS
    folder = opened.root / str(entries[1].overlay)
    assert SECRET not in "".join(path.read_text() for path in folder.rglob("*") if path.is_file())


def test_a_candidate_whose_text_is_gone_is_told_of_all_the_same(opened: Workspace) -> None:
    entries, learnings = left(opened, generation(proposal(train="1/1")), [], {})
    assert (entries[1].overlay, entries[1].overlay_sha256, learnings[0].idea) == (None, ONE, "lesson")


def pool_of(workspace: Workspace) -> Pool:
    corpus = load_corpus(workspace.corpus)
    bench = SimpleNamespace(
        workspace=workspace, corpus=corpus, policy=workspace.policy(), agent=SimpleNamespace(identity=AGENT)
    )
    state = new_generation(workspace.root / "results" / "generations", Request(), None)
    return Pool(cast(Any, bench), state, workspace.skill("bracket"))


def archived(workspace: Workspace, *more: str, **fields: Any) -> list[ArchiveEntry]:
    """Archive a generation that tried candidates with this text, and return its lines."""
    skill = workspace.skill("bracket")
    overlays = [overlay(skill, text) for text in more]
    task = "bracket-train-01"
    names = [f"lesson-{n}" for n in range(len(more))]
    proposals = [proposal(name, one.digest, train="1/1") for name, one in zip(names, overlays, strict=True)]
    rows = {name: [make_row(task)] for name in ("incumbent", *names)}
    entries, learnings = left(workspace, generation(*proposals, id="g0000"), overlays, rows)
    entries = [entry.model_copy(update=fields) for entry in entries]
    add_to_archive(workspace, entries, learnings)
    return entries


def test_later_generations_know_what_fits_the_skill_as_it_is(opened: Workspace) -> None:
    entries = archived(opened, "First.", "Second.")
    pool = pool_of(opened)
    assert list(pool.archived) == [entry.overlay_sha256 for entry in entries[1:]]
    assert [known.name for known in pool.earlier()] == ["lesson-0 of g0000", "lesson-1 of g0000"]
    assert [candidate.name for _, candidate in pool.archived.values()] == ["g0000-lesson-0", "g0000-lesson-1"]
    opened.root.joinpath("skills/bracket/SKILL.md").write_text(opened.skill("bracket").text + "\nMore.\n")
    assert pool_of(opened).archived == {}


def test_a_candidate_that_only_adds_a_file_does_not_fit_another_text_either(opened: Workspace) -> None:
    skill = opened.skill("bracket")
    spec = OverlaySpec(schema_id=OVERLAY_SCHEMA, skills=("bracket",))
    added = single_file_overlay(skill, "more.md", "More.\n", spec)
    add_to_archive(opened, left(opened, generation(proposal(digest=added.digest), id="g0000"), [added], {})[0], [])
    assert list(pool_of(opened).archived) == [added.digest]
    opened.root.joinpath("skills/bracket/SKILL.md").write_text(skill.text + "\nMore.\n")
    assert pool_of(opened).archived == {}


def _rewritten(folder: Path) -> None:
    text = (folder / "skills/bracket/SKILL.md").read_text()
    (folder / "skills/bracket/SKILL.md").write_text(text + "\nMore.\n")


def _gone(folder: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))


def _without_its_text(folder: Path) -> None:
    (folder / "skills/bracket/SKILL.md").unlink()


def _with_another_file(folder: Path) -> None:
    (folder / "skills/bracket/more.md").write_text("More.\n")


def _broken(folder: Path) -> None:
    (folder / "overlay.yaml").write_text("schema: [")


def _linked(folder: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))
    folder.symlink_to("elsewhere")


@pytest.mark.parametrize("change", [_rewritten, _gone, _without_its_text, _with_another_file, _broken, _linked])
def test_an_archived_candidate_whose_folder_was_changed_is_not_used(opened: Workspace, change: Any) -> None:
    entries = archived(opened, "First.", "Second.")
    change(opened.root / str(entries[1].overlay))
    assert list(pool_of(opened).archived) == [entries[2].overlay_sha256]


def test_only_the_latest_of_a_long_archive_are_taken_up(opened: Workspace) -> None:
    (line,) = archived(opened, "First.")[1:]
    others = [line.model_copy(update={"name": f"x-{n}", "overlay": "overlays/none"}) for n in range(EARLIER)]
    add_to_archive(opened, [one.model_copy(update={"generation": "g-1"}) for one in others], [])
    assert len(read_archive(opened)) == EARLIER + 2 and pool_of(opened).archived == {}


@pytest.mark.parametrize(
    ("fields", "batches"),
    [
        ({}, ["g0000", "g0000"]),
        ({"agent_sha256": sha256_json({"name": "another"})}, []),
        ({"incumbent": digest_of("another text")}, []),
        ({"skill": "wall"}, []),
        ({"train": {"no-such-task": (1.0, 1)}}, []),
        ({"train": {}}, []),
    ],
)
def test_scores_of_another_agent_text_skill_or_task_teach_nothing(
    opened: Workspace, fields: dict[str, Any], batches: list[str]
) -> None:
    archived(opened, "First.", **fields)
    begin = new_checkpoint(SearchSettings(), ["bracket-train-01"], ["lesson"], 1)
    begun = with_archived(begin, pool_of(opened), read_archive(opened))
    assert [seen.batch for seen in begun.seen] == batches
    assert [seen.candidate is None for seen in begun.seen] == [True, False][: len(batches)]


def test_scores_without_the_incumbent_beside_them_compare_with_nothing(opened: Workspace) -> None:
    entries = archived(opened, "First.")
    begin = new_checkpoint(SearchSettings(), ["bracket-train-01"], ["lesson"], 1)
    assert with_archived(begin, pool_of(opened), entries[1:]).seen == ()

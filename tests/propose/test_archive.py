"""The archive of candidates and learnings: reading, adding, and telling what is new."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.errors import BusyError, InputError
from evolve.files import write_atomic, writer_lock
from evolve.overlays import FrozenOverlay, single_file_overlay
from evolve.propose import archive
from evolve.propose.archive import (
    Known,
    add_to_archive,
    check_new,
    nearly_the_same,
    operator_states,
    read_archive,
    read_learnings,
)
from evolve.propose.edits import Edit, edits_of
from evolve.records.archive import ARCHIVE_FILE, LEARNINGS_FILE, ArchiveEntry, Learning
from evolve.records.base import jsonl_bytes
from evolve.records.overlay import OVERLAY_SCHEMA, OverlaySpec
from evolve.skills import SKILL_FILE, Skill
from evolve.workspace import Workspace, find_workspace
from tests.builders import NOW, digest_of, make_skill, skill_text


def entry(generation: str = "g0001", name: str = "lesson", **fields: Any) -> ArchiveEntry:
    values = {
        "at": NOW,
        "generation": generation,
        "name": name,
        "skill": "greeter",
        "incumbent": digest_of("incumbent"),
        "agent_sha256": digest_of("agent"),
        "operator": "lesson",
        "overlay": f"overlays/{name}",
        "overlay_sha256": digest_of(name),
        "fate": "screened-out",
    }
    return ArchiveEntry.model_validate({**values, **fields})


def learning(generation: str = "g0001", idea: str = "An idea.", **fields: Any) -> Learning:
    values = {"at": NOW, "generation": generation, "skill": "greeter", "incumbent": digest_of("incumbent")}
    return Learning.model_validate({**values, "operator": "lesson", "idea": idea, "fate": "unproven", **fields})


@pytest.fixture
def opened(workspace: Path) -> Workspace:
    return find_workspace(workspace)


def test_what_was_never_written_is_empty(opened: Workspace) -> None:
    assert read_archive(opened) == () and read_learnings(opened) == ()
    add_to_archive(opened, [], [])
    assert not (opened.overlays / ARCHIVE_FILE).exists()


def test_generations_add_to_what_is_there_in_order(opened: Workspace) -> None:
    add_to_archive(opened, [entry(), entry(name="prune")], [learning()])
    add_to_archive(opened, [entry("g0002")], [learning("g0002")])
    assert [(one.generation, one.name) for one in read_archive(opened)] == [
        ("g0001", "lesson"),
        ("g0001", "prune"),
        ("g0002", "lesson"),
    ]
    assert [one.generation for one in read_learnings(opened)] == ["g0001", "g0002"]


@pytest.mark.parametrize("fields", [{"skill": "other"}, {"incumbent": digest_of("another text")}, {"generation": "g2"}])
def test_what_is_of_another_skill_text_or_generation_stays(opened: Workspace, fields: dict[str, str]) -> None:
    add_to_archive(opened, [entry()], [learning()])
    add_to_archive(opened, [entry(**fields)], [learning(**fields)])
    assert (len(read_archive(opened)), len(read_learnings(opened))) == (2, 2)


def test_a_generation_that_was_interrupted_between_the_two_files_gives_no_line_twice(
    opened: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_to_archive(opened, [entry("g0000")], [learning("g0000")])

    def interrupted(path: Path, data: bytes) -> None:
        if path.name == LEARNINGS_FILE:
            raise KeyboardInterrupt
        write_atomic(path, data)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(archive, "write_atomic", interrupted)
        add_to_archive(opened, [entry(), entry(name="prune")], [learning()])
    assert (len(read_archive(opened)), len(read_learnings(opened))) == (3, 1)
    for _ in range(2):
        add_to_archive(opened, [entry(), entry(name="prune")], [learning()])
        assert (len(read_archive(opened)), len(read_learnings(opened))) == (3, 2)


def test_two_generations_at_once_lose_no_line_of_each_other(opened: Workspace) -> None:
    def add(number: int) -> None:
        add_to_archive(opened, [entry(f"g{number}")], [learning(f"g{number}")])

    threads = [threading.Thread(target=add, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(one.generation for one in read_archive(opened)) == [f"g{number}" for number in range(8)]
    assert len(read_learnings(opened)) == 8


def test_an_archive_that_another_process_holds_is_waited_for_and_then_refused(
    opened: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "LOCK_WAIT_S", 0.05)
    with (
        writer_lock(opened.locks / "archive.lock", "the archive"),
        pytest.raises(BusyError, match="the archive is being"),
    ):
        add_to_archive(opened, [entry()], [])
    assert read_archive(opened) == ()


GOOD = jsonl_bytes([entry()]).decode()


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "JSON"),
        ("", "JSON"),
        ("<<<<<<< HEAD", "JSON"),
        (GOOD[: len(GOOD) // 2], "JSON"),
        ("[]", ""),
        (GOOD.strip().replace("screened-out", "lost"), "fate"),
        (GOOD.strip().replace("evolve/archive@1", "evolve/archive@2"), "schema"),
        (json.dumps({**json.loads(GOOD), "more": 1}), "more"),
        (json.dumps({**json.loads(GOOD), "train": {"t-1": [2]}}), "train"),
        ("\x00", "JSON"),
    ],
)
def test_a_damaged_line_is_named_with_its_number_and_a_remedy(opened: Workspace, line: str, says: str) -> None:
    path = opened.overlays / ARCHIVE_FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{GOOD}{line}\n{GOOD}")
    with pytest.raises(InputError) as caught:
        read_archive(opened)
    assert caught.value.message.startswith(f"{path}:2") and says in caught.value.message
    assert caught.value.hint and "take the line out" in caught.value.hint
    with pytest.raises(InputError):
        add_to_archive(opened, [entry("g0009")], [])
    assert path.read_text() == f"{GOOD}{line}\n{GOOD}"


def test_an_archive_of_ten_thousand_lines_is_read_in_no_time(opened: Workspace) -> None:
    train = {f"t-{n}": (0.5, 2) for n in range(6)}
    add_to_archive(opened, [entry(train=train, reason="r" * 100)] * 10_000, [])
    began = time.process_time()
    assert len(read_archive(opened)) == 10_000
    assert time.process_time() - began < 1


def test_operators_are_known_by_what_they_earned_with_this_skill() -> None:
    entries = [
        entry(earned=0.75),
        entry(earned=0.25),
        entry(earned=None, fate="unproven"),
        entry(earned=None, fate="refused", overlay=None, overlay_sha256=None),
        entry(skill="other", earned=1.0),
        entry(name="recombined-2", earned=1.0),
        entry(name="recombined", operator="prune", earned=1.0),
        entry(operator="incumbent", name="incumbent"),
        entry(agent_sha256="1" * 64, earned=1.0),
        entry(name="g0001-lesson", earned=1.0),
    ]
    lesson, prune = operator_states(entries, "greeter", ("lesson", "prune"), entries[0].agent_sha256)
    assert (lesson.asked, lesson.refused, lesson.earned, lesson.missed) == (4, 1, 1.0, 2.0)
    assert (prune.asked, prune.earned, prune.missed) == (0, 0.0, 0.0)
    assert operator_states([], "greeter", (), "1" * 64) == ()


WORDS = [f"word{number}" for number in range(100)]
SKILL = make_skill(body="Say hello.\n\n1. Be kind.")


def overlay(body: str, skill: Skill = SKILL) -> FrozenOverlay:
    spec = OverlaySpec(schema_id=OVERLAY_SCHEMA, skills=(skill.name,))
    return single_file_overlay(skill, SKILL_FILE, skill_text(body=body), spec)


def with_words(*words: str) -> str:
    return f"{SKILL.body}\n2. {' '.join(words)}"


def verdict(body: str, *earlier: str) -> str | None:
    try:
        check_new(overlay(body), SKILL, [Known.of(f"number {n}", overlay(one), SKILL) for n, one in enumerate(earlier)])
    except InputError as error:
        assert error.code is not None
        return error.code
    return None


@pytest.mark.parametrize(
    ("body", "earlier", "code"),
    [
        (with_words(*WORDS), [], None),
        ("Say   hello.\n\n\n7. be KIND.", [], "no-change"),
        (SKILL.body, [], "no-change"),
        (with_words(*WORDS), [with_words("other"), with_words(*WORDS)], "known-candidate"),
        (
            with_words(*WORDS),
            [with_words(*WORDS).replace("2. ", "3. ").replace(" word5 ", "  WORD5 ")],
            "near-duplicate",
        ),
        (with_words(*WORDS), [with_words(*WORDS[:95], "a", "b", "c", "d", "e")], "near-duplicate"),
        (with_words(*WORDS), [with_words(*WORDS[:94], "a", "b", "c", "d", "e", "f")], None),
        (with_words(*WORDS), [with_words(*WORDS[:50], "new", *WORDS[50:])], "near-duplicate"),
        (with_words(*WORDS), [with_words(*reversed(WORDS))], None),
        (with_words(*WORDS), [with_words(*WORDS[50:], *WORDS[:50])], None),
        (with_words(*WORDS), [with_words(*WORDS).replace("1. Be kind.\n2", "1")], None),
        (with_words(*WORDS), [with_words(*WORDS).replace("Say hello.", "Say goodbye.")], None),
        ("Say hello.", ["1. Be kind."], None),
        ("Say hello.", [f"{SKILL.body}\n2. More."], None),
        ("Say hello.", ["Say hello.\n\n\n"], "near-duplicate"),
    ],
)
def test_a_candidate_is_new_when_enough_of_its_words_are(body: str, earlier: list[str], code: str | None) -> None:
    assert verdict(body, *earlier) == code


def test_the_refusal_names_the_earlier_candidate() -> None:
    earlier = [Known.of("lesson of g0001", overlay(with_words(*WORDS)), SKILL)]
    with pytest.raises(InputError, match=r"equals lesson of g0001"):
        check_new(overlay(with_words(*WORDS)), SKILL, earlier)
    with pytest.raises(InputError, match=r"hardly differs from lesson of g0001"):
        check_new(overlay(with_words(*WORDS[:99])), SKILL, earlier)


@given(st.lists(st.sampled_from("abc"), max_size=12), st.lists(st.sampled_from("abc"), max_size=12))
def test_likeness_is_symmetric_enough_and_whole_for_equals(one: list[str], other: list[str]) -> None:
    def edits(words: list[str]) -> list[Edit]:
        return [Edit("notes.md", whole=" ".join(words))]

    assert nearly_the_same(edits(one), edits(one))
    if sorted(one) != sorted(other):
        assert not nearly_the_same(edits(one), edits(other))


def test_long_texts_are_compared_in_no_time() -> None:
    words = ["the", "a", "of", *map(str, range(50))] * 4000
    moved = words[100_001:] + words[:100_001]
    began = time.process_time()
    assert not nearly_the_same([Edit("m.md", whole=" ".join(words))], [Edit("m.md", whole=" ".join(moved))])
    changed = [*words[:1000], "changed", *words[1001:]]
    assert nearly_the_same([Edit("m.md", whole=" ".join(words))], [Edit("m.md", whole=" ".join(changed))])
    assert time.process_time() - began < 2


def test_edits_of_a_known_candidate_are_those_that_lead_to_it() -> None:
    body = with_words("new")
    assert Known.of("x", overlay(body), SKILL).edits == edits_of(SKILL, make_skill(body=body))

"""What a program leaves is hostile until it is proven to be a proposal."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from evolve.errors import InputError
from evolve.propose.bundle.build import Bundle, Measured, Sources, build_bundle
from evolve.propose.collect import collect, rationale_of, read_statement
from evolve.records.kinds import Split
from evolve.skills import Skill
from tests.builders import make_corpus, make_policy, make_row, make_skill, make_task, skill_text, write_files

KEY = "sk-" + "k" * 30
SKILL = make_skill(body="Say hello.", notes__md="More.", secret__md=f"Use {KEY}.")
NEW = skill_text(body="Say hello, and then the name.")


def bundle_for(skill: Skill, folder: Path) -> Bundle:
    row = make_row("t-1", split=Split.TRAIN, resolved=False)
    return build_bundle(Sources(skill, make_corpus(make_task("t-1")), make_policy(), (Measured((row,), folder),)))


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    return bundle_for(SKILL, tmp_path / "sweep")


@pytest.fixture
def work(tmp_path: Path, bundle: Bundle) -> Path:
    bundle.files.write_scratch(tmp_path / "work")
    return tmp_path / "work"


def test_what_was_changed_and_added_below_the_skill_is_the_proposal(work: Path, bundle: Bundle) -> None:
    write_files(work / "skill", {"SKILL.md": NEW, "refs/names.txt": "Ann"})
    collected = collect(work, bundle, SKILL)
    assert dict(collected.files.texts()) == {"SKILL.md": NEW, "refs/names.txt": "Ann"}
    assert (collected.beside, collected.stated.rationale) == ((), "")


def test_what_was_changed_beside_the_skill_is_passed_over_and_named(work: Path, bundle: Bundle) -> None:
    write_files(work, {"skill/SKILL.md": NEW, "README.md": "mine", "notes\x1b[2J.md": "x", ".git/config": "x"})
    (work / "history.md").unlink()
    (work / "link").symlink_to("/etc/passwd")
    os.mkfifo(work / "pipe")
    collected = collect(work, bundle, SKILL)
    assert list(collected.files.files) == ["SKILL.md"]
    assert collected.beside == ("README.md", "history.md", "link", "notes\x1b[2J.md", "pipe")
    rationale = rationale_of(collected, 0)
    assert "passed over: README.md, history.md, link, notes" in rationale and "\x1b" not in rationale


def write(name: str, content: str | bytes) -> Callable[[Path], object]:
    return lambda skill: write_files(skill, {name: content})


def replaced_by_a_link(skill: Path) -> None:
    (skill / "SKILL.md").unlink()
    (skill / "SKILL.md").symlink_to("../README.md")


def replaced_as_a_whole(skill: Path) -> None:
    skill.rename(skill.with_name("skill-2"))
    skill.symlink_to("skill-2")


def too_many(skill: Path) -> None:
    write_files(skill, {f"{n}.md": "x" for n in range(65)})


def too_much_together(skill: Path) -> None:
    write_files(skill, {f"{n}.md": "x" * 1024 * 1024 for n in range(5)})


@pytest.mark.parametrize(
    ("mischief", "said"),
    [
        (lambda skill: None, "nothing below skill/ was changed"),
        (lambda skill: (skill / "notes.md").unlink(), r"skill/notes\.md was deleted"),
        (lambda skill: (skill / "notes.md").rename(skill / "notes.txt"), r"skill/notes\.md was deleted"),
        (replaced_as_a_whole, "was deleted"),
        (replaced_by_a_link, r"skill/SKILL\.md is no plain file"),
        (lambda skill: (skill / "new.md").symlink_to("/etc/passwd"), r"skill/new\.md is no plain file"),
        (lambda skill: os.mkfifo(skill / "pipe.md"), r"skill/pipe\.md is no plain file"),
        (write("run.sh", "rm -rf /"), r"run\.sh is none of \.md, \.txt"),
        (write("a.md", b"\xff\xfe"), "not UTF-8"),
        (write("a.md", b"a\0b"), "byte order mark or a NUL"),
        (write("big.md", "x" * (4 * 1024 * 1024 + 1)), r"big\.md cannot be read, or is larger than 4 MiB"),
        (too_many, "more than 64 files"),
        (too_much_together, "4 MiB were changed"),
        (write(".git/hooks.md", "x"), "is not a path inside"),
        (write("a\nb.md", "x"), "is not a path inside"),
        (lambda skill: os.close(os.open(os.fsencode(skill) + b"/\xff.md", os.O_CREAT)), "is not a path inside"),
        (write("secret.md", "Use it."), r"secret\.md was not shown as it is"),
    ],
)
def test_what_is_no_proposal_is_refused_with_the_reason(
    work: Path, bundle: Bundle, mischief: Callable[[Path], object], said: str
) -> None:
    mischief(work / "skill")
    with pytest.raises(InputError, match=said) as caught:
        collect(work, bundle, SKILL)
    caught.value.message.encode("utf-8")
    assert caught.value.message.isprintable()


def test_a_secret_that_was_not_shown_stays_in_the_skill(work: Path, bundle: Bundle) -> None:
    write_files(work / "skill", {"SKILL.md": NEW})
    assert KEY not in (work / "skill/secret.md").read_text()
    assert "secret.md" not in collect(work, bundle, SKILL).files.files


def test_a_secret_that_a_program_writes_is_taken_out(work: Path, bundle: Bundle) -> None:
    write_files(work / "skill", {"SKILL.md": NEW + KEY})
    assert KEY not in collect(work, bundle, SKILL).files.text("SKILL.md")


def test_a_statement_is_read_as_texts_redacted_and_capped(work: Path) -> None:
    risks = ", ".join(f'"risk {n}"' for n in range(20))
    said = f'{{"rationale": "It\\u001b[2J fails\\n{KEY}", "expected_effect": "{"e" * 5000}", "risks": [{risks}]}}'
    write_files(work, {"proposal.json": said})
    stated = read_statement(work)
    assert stated.rationale == "It\\u001b[2J fails [redacted]"
    assert len(stated.expected_effect) == 1000
    assert stated.risks == tuple(f"risk {n}" for n in range(10))


def test_a_statement_may_be_yaml(work: Path) -> None:
    write_files(work, {"proposal.yaml": "rationale: Short replies fail.\nrisks: [longer text]\n"})
    stated = read_statement(work)
    assert (stated.rationale, stated.risks, stated.passed_over) == ("Short replies fail.", ("longer text",), "")


@pytest.mark.parametrize(
    "files",
    [
        {"proposal.json": "{broken"},
        {"proposal.json": "[" * 100_000},
        {"proposal.json": '{"rationale": 7}'},
        {"proposal.json": '{"risks": "all"}'},
        {"proposal.json": '{"risks": [1]}'},
        {"proposal.json": "7" * 10_000},
        {"proposal.json": b"\xff"},
        {"proposal.json": "x" * (64 * 1024 + 1)},
        {"proposal.yaml": "a: [b"},
        {"proposal.yaml": "a: &x [1]\nb: *x\n"},
        {"proposal.yaml": "!!python/object/apply:os.system ['touch /tmp/x']"},
        {"proposal.yaml": "a: " + "9" * 10_000},
        {"proposal.yml": ""},
    ],
    ids=lambda files: str(files)[:50],
)
def test_a_statement_that_cannot_be_read_is_passed_over_and_that_is_said(
    work: Path, bundle: Bundle, files: dict[str, str | bytes]
) -> None:
    write_files(work, {"skill/SKILL.md": NEW, **files})
    collected = collect(work, bundle, SKILL)
    assert collected.stated.rationale == ""
    assert f"Passed over: {next(iter(files))} " in rationale_of(collected, 0)


@pytest.mark.parametrize("kind", ["link", "dangling", "folder", "pipe"])
def test_a_statement_that_is_no_plain_file_is_never_followed_or_waited_for(
    work: Path, tmp_path: Path, kind: str
) -> None:
    place = work / "proposal.json"
    write_files(tmp_path, {"outside.json": '{"rationale": "outside"}'})
    match kind:
        case "link":
            place.symlink_to(tmp_path / "outside.json")
        case "dangling":
            place.symlink_to("nowhere")
        case "folder":
            place.mkdir()
        case _:
            os.mkfifo(place)
    stated = read_statement(work)
    assert stated.rationale == "" and "no plain file" in stated.passed_over

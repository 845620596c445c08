"""Overlays: reading, validating, applying, writing and showing."""

from __future__ import annotations

import json
import os
import unicodedata
from dataclasses import replace
from pathlib import Path

import pytest

from evolve.digest import sha256_bytes
from evolve.errors import InputError
from evolve.overlays import (
    FrozenOverlay,
    apply_overlay,
    base_digests,
    changing,
    declared,
    overlay_diff,
    read_overlay,
    single_file_overlay,
    validate_overlay,
    write_overlay,
)
from evolve.records.kinds import Split
from evolve.records.overlay import OVERLAY_SCHEMA, OverlaySpec
from evolve.snapshot import FileEntry, Snapshot
from tests.builders import make_corpus, make_skill, make_task, skill_text, write_files

SKILL = make_skill(body="Say hello.", notes__md="Old notes.")
SKILL_PATH = "skills/greeter/SKILL.md"
CORPUS = make_corpus(
    make_task("greet-train-1", prompt="Greet the train driver politely."),
    make_task(
        "greet-sealed-1",
        split=Split.SEALED,
        prompt="Greet the sealed visitor warmly.",
        good={"answer.md": "Welcome, dear sealed visitor!\n"},
    ),
)


def spec(**fields: object) -> OverlaySpec:
    return OverlaySpec.model_validate({"schema": OVERLAY_SCHEMA, "skills": ["greeter"], **fields})


def overlay_of(files: dict[str, str | bytes], **fields: object) -> FrozenOverlay:
    held = {path: FileEntry(text if isinstance(text, bytes) else text.encode()) for path, text in files.items()}
    return FrozenOverlay(spec=spec(**fields), files=Snapshot(held))


def refusal(overlay: FrozenOverlay) -> InputError:
    with pytest.raises(InputError) as caught:
        validate_overlay(overlay, SKILL, CORPUS, "overlays/x")
    assert caught.value.message.startswith(("overlays/x: ", "skills/greeter/SKILL.md: ", "snapshot: "))
    return caught.value


def test_a_valid_overlay_gives_the_candidate_skill() -> None:
    texts: dict[str, str | bytes] = {SKILL_PATH: skill_text(body="Say hello, loudly."), "skills/greeter/new.md": "New."}
    overlay = overlay_of(texts, adds=["skills/greeter/new.md"])
    candidate = validate_overlay(overlay, SKILL, CORPUS, "overlays/x")
    assert candidate.body == "Say hello, loudly."
    assert sorted(candidate.files.files) == ["SKILL.md", "new.md", "notes.md"]
    assert candidate == apply_overlay(SKILL, overlay)
    assert candidate.fingerprint != SKILL.fingerprint


@pytest.mark.parametrize(
    ("files", "code", "says"),
    [
        ({}, "empty-overlay", "holds no file"),
        ({"skills/other/SKILL.md": "x"}, "overlay-scope", "skills/other/SKILL.md"),
        ({"skills/greeter-2/SKILL.md": "x"}, "overlay-scope", "outside skills/greeter/"),
        ({"README.md": "x"}, "overlay-scope", "README.md"),
        ({"skills/greeter/../../evil.md": "x"}, "unsafe-path", "evil.md"),
        ({"/etc/evil.md": "x"}, "unsafe-path", "/etc/evil.md"),
        ({"skills/greeter/.git/config.md": "x"}, "unsafe-path", ".git"),
        ({"skills/greeter/run.py": "x"}, "invalid-input", "run.py: only .md and .txt"),
        ({"skills/greeter/SKILL.md": b"\xff"}, "not-utf8", "SKILL.md: not UTF-8 (byte 0)"),
        ({SKILL_PATH: "no frontmatter"}, "invalid-skill", "frontmatter"),
        ({SKILL_PATH: skill_text()}, "no-change", "equals the incumbent"),
        ({"skills/greeter/NOTES.md": "x"}, "name-collision", "NOTES.md"),
        ({"skills/greeter/SKILL.md/below.md": "x"}, "name-collision", "is a file and a folder"),
    ],
)
def test_an_overlay_that_breaks_a_rule_is_refused(files: dict[str, str | bytes], code: str, says: str) -> None:
    error = refusal(overlay_of(files))
    assert error.code == code
    assert says in error.message


@pytest.mark.parametrize(
    ("files", "code"),
    [
        ({f"skills/greeter/{number}.md": "x" for number in range(64)}, None),
        ({f"skills/greeter/{number}.md": "x" for number in range(65)}, "too-many-files"),
        ({"skills/greeter/a.md": "x" * 2**21, "skills/greeter/b.md": "x" * 2**21}, None),
        ({"skills/greeter/a.md": "x" * 2**21, "skills/greeter/b.md": "x" * (2**21 + 1)}, "too-large"),
    ],
)
def test_the_caps_of_a_folder_hold_in_memory_too(files: dict[str, str | bytes], code: str | None) -> None:
    if code is None:
        validate_overlay(declared(SKILL, overlay_of(files)), SKILL, CORPUS, "overlays/x")
    else:
        assert refusal(overlay_of(files)).code == code


def test_no_secret_is_written_in_what_an_overlay_says_of_itself(tmp_path: Path) -> None:
    secret = f"sk-ant-{'a1B2' * 8}"
    overlay = overlay_of({SKILL_PATH: "x"}, rationale=f"By {secret}.", expected_effect=secret, risks=[secret, "None."])
    write_overlay(tmp_path / "o", overlay, staging=tmp_path / "staging")
    assert secret not in (tmp_path / "o" / "overlay.yaml").read_text()
    assert read_overlay(tmp_path / "o", {}).spec.risks == ("[redacted]", "None.")


def test_an_executable_prompt_is_refused() -> None:
    overlay = FrozenOverlay(spec(), Snapshot({"skills/greeter/x.md": FileEntry(b"x", executable=True)}))
    assert "not executable" in refusal(overlay).message


def test_an_overlay_that_was_written_against_another_text_is_refused() -> None:
    text = skill_text(body="Say hello, loudly.")
    bases = {SKILL_PATH: sha256_bytes(b"another text")}
    assert refusal(overlay_of({SKILL_PATH: text}, bases=bases)).code == "base-changed"
    held = {SKILL_PATH: sha256_bytes(SKILL.text.encode())}
    validate_overlay(overlay_of({SKILL_PATH: text}, bases=held), SKILL, CORPUS, "overlays/x")


@pytest.mark.parametrize(
    ("body", "worked_examples", "leaks"),
    [
        ("As in greet-sealed-1.", (), True),
        ("User: greet  the SEALED\nvisitor warmly.", (), True),
        ("Reply: welcome, dear sealed visitor!", (), True),
        ("User: Greet the train driver politely.", (), True),
        ("User: Greet the train driver politely.", ("greet-train-1",), False),
        ("Greet the sealed visitor warmly.", ("greet-sealed-1",), True),
        ("Greet visitors warmly.", (), False),
    ],
)
def test_passages_of_tasks_are_allowed_of_declared_train_tasks_only(
    body: str, worked_examples: tuple[str, ...], leaks: bool
) -> None:
    overlay = overlay_of({SKILL_PATH: skill_text(body=body)}, worked_examples=worked_examples)
    if leaks:
        assert refusal(overlay).code == "leak"
    else:
        validate_overlay(overlay, SKILL, CORPUS, "overlays/x")


def test_a_leak_into_a_second_file_is_found_too() -> None:
    path = "skills/greeter/deep/er.txt"
    assert refusal(overlay_of({path: "greet-sealed-1"}, adds=[path])).code == "leak"


def test_what_a_single_file_overlay_replaces_is_recorded() -> None:
    overlay = single_file_overlay(SKILL, "SKILL.md", skill_text(body="New."), spec())
    assert overlay.spec.bases == {SKILL_PATH: sha256_bytes(SKILL.text.encode())}
    added = single_file_overlay(SKILL, "more.md", "New.", spec())
    assert (added.spec.bases, added.spec.adds) == ({}, ("skills/greeter/more.md",))
    assert base_digests(SKILL, added) == {"skills/greeter/more.md": None}


def test_a_file_that_is_deleted_is_gone_from_the_candidate_and_has_its_base() -> None:
    overlay = changing(SKILL, spec(), {"notes.md": None, "more.md": "New."})
    assert (overlay.spec.adds, overlay.spec.deletes) == (("skills/greeter/more.md",), ("skills/greeter/notes.md",))
    assert overlay.spec.bases == {"skills/greeter/notes.md": sha256_bytes(b"Old notes.")}
    candidate = validate_overlay(overlay, SKILL, CORPUS, "overlays/x")
    assert sorted(candidate.files.files) == ["SKILL.md", "more.md"]
    assert overlay_diff(SKILL, overlay).splitlines() == [
        *("--- /dev/null", "+++ b/skills/greeter/more.md", "@@ -0,0 +1 @@", "+New."),
        *("--- a/skills/greeter/notes.md", "+++ /dev/null", "@@ -1 +0,0 @@", "-Old notes."),
    ]


def test_an_overlay_that_only_deletes_is_one_and_what_goes_is_part_of_its_digest() -> None:
    only = changing(SKILL, spec(), {"notes.md": None})
    validate_overlay(only, SKILL, CORPUS, "overlays/x")
    assert only.digest not in (overlay_of({}).digest, overlay_of({"skills/greeter/notes.md": ""}).digest)
    assert only.digest == overlay_of({}, deletes=["skills/greeter/notes.md"]).digest


KEPT = "<!-- evolve:keep -->\nStay.\n<!-- evolve:end -->\n"


@pytest.mark.parametrize(
    ("files", "fields", "code", "says"),
    [
        ({"skills/greeter/SKIL.md": "x"}, {}, "undeclared-file", "skills/greeter/SKIL.md is no file of the skill"),
        ({"skills/greeter/notes.md": "x"}, {"adds": ["skills/greeter/notes.md"]}, "not-added", "has it already"),
        ({"skills/greeter/notes.md": "x"}, {"adds": ["skills/greeter/b.md"]}, "not-added", "does not hold it"),
        ({"skills/greeter/notes.md": "x"}, {"deletes": ["skills/greeter/notes.md"]}, "not-deleted", "holds it"),
        ({"skills/greeter/notes.md": "x"}, {"deletes": ["skills/greeter/b.md"]}, "not-deleted", "no file of the skill"),
        ({"skills/greeter/notes.md": "x"}, {"deletes": ["skills/other/SKILL.md"]}, "overlay-scope", "outside"),
        (
            {"skills/greeter/notes.md": "x"},
            {"deletes": ["skills/greeter/run.py"]},
            "invalid-input",
            "only .md and .txt",
        ),
        ({}, {"deletes": [SKILL_PATH]}, "no-skill-md", "no such file"),
        ({}, {"deletes": ["skills/greeter/kept.md"]}, "protected", "changes a protected passage"),
    ],
)
def test_additions_and_deletions_are_what_overlay_yaml_says(
    files: dict[str, str | bytes], fields: dict[str, object], code: str, says: str
) -> None:
    skill = make_skill(body="Say hello.", notes__md="Old notes.", kept__md=KEPT, run__py="pass\n")
    with pytest.raises(InputError) as caught:
        validate_overlay(overlay_of(files, **fields), skill, CORPUS, "overlays/x")
    assert (caught.value.code, says in caught.value.message) == (code, True), caught.value.message


@pytest.mark.parametrize("path", ["../out.md", "/etc/passwd", "skills/../../out.md", ".git/config"])
def test_a_deletion_that_reaches_outside_is_no_overlay(tmp_path: Path, path: str) -> None:
    text = f"schema: {OVERLAY_SCHEMA}\nskills: [greeter]\ndeletes: [{json.dumps(path)}]\n"
    write_files(tmp_path, {"overlay.yaml": text})
    with pytest.raises(InputError) as caught:
        read_overlay(tmp_path, {})
    assert "deletes" in caught.value.message


def test_an_overlay_below_a_mirror_is_told_where_to_go(tmp_path: Path) -> None:
    skill = replace(SKILL, mirrors=(".agents/skills/greeter",))
    with pytest.raises(InputError) as caught:
        validate_overlay(overlay_of({".agents/skills/greeter/SKILL.md": "x"}), skill, CORPUS, "overlays/x")
    write_files(tmp_path, {".agents/skills/greeter/SKILL.md": "x"})
    assert read_overlay(tmp_path, {"greeter": skill}).skill == "greeter", "so that it is refused by that message"
    assert caught.value.code == "overlay-scope"
    assert caught.value.hint == ".agents/skills/greeter/ is kept identical to skills/greeter/: change it there"


def test_a_written_overlay_reads_back_the_same(tmp_path: Path) -> None:
    overlay = single_file_overlay(
        SKILL,
        "SKILL.md",
        skill_text(body="Grüße: [yes] #no"),
        spec(
            operator="reflect", rationale="Because: of 'this'\n# and that", model="m", worked_examples=["greet-train-1"]
        ),
    )
    write_overlay(tmp_path / "o", overlay, staging=tmp_path / "staging")
    assert read_overlay(tmp_path / "o", {}) == overlay
    assert read_overlay(tmp_path / "o", {}).digest == overlay.digest


def test_the_digest_covers_the_text_and_not_the_lineage() -> None:
    one = overlay_of({SKILL_PATH: "a"}, rationale="one")
    two = overlay_of({SKILL_PATH: "a"}, rationale="two")
    assert one.digest == two.digest != overlay_of({SKILL_PATH: "b"}, rationale="one").digest


def test_a_hand_made_overlay_needs_no_overlay_yaml(tmp_path: Path) -> None:
    write_files(tmp_path / "o", {SKILL_PATH: skill_text(body="By hand.")})
    overlay = read_overlay(tmp_path / "o", {"greeter": SKILL, "other": make_skill("other")})
    assert (overlay.skill, overlay.spec.operator) == ("greeter", "manual")


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({SKILL_PATH: "x", "skills/other/SKILL.md": "y"}, "changes 2 skills (greeter, other)"),
        ({"README.md": "x"}, "changes 0 skills (none)"),
        ({}, "changes 0 skills"),
    ],
)
def test_a_hand_made_overlay_changes_exactly_one_skill(tmp_path: Path, files: dict[str, str], says: str) -> None:
    write_files(tmp_path / "o", files)
    with pytest.raises(InputError) as caught:
        read_overlay(tmp_path / "o", {"greeter": SKILL, "other": make_skill("other")})
    assert caught.value.code == "overlay-scope"
    assert says in caught.value.message


@pytest.mark.parametrize(
    ("text", "position", "says"),
    [
        (b"schema: evolve/overlay@1\nskills: [a, b]\n", ":2: skills:", "at most 1"),
        (b"schema: evolve/overlay@1\nskills: [a]\nsecret: 1\n", ":3: secret:", "unknown key"),
        (b"schema: evolve/overlay@1\nskills: [../a]\n", ":2: skills[0]:", "pattern"),
        (
            b"schema: evolve/overlay@1\nskills: [a]\nbases:\n  ../x: " + b"0" * 64 + b"\n",
            ":4: bases.../x",
            "not a path",
        ),
        (b"schema: evolve/overlay@2\nskills: [a]\n", ":1: schema:", "evolve/overlay@1"),
        (b"schema: &a evolve/overlay@1\nskills: [*a]\n", ":1:", "anchors and aliases"),
        (b"\xff", ":", "not UTF-8 (byte 0)"),
        (b"\xef\xbb\xbfschema: x\n", ":", "byte order mark"),
    ],
)
def test_a_bad_overlay_yaml_is_named_with_its_line(tmp_path: Path, text: bytes, position: str, says: str) -> None:
    write_files(tmp_path / "o", {"overlay.yaml": text, SKILL_PATH: "x"})
    with pytest.raises(InputError) as caught:
        read_overlay(tmp_path / "o", {})
    assert caught.value.message.startswith(f"{tmp_path}/o/overlay.yaml{position}")
    assert says in caught.value.message


def _link_out(folder: Path) -> None:
    (folder / "a.md").symlink_to("../../outside.md")


def _link_inside(folder: Path) -> None:
    write_files(folder, {"b.md": "x"})
    (folder / "a.md").symlink_to("b.md")


def _pipe(folder: Path) -> None:
    os.mkfifo(folder / "a.md")


def _twins(folder: Path) -> None:
    write_files(folder, {"caf\u00e9.md": "x", unicodedata.normalize("NFD", "caf\u00e9.md"): "y"})


def _case(folder: Path) -> None:
    write_files(folder, {"a.md": "x", "A.md": "y"})


def _many(folder: Path) -> None:
    write_files(folder, {f"{number}.md": "" for number in range(66)})


def _large(folder: Path) -> None:
    with (folder / "a.md").open("wb") as file:
        file.truncate(5 * 1024 * 1024)


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (_link_out, "escaping-link"),
        (_link_inside, "link"),
        (_pipe, "special-file"),
        (_twins, "name-collision"),
        (_case, "name-collision"),
        (_many, "too-many-files"),
        (_large, "too-large"),
    ],
)
def test_a_hostile_overlay_folder_is_refused(tmp_path: Path, make: object, code: str) -> None:
    folder = write_files(tmp_path / "o", {SKILL_PATH: skill_text(body="New.")})
    assert callable(make)
    make(folder)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InputError) as caught:
        read_overlay(folder, {"greeter": SKILL})
    assert caught.value.code == code
    assert str(folder) in caught.value.message
    assert sorted(tmp_path.rglob("*")) == before


def test_an_overlay_that_is_not_there_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read_overlay(tmp_path / "none", {})
    assert caught.value.code == "no-overlay"


def test_the_diff_shows_changed_and_new_files() -> None:
    overlay = overlay_of({SKILL_PATH: skill_text(body="Say hi."), "skills/greeter/new.md": "New."})
    diff = overlay_diff(SKILL, overlay)
    assert "--- a/skills/greeter/SKILL.md\n+++ b/skills/greeter/SKILL.md" in diff
    assert "\n-Say hello.\n+Say hi." in diff
    assert "+++ b/skills/greeter/new.md\n@@ -0,0 +1 @@\n+New." in diff

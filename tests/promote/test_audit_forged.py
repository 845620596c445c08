"""The audit finds what contradicts itself, or the rules of a promotion, though every digest was made to fit."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import pytest

from evolve.records.kinds import Role
from evolve.records.row import Row
from tests.conftest import CommandLine
from tests.promote.conftest import Measured
from tests.promote.forging import forge
from tests.worlds import git


@pytest.fixture
def promoted(measured: Measured, evolve: CommandLine) -> Measured:
    assert evolve("promote", measured.overlay).code == 0
    return measured


@pytest.fixture
def mirrored(several_files: Measured, evolve: CommandLine) -> Measured:
    assert evolve("promote", several_files.overlay).code == 0
    return several_files


def test_a_forger_who_changes_nothing_passes_as_unsigned(promoted: Measured, evolve: CommandLine) -> None:
    forge(promoted, promotion=lambda value: value.update(evolve_version="0.0.0"))
    ran = evolve("audit", "--all")
    assert (ran.code, "nobody vouches" in ran.out) == (0, True), ran.out


def no_gain(rows: Sequence[Row]) -> list[Row]:
    """Have the candidate fail wherever the incumbent does."""
    failed = next(row for row in rows if row.role is Role.INCUMBENT and not row.resolved)
    fate = {name: getattr(failed, name) for name in ("resolved", "kind", "verify", "oracle")}
    return [row if row.role is Role.INCUMBENT else row.model_copy(update=fate) for row in rows]


def uncontained(rows: Sequence[Row]) -> list[Row]:
    found = []
    for row in rows:
        identity = row.identity.model_copy(update={"sandbox": "host"})
        found.append(row.model_copy(update={"identity": identity, "key": identity.digest()}))
    return found


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"rows": no_gain}, "outcome of what was promoted: expected promote, found keep_incumbent"),
        ({"keep": lambda entry: entry.entry != "promotion"}, "expected an entry of it, found nothing"),
        ({"rows": uncontained}, "tasks graded without containment"),
        ({"look": lambda look: look.model_copy(update={"sealed_tasks": ("other",)})}, "at sealed_tasks"),
        ({"look": lambda look: look.model_copy(update={"skill": "other"})}, "at skill: expected bracket, found other"),
        ({"look": lambda look: look.model_copy(update={"overlay_sha256": "0" * 64})}, "at overlay_sha256"),
        ({"look": lambda look: look.model_copy(update={"of_alpha": 0.9})}, "at of_alpha: expected 0.05, found 0.9"),
    ],
)
def test_a_promotion_that_no_rule_allows_is_found(
    promoted: Measured, evolve: CommandLine, change: dict[str, Any], says: str
) -> None:
    forge(promoted, **change)
    ran = evolve("audit", "--all")
    assert (ran.code, says in ran.out) == (4, True), ran.out


def loosen(value: dict[str, Any]) -> None:
    for task in value["sealed"]:
        task["tier"] = "open"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (loosen, "tiers of the sealed tasks"),
        (lambda value: value.update(expires_at="2099-01-01T00:00:00.000000Z"), "expires_at"),
        (lambda value: value.update(surplus_sha256=["0" * 64]), "rows in excess"),
        (lambda value: value["health"][0].update(fresh=1), "fresh and void rows of each arm"),
        (lambda value: value["lineage"].update(skills=["other"]), "skills of the overlay"),
        (lambda value: value["lineage"].update(bases={"skills/bracket/SKILL.md": "0" * 64}), "written against"),
    ],
)
def test_evidence_that_says_something_else_of_itself_is_found(
    promoted: Measured, evolve: CommandLine, change: Callable[[dict[str, Any]], object], says: str
) -> None:
    forge(promoted, promotion=change)
    ran = evolve("audit", "--all")
    assert (ran.code, says in ran.out) == (4, True), ran.out


def test_evidence_that_is_dated_ahead_is_found(promoted: Measured, evolve: CommandLine) -> None:
    made = promoted.evidence().promotion.generated_at + timedelta(days=900)
    ends = made + timedelta(days=promoted.evidence().promotion.policy.evidence_max_age_days)
    forge(promoted, promotion=lambda value: value.update(generated_at=made, expires_at=ends))
    ran = evolve("audit", "--all")
    assert (ran.code, "generated_at: expected" in ran.out) == (4, True), ran.out


@pytest.mark.parametrize("folders", [None, ["skills/bracket"], ["skills/bracket", "skills/bracket"]])
def test_a_promotion_that_leaves_a_mirror_out_is_found(
    mirrored: Measured, evolve: CommandLine, folders: list[str] | None
) -> None:
    shutil.rmtree(mirrored.root / ".agents")
    git(mirrored.root, "checkout", "HEAD^", "--", ".agents")

    def leave_out(value: dict[str, Any]) -> None:
        del value["folders"]
        value.update({} if folders is None else {"folders": folders})

    forge(mirrored, promotion=leave_out)
    ran = evolve("audit", "--all")
    assert (ran.code, "left out: expected [], found ['.agents/skills/bracket']" in ran.out) == (4, True), ran.out


def claim(measured: Measured, digest: str) -> None:
    """Commit another text of the skill, as if some evidence had promoted it."""
    with measured.skill.open("a") as file:
        file.write("Forged.\n")
    overlay = measured.evidence().promotion.overlay_sha256
    message = f"Promote\n\nEvolve-Overlay: {overlay}\nEvolve-Evidence: {digest}\n"
    git(measured.root, "commit", "--quiet", "--all", "--message", message)


@pytest.mark.parametrize("scope", [("--all",), ("--since", "HEAD^")])
def test_a_second_commit_that_claims_the_same_evidence_is_checked_too(
    promoted: Measured, evolve: CommandLine, scope: tuple[str, ...]
) -> None:
    claim(promoted, promoted.evidence().promotion_sha256)
    ran = evolve("audit", *scope)
    assert (ran.code, "SKILL.md after" in ran.out) == (4, True), ran.out


def test_a_commit_that_claims_evidence_which_never_was_is_found(promoted: Measured, evolve: CommandLine) -> None:
    claim(promoted, "f" * 64)
    ran = evolve("audit", "--all")
    assert (ran.code, f"a folder with evidence {'f' * 64}" in ran.out) == (4, True), ran.out


def test_the_same_promotion_twice_in_history_is_no_fault(measured: Measured, evolve: CommandLine) -> None:
    """As where a branch is picked onto another, and merged later."""
    root = measured.root
    git(root, "switch", "--quiet", "--create", "one")
    assert evolve("promote", measured.overlay).code == 0
    git(root, "switch", "--quiet", "main")
    (root / "other.txt").write_text("Other.\n")
    git(root, "add", "other.txt")
    git(root, "commit", "--quiet", "--message", "Other")
    git(root, "cherry-pick", "one")
    git(root, "merge", "--quiet", "--no-edit", "one")
    ran = evolve("audit", "--all")
    assert ran.code == 0, ran.out

"""Overlays: reading, validating, freezing, applying and showing them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path, PurePosixPath

import yaml

from evolve.corpus.leaks import find_leaks
from evolve.corpus.loading import Corpus
from evolve.digest import digest_entries, sha256_bytes
from evolve.errors import InputError
from evolve.files import safe_relative, write_atomic, write_folder
from evolve.protected import check_protected
from evolve.records.base import decode_text, parse_yaml
from evolve.records.overlay import OVERLAY_SCHEMA, OverlaySpec
from evolve.records.policy import LeakLimits
from evolve.redact import redact
from evolve.skills import Skill, validate_skill
from evolve.snapshot import FileEntry, Snapshot

OVERLAY_FILE = "overlay.yaml"
MAX_OVERLAY_FILES = 64
MAX_OVERLAY_BYTES = 4 * 1024 * 1024
NOWHERE = "/dev/null"
PROMPT_SUFFIXES = (".md", ".txt")
_STEERING = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@dataclass(frozen=True)
class FrozenOverlay:
    """An overlay held in memory; ``files`` go by their paths in the workspace."""

    spec: OverlaySpec
    files: Snapshot

    @cached_property
    def digest(self) -> str:
        """Digest of the files and of the paths that go; the lineage beside them does not count."""
        return overlay_digest(self.files, self.spec.deletes)

    @property
    def paths(self) -> list[str]:
        """The files that it replaces, adds or deletes, sorted."""
        return sorted({*self.files.files, *self.spec.deletes})

    @property
    def skill(self) -> str:
        """The name of the skill that it changes."""
        return self.spec.skills[0]


def overlay_digest(files: Snapshot, deletes: Collection[str]) -> str:
    """Return an overlay's digest: the tree digest of its files, with an entry of the kind ``gone`` for what goes."""
    held = [(path, b"file", entry.executable, entry.content) for path, entry in files.files.items()]
    return digest_entries([*held, *((path, b"gone", False, b"") for path in deletes)])


def read_overlay(folder: Path, skills: Mapping[str, Skill]) -> FrozenOverlay:
    """Read an overlay folder; without an ``overlay.yaml`` it is taken for a hand-made one.

    Raises:
        InputError: The message names the file and what is wrong with it.

    """
    if not folder.is_dir():
        raise InputError(f"{folder}: no such overlay", hint="make one with: evolve propose", code="no-overlay")
    tree = Snapshot.read(folder, max_files=MAX_OVERLAY_FILES + 1, max_bytes=MAX_OVERLAY_BYTES)
    files = Snapshot({path: entry for path, entry in tree.files.items() if path != OVERLAY_FILE})
    if OVERLAY_FILE in tree.files:
        where = str(folder / OVERLAY_FILE)
        text = decode_text(tree.files[OVERLAY_FILE].content, where)
        return FrozenOverlay(spec=parse_yaml(OverlaySpec, text, where), files=files)
    touched = sorted(name for name, skill in skills.items() if any(files.below(at).files for at in skill.folders))
    if len(touched) != 1:
        raise InputError(
            f"{folder}: changes {len(touched)} skills ({', '.join(touched) or 'none'}); an overlay changes one",
            hint="its files lie at the paths that they replace, such as skills/<name>/SKILL.md",
            code="overlay-scope",
        )
    spec = OverlaySpec(schema_id=OVERLAY_SCHEMA, skills=(touched[0],), operator="manual")
    return FrozenOverlay(spec=spec, files=files)


def apply_overlay(skill: Skill, overlay: FrozenOverlay) -> Skill:
    """Return the skill with the overlay's files in it, and without those that it deletes."""
    changed = overlay.files.below(skill.folder)
    gone = {path.removeprefix(f"{skill.folder}/") for path in overlay.spec.deletes}
    return replace(skill, files=skill.files.replaced(changed.files).without(gone))


def base_digests(skill: Skill, overlay: FrozenOverlay) -> dict[str, str | None]:
    """Return the SHA-256 of each file that an overlay replaces or deletes; ``None`` for a new file."""
    bases: dict[str, str | None] = {}
    for path in overlay.paths:
        entry = skill.files.files.get(path.removeprefix(skill.folder + "/"))
        bases[path] = sha256_bytes(entry.content) if entry else None
    return bases


def changing(skill: Skill, spec: OverlaySpec, texts: Mapping[str, str | None]) -> FrozenOverlay:
    """Make an overlay that changes files of a skill.

    Args:
        skill: What it is written against.
        spec: Its lineage.
        texts: The new text of each file, by its path in the skill; ``None``: it goes.

    """
    files = {f"{skill.folder}/{path}": FileEntry(text.encode()) for path, text in texts.items() if text is not None}
    gone = tuple(sorted(f"{skill.folder}/{path}" for path, text in texts.items() if text is None))
    return declared(skill, FrozenOverlay(spec.model_copy(update={"deletes": gone}), Snapshot(files)))


def declared(skill: Skill, overlay: FrozenOverlay) -> FrozenOverlay:
    """Return an overlay that says of each file whether it replaces or adds it, and what it was written against."""
    found = base_digests(skill, overlay)
    bases = {path: digest for path, digest in found.items() if digest is not None}
    adds = tuple(path for path, digest in found.items() if digest is None)
    return replace(overlay, spec=overlay.spec.model_copy(update={"bases": bases, "adds": adds}))


def validate_overlay(
    overlay: FrozenOverlay, incumbent: Skill, corpus: Corpus, where: str, limits: LeakLimits | None = None
) -> Skill:
    """Check everything that an overlay must hold to, and return the candidate skill.

    Raises:
        InputError: It is empty, reaches outside its skill, changes other than prompt files or a protected passage,
            makes the skill invalid, changes nothing, was written against another text, or carries passages of tasks.

    """
    _check_scope(overlay, incumbent, where)
    bases = base_digests(incumbent, overlay)
    for path, digest in sorted(overlay.spec.bases.items()):
        if bases.get(path) != digest:
            raise InputError(
                f"{where}: {path} has changed since the overlay was written",
                hint="propose again from the present skill",
                code="base-changed",
            )
    candidate = apply_overlay(incumbent, overlay)
    _check_declared(overlay, bases, where)
    validate_skill(candidate)
    if candidate.fingerprint == incumbent.fingerprint:
        raise InputError(f"{where}: equals the incumbent; there is nothing to measure", code="no-change")
    before = dict(incumbent.files.texts())
    after = dict(overlay.files.texts())
    for path in overlay.paths:
        was = before.get(path.removeprefix(incumbent.folder + "/"), "")
        check_protected(was, after.get(path, ""), f"{where}: {path}")
    base = "\n".join(before.values())
    text = "\n".join(text for _, text in overlay.files.texts())
    leaks = find_leaks(text, base, corpus.tasks, overlay.spec.worked_examples, limits)
    if leaks:
        found = "; ".join(f"{leak.what} of {leak.split} task {leak.task} ({leak.passage!r})" for leak in leaks[:4])
        raise InputError(
            f"{where}: carries {found}",
            hint="train tasks may be quoted when overlay.yaml names them in worked_examples; others never",
            code="leak",
        )
    return candidate


def _check_declared(overlay: FrozenOverlay, bases: Mapping[str, str | None], where: str) -> None:
    """Refuse additions and deletions that ``overlay.yaml`` does not say: a mistyped path would never be read."""
    added = {path for path, digest in bases.items() if digest is None} - set(overlay.spec.deletes)
    for path in sorted(added - set(overlay.spec.adds)):
        raise InputError(
            f"{where}: {path} is no file of the skill, and overlay.yaml does not say that it is added",
            hint=f"mend the path, or name it in {OVERLAY_FILE}: adds: [{path}]",
            code="undeclared-file",
        )
    for path in sorted(set(overlay.spec.adds) - added):
        why = "the skill has it already" if path in bases else "the overlay does not hold it"
        raise InputError(f"{where}: {OVERLAY_FILE}: adds: {path}: {why}", code="not-added")
    for path in overlay.spec.deletes:
        if path in overlay.files.files:
            raise InputError(f"{where}: {OVERLAY_FILE}: deletes: {path}: the overlay holds it", code="not-deleted")
        if bases[path] is None:
            raise InputError(f"{where}: {OVERLAY_FILE}: deletes: {path}: no file of the skill", code="not-deleted")


def _check_scope(overlay: FrozenOverlay, incumbent: Skill, where: str) -> None:
    files, paths = overlay.files.files, overlay.paths
    if not paths:
        raise InputError(f"{where}: holds no file beside {OVERLAY_FILE}, and deletes none", code="empty-overlay")
    if len(paths) > MAX_OVERLAY_FILES:
        raise InputError(f"{where}: {len(paths)} files, {MAX_OVERLAY_FILES} are allowed", code="too-many-files")
    size = sum(len(entry.content) for entry in files.values())
    if size > MAX_OVERLAY_BYTES:
        raise InputError(f"{where}: {size} bytes, {MAX_OVERLAY_BYTES} are allowed", code="too-large")
    for path in paths:
        inside = safe_relative(path, where=where)
        if not inside.is_relative_to(PurePosixPath(incumbent.folder)):
            mirror = next((one for one in incumbent.mirrors if inside.is_relative_to(one)), None)
            hint = f"{mirror}/ is kept identical to {incumbent.folder}/: change it there" if mirror else None
            raise InputError(f"{where}: {path} lies outside {incumbent.folder}/", hint=hint, code="overlay-scope")
        for mirror in incumbent.mirrors:
            safe_relative(f"{mirror}/{inside.relative_to(incumbent.folder)}", where=where)
        if inside.suffix not in PROMPT_SUFFIXES or (path in files and files[path].executable):
            raise InputError(f"{where}: {path}: only {' and '.join(PROMPT_SUFFIXES)} files, not executable")
    for path, entry in files.items():
        text = decode_text(entry.content, f"{where}: {path}")
        odd = next((character for character in text if _STEERING.match(character)), None)
        if odd is not None:
            raise InputError(f"{where}: {path}: holds the control character {odd!r}", code="control-character")


def write_overlay(folder: Path, overlay: FrozenOverlay, *, staging: Path) -> None:
    """Write an overlay folder, secrets taken out of what it says of itself, all of it or nothing.

    Args:
        folder: Where it is to lie.
        overlay: What to write.
        staging: Where it is filled.

    """
    spec = overlay.spec
    told = {"rationale": redact(spec.rationale), "expected_effect": redact(spec.expected_effect)}
    spec = spec.model_copy(update={**told, "risks": tuple(map(redact, spec.risks))})
    value = {key: item for key, item in spec.json_value().items() if item not in (None, "", [], {})}
    text = yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=100)

    def fill(new: Path) -> None:
        overlay.files.write(new)
        write_atomic(new / OVERLAY_FILE, text.encode("utf-8"))

    write_folder(folder, fill, staging=staging)


def single_file_overlay(skill: Skill, path: str, text: str, spec: OverlaySpec) -> FrozenOverlay:
    """Make an overlay that replaces one file of a skill."""
    return changing(skill, spec, {path: text})


def overlay_diff(incumbent: Skill, overlay: FrozenOverlay) -> str:
    """Return the unified diff that an overlay makes."""
    pieces = []
    after = dict(overlay.files.texts())
    for path in overlay.paths:
        entry = incumbent.files.files.get(path.removeprefix(incumbent.folder + "/"))
        before = entry.content.decode("utf-8", errors="replace") if entry else ""
        names = f"a/{path}" if entry else NOWHERE, f"b/{path}" if path in after else NOWHERE
        lines = difflib.unified_diff(before.splitlines(), after.get(path, "").splitlines(), *names, lineterm="")
        pieces.append("\n".join(lines))
    return "\n".join(pieces)

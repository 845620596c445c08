"""Overlays: reading, validating, freezing, applying and showing them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import yaml

from evolve.corpus.leaks import find_leaks
from evolve.corpus.loading import Corpus
from evolve.digest import sha256_bytes
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
PROMPT_SUFFIXES = (".md", ".txt")
_STEERING = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@dataclass(frozen=True)
class FrozenOverlay:
    """An overlay held in memory; ``files`` go by their paths in the workspace."""

    spec: OverlaySpec
    files: Snapshot

    @property
    def digest(self) -> str:
        """Digest of the replacement files; the lineage beside them does not count."""
        return self.files.digest

    @property
    def skill(self) -> str:
        """The name of the skill that it changes."""
        return self.spec.skills[0]


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
    touched = sorted({name for name, skill in skills.items() if files.below(skill.folder).files})
    if len(touched) != 1:
        raise InputError(
            f"{folder}: changes {len(touched)} skills ({', '.join(touched) or 'none'}); an overlay changes one",
            hint="its files lie at the paths that they replace, such as skills/<name>/SKILL.md",
            code="overlay-scope",
        )
    spec = OverlaySpec(schema_id=OVERLAY_SCHEMA, skills=(touched[0],), operator="manual")
    return FrozenOverlay(spec=spec, files=files)


def apply_overlay(skill: Skill, overlay: FrozenOverlay) -> Skill:
    """Return the skill with the overlay's files in it."""
    changed = overlay.files.below(skill.folder)
    return Skill(name=skill.name, folder=skill.folder, files=skill.files.replaced(changed.files))


def base_digests(skill: Skill, overlay: FrozenOverlay) -> dict[str, str | None]:
    """Return the SHA-256 of each file that an overlay replaces; ``None`` for a new file."""
    bases: dict[str, str | None] = {}
    for path in sorted(overlay.files.files):
        entry = skill.files.files.get(path.removeprefix(skill.folder + "/"))
        bases[path] = sha256_bytes(entry.content) if entry else None
    return bases


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
    validate_skill(candidate)
    if candidate.fingerprint == incumbent.fingerprint:
        raise InputError(f"{where}: equals the incumbent; there is nothing to measure", code="no-change")
    before = dict(incumbent.files.texts())
    for path, text in overlay.files.texts():
        check_protected(before.get(path.removeprefix(incumbent.folder + "/"), ""), text, f"{where}: {path}")
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


def _check_scope(overlay: FrozenOverlay, incumbent: Skill, where: str) -> None:
    files = overlay.files.files
    if not files:
        raise InputError(f"{where}: holds no file beside {OVERLAY_FILE}", code="empty-overlay")
    if len(files) > MAX_OVERLAY_FILES:
        raise InputError(f"{where}: {len(files)} files, {MAX_OVERLAY_FILES} are allowed", code="too-many-files")
    size = sum(len(entry.content) for entry in files.values())
    if size > MAX_OVERLAY_BYTES:
        raise InputError(f"{where}: {size} bytes, {MAX_OVERLAY_BYTES} are allowed", code="too-large")
    for path, entry in overlay.files.files.items():
        inside = safe_relative(path, where=where)
        if not inside.is_relative_to(PurePosixPath(incumbent.folder)):
            raise InputError(f"{where}: {path} lies outside {incumbent.folder}/", code="overlay-scope")
        if inside.suffix not in PROMPT_SUFFIXES or entry.executable:
            raise InputError(f"{where}: {path}: only {' and '.join(PROMPT_SUFFIXES)} files, not executable")
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
    files = Snapshot({f"{skill.folder}/{path}": FileEntry(text.encode("utf-8"))})
    overlay = FrozenOverlay(spec=spec, files=files)
    bases = {name: digest for name, digest in base_digests(skill, overlay).items() if digest}
    return FrozenOverlay(spec=spec.model_copy(update={"bases": bases}), files=files)


def overlay_diff(incumbent: Skill, overlay: FrozenOverlay) -> str:
    """Return the unified diff that an overlay makes."""
    pieces = []
    for path, text in overlay.files.texts():
        entry = incumbent.files.files.get(path.removeprefix(incumbent.folder + "/"))
        before = entry.content.decode("utf-8", errors="replace") if entry else ""
        lines = difflib.unified_diff(before.splitlines(), text.splitlines(), f"a/{path}", f"b/{path}", lineterm="")
        pieces.append("\n".join(lines))
    return "\n".join(pieces)

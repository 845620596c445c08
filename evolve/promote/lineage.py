"""Whether what an overlay says it was made from is known: every ancestor, down to a skill that stood here."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from evolve.digest import sha256_json
from evolve.errors import EvidenceFault, EvolveError, InputError
from evolve.overlays import OVERLAY_FILE, FrozenOverlay, read_overlay
from evolve.promote.evidence import PROMOTION_FILE
from evolve.promote.findings import Finding, judge
from evolve.promote.git import Repository
from evolve.records.archive import ARCHIVE_FILE, ArchiveEntry
from evolve.records.base import read_json, read_jsonl
from evolve.records.plan import Arm
from evolve.records.promotion import Promotion
from evolve.skills import Skill
from evolve.workspace import Workspace

SOURCES = "a skill that was measured or committed, or an overlay of the archive, of evidence or of the overlays' folder"


@dataclass(frozen=True)
class Ancestry:
    """What overlays can come from here.

    Args:
        parents: What each overlay that is known was made from, by its digest.
        skills: Fingerprints of skills that were measured.
        repository: Where texts of a skill are looked up that were committed and never measured.

    """

    parents: Mapping[str, tuple[str, ...]]
    skills: frozenset[str]
    repository: Repository | None
    _history: dict[str, frozenset[str]] = field(default_factory=dict)

    def unknown(self, parents: Iterable[str], skill: str, folders: Collection[str]) -> list[str]:
        """Return the ancestors that are known neither as an overlay nor as a skill, those of ancestors included.

        Args:
            parents: What an overlay says that it was made from.
            skill: The skill that it changes.
            folders: Where that stands.

        """
        waiting, seen, missing = list(parents), set[str](), []
        while waiting:
            digest = waiting.pop()
            if digest in seen:
                continue
            seen.add(digest)
            if digest in self.parents:
                waiting.extend(self.parents[digest])
            elif digest not in self.skills and digest not in self._committed(skill, folders):
                missing.append(digest)
        return sorted(missing)

    def _committed(self, skill: str, folders: Collection[str]) -> frozenset[str]:
        """Return the fingerprints of all texts of a skill that this history holds."""
        folder = next(iter(folders), None)
        if folder is None or self.repository is None:
            return frozenset()
        if folder not in self._history:
            commits = self.repository.commits_of(folder)
            trees = {self.repository.tree(commit, folder).digest for commit in commits}
            self._history[folder] = frozenset(sha256_json({skill: tree}) for tree in trees)
        return self._history[folder]


def read_ancestry(workspace: Workspace, repository: Repository | None) -> Ancestry:
    """Read what is known here: the archive, the evidence and the folder of overlays; what is damaged is passed over."""
    parents: dict[str, tuple[str, ...]] = {}
    skills: set[str] = set()
    for entry in _archived(workspace):
        skills.add(entry.incumbent)
        if entry.overlay_sha256 is not None:
            parents.setdefault(entry.overlay_sha256, entry.parents)
    for promotion in _evidence(workspace):
        parents.setdefault(promotion.overlay_sha256, promotion.lineage.parents)
        skills |= measured_skills(promotion.arms)
    for _, overlay in _kept(workspace):
        parents.setdefault(overlay.digest, overlay.spec.parents)
    return Ancestry(parents, frozenset(skills), repository)


def measured_skills(arms: Iterable[Arm]) -> set[str]:
    """Return the fingerprints of arms, and of each skill in them by itself."""
    found = set()
    for arm in arms:
        found.add(arm.fingerprint)
        found |= {sha256_json({name: digest}) for name, digest in arm.skills.items()}
    return found


def check_parents(overlay: FrozenOverlay, skill: Skill, workspace: Workspace, where: str) -> None:
    """Refuse an overlay whose origin a promotion could not prove, before it is paid for.

    Raises:
        InputError: The first parent that nothing here knows is named.

    """
    rest = [parent for parent in overlay.spec.parents if parent != skill.fingerprint]
    if not rest:
        return
    try:
        repository = Repository(workspace.root)
    except InputError:
        repository = None
    missing = read_ancestry(workspace, repository).unknown(rest, skill.name, skill.folders)
    if missing:
        raise InputError(
            f"{where}: {OVERLAY_FILE}: parents: {missing[0]} is not {SOURCES}",
            hint=f"put that overlay back below {workspace.spec.overlays}/, or take the parent out",
            code="unknown-parent",
        )


def lineage_finding(file: str, promotion: Promotion, roots: Iterable[str], known: Callable[[], Ancestry]) -> Finding:
    """Check that every ancestor of what was promoted is known.

    Args:
        file: What the finding is about.
        promotion: The promotion.
        roots: The workspace's skill roots, for evidence of before, which does not say where its skill stands.
        known: Reads what is known, where the promotion itself does not tell.

    """
    own = measured_skills(arm for arm in promotion.arms if arm.overlay_sha256 is None)
    rest = [parent for parent in promotion.lineage.parents if parent not in own]
    folders = promotion.folders or tuple(f"{root}/{promotion.skill}" for root in roots)
    missing = known().unknown(rest, promotion.skill, folders) if rest else []
    return judge(file, "every ancestor of the overlay", not missing, SOURCES, ", ".join(missing))


def check_lineage(promotion: Promotion, workspace: Workspace, repository: Repository) -> None:
    """Refuse evidence of an overlay whose origin is not known here.

    Raises:
        EvidenceFault: What is missing is named.

    """
    known = lineage_finding("", promotion, workspace.spec.skill_roots, lambda: read_ancestry(workspace, repository))
    if not known.holds:
        raise EvidenceFault(
            f"the lineage of the overlay does not resolve: {known.detail}",
            hint=f"put what is missing back below {workspace.spec.overlays}/, or propose and measure again",
            code="lineage-unresolved",
        )


def lineage_files(promotion: Promotion, workspace: Workspace) -> list[str]:
    """Return the files and folders here that the lineage is looked up in, beside the evidence."""
    own = measured_skills(promotion.arms)
    waiting, found = [parent for parent in promotion.lineage.parents if parent not in own], []
    if not waiting:
        return []
    if (workspace.overlays / ARCHIVE_FILE).exists():
        found.append(workspace.overlays / ARCHIVE_FILE)
    seen: set[str] = set()
    kept = {overlay.digest: (folder, overlay.spec.parents) for folder, overlay in _kept(workspace)}
    while waiting:
        digest = waiting.pop()
        if digest in seen or digest not in kept:
            continue
        seen.add(digest)
        found.append(kept[digest][0])
        waiting.extend(kept[digest][1])
    return sorted(workspace.relative(path) for path in found)


def _archived(workspace: Workspace) -> Iterable[ArchiveEntry]:
    path = workspace.overlays / ARCHIVE_FILE
    with contextlib.suppress(EvolveError, OSError):
        return list(read_jsonl(ArchiveEntry, path)) if path.exists() else []
    return []


def _evidence(workspace: Workspace) -> Iterator[Promotion]:
    for path in sorted(workspace.promotion.glob(f"*/*/{PROMOTION_FILE}")):
        with contextlib.suppress(EvolveError, OSError):
            yield read_json(Promotion, path)


def _kept(workspace: Workspace) -> Iterator[tuple[Path, FrozenOverlay]]:
    for path in sorted(workspace.overlays.glob(f"*/{OVERLAY_FILE}")):
        with contextlib.suppress(EvolveError, OSError):
            yield path.parent, read_overlay(path.parent, {})

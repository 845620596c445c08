"""What an operator is asked: from which parents, for the how-manieth time, with what evidence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from evolve.overlays import FrozenOverlay, declared
from evolve.propose.edits import Edit
from evolve.propose.evidence import TrainEvidence
from evolve.skills import Skill
from evolve.snapshot import Snapshot


@dataclass(frozen=True)
class Parent:
    """A text to propose from.

    Args:
        digest: The incumbent's fingerprint, or the digest of the overlay.
        skill: The skill as this parent has it.
        evidence: How it did on train.
        overlay: The overlay that makes it, if it is not the incumbent.
        edits: What it changes.

    """

    digest: str
    skill: Skill
    evidence: TrainEvidence
    overlay: FrozenOverlay | None = None
    edits: tuple[Edit, ...] = ()


@dataclass(frozen=True)
class Ask:
    """One proposal that is asked for; ``variant`` counts those that were asked of these parents before."""

    operator: str
    parents: tuple[Parent, ...]
    variant: int = 0
    number: int = 0
    scores: Callable[[str], Mapping[str, float]] = field(default=lambda _: {})

    @property
    def parent(self) -> Parent:
        """The first parent."""
        return self.parents[0]


def rebased(incumbent: Skill, parent: Parent, overlay: FrozenOverlay) -> FrozenOverlay:
    """Return an overlay that was written against a parent as one against the incumbent.

    What the parent changes and the overlay does not stays in; worked examples of both are declared.
    """
    before = parent.overlay
    gone = {*(before.spec.deletes if before else ()), *overlay.spec.deletes} - overlay.files.files.keys()
    kept = before.files.without(gone).files if before else {}
    files = Snapshot({**kept, **overlay.files.files})
    quoted = (*(before.spec.worked_examples if before else ()), *overlay.spec.worked_examples)
    # what only the parent added is not there to be deleted
    there = {f"{incumbent.folder}/{path}" for path in incumbent.files.files}
    update = {
        "deletes": tuple(sorted(gone & there)),
        "parents": (parent.digest,),
        "worked_examples": tuple(dict.fromkeys(quoted)),
    }
    return declared(incumbent, FrozenOverlay(overlay.spec.model_copy(update=update), files))

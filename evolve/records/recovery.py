"""``results/.promoting/recovery.json``: what a commit that is being made changes, so that it can be undone."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field

from evolve.records.base import Digest, Record, Timestamp
from evolve.records.checks import RelativePath

RECOVERY_SCHEMA: Final = "evolve/recovery@1"


class RecoveredFile(Record):
    """A file before and after; null is no file. Its bytes lie beside the record, by digest."""

    path: RelativePath
    before: Digest | None
    after: Digest | None
    mode_before: int = Field(default=0o644, ge=0, le=0o777)
    mode_after: int = Field(default=0o644, ge=0, le=0o777)

    @property
    def changes(self) -> bool:
        """Whether its bytes are to be others."""
        return self.before != self.after


class Recovery(Record):
    """Everything that is needed to finish a commit, or to be where it began."""

    schema_id: Literal["evolve/recovery@1"] = Field(default=RECOVERY_SCHEMA, alias="schema")
    kind: Literal["promotion", "record", "rollback"]
    begun_at: Timestamp
    head: str | None = Field(description="The commit to go back to; null: there was none.")
    branch: str | None = Field(description="The branch to go back to; null: HEAD was detached.")
    new_branch: str | None = Field(description="The branch that is made for the commit, if one is.")
    trailer: str = Field(description="The trailer that the commit is known by.")
    trailer_value: str
    ledger: RelativePath
    files: tuple[RecoveredFile, ...]
    beside: tuple[RelativePath, ...] = Field(default=(), description="What the commit takes along as it lies there.")
    made_folders: tuple[RelativePath, ...] = Field(default=(), description="Folders that did not exist before.")

    @property
    def paths(self) -> list[str]:
        """Every path that the commit may hold."""
        return list(dict.fromkeys([*(file.path for file in self.files), *self.beside]))

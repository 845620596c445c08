"""``results/.promoting/recovery.json``: what a commit that is being made changes, so that it can be undone."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field

from evolve.records.base import FILE_FORMAT, Digest, Record, Timestamp
from evolve.records.checks import RelativePath

RECOVERY_SCHEMA: Final = "evolve/recovery@1"


class RecoveredFile(Record):
    """A file before and after; null is no file. Its bytes lie beside the record, by digest."""

    path: RelativePath = Field(description="The file, relative to the workspace.")
    before: Digest | None = Field(description="SHA-256 of its bytes before; null: there was no file.")
    after: Digest | None = Field(description="SHA-256 of its bytes after; null: there is to be no file.")
    mode_before: int = Field(default=0o644, ge=0, le=0o777, description="Its permissions before.")
    mode_after: int = Field(default=0o644, ge=0, le=0o777, description="Its permissions after.")

    @property
    def changes(self) -> bool:
        """Whether its bytes are to be others."""
        return self.before != self.after


class Recovery(Record):
    """Everything that is needed to finish a commit, or to be where it began."""

    schema_id: Literal["evolve/recovery@1"] = Field(default=RECOVERY_SCHEMA, alias="schema", description=FILE_FORMAT)
    kind: Literal["promotion", "record", "rollback"] = Field(
        description="What is committed: a promotion, a look that failed, or a rollback."
    )
    begun_at: Timestamp = Field(description="When it began.")
    head: str | None = Field(description="The commit to go back to; null: there was none.")
    branch: str | None = Field(description="The branch to go back to; null: HEAD was detached.")
    new_branch: str | None = Field(description="The branch that is made for the commit, if one is.")
    trailer: str = Field(description="The trailer that the commit is known by.")
    trailer_value: str = Field(description="The value of that trailer.")
    ledger: RelativePath = Field(description="The ledger, relative to the workspace.")
    files: tuple[RecoveredFile, ...] = Field(
        description="Every file that it writes, deletes or holds as it lies there."
    )
    beside: tuple[RelativePath, ...] = Field(default=(), description="What the commit takes along as it lies there.")
    made_folders: tuple[RelativePath, ...] = Field(default=(), description="Folders that did not exist before.")

    @property
    def paths(self) -> list[str]:
        """Every path that the commit may hold."""
        return list(dict.fromkeys([*(file.path for file in self.files), *self.beside]))

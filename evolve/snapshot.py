"""A folder's files held in memory: what was digested is what is later written."""

from __future__ import annotations

import stat
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from evolve.digest import digest_entries, refuse_ambiguous_names, tree_files
from evolve.errors import EnvironmentFault, InputError
from evolve.files import write_atomic


@dataclass(frozen=True)
class FileEntry:
    """One file: its content and whether its owner may execute it."""

    content: bytes
    executable: bool = False


@dataclass(frozen=True)
class Snapshot:
    """Files by POSIX relative path."""

    files: Mapping[str, FileEntry] = field(default_factory=dict)

    @classmethod
    def read(cls, root: Path, *, max_files: int = 1000, max_bytes: int = 64 * 1024 * 1024) -> Snapshot:
        """Read a folder.

        Raises:
            InputError: It is or holds a link, a special file, an ambiguous name, or more than the caps allow.

        """
        if root.is_symlink():
            raise InputError(f"{root}: a link; put the folder itself there", code="link")
        files: dict[str, FileEntry] = {}
        total = 0
        for relative, path in tree_files(root, max_files=max_files):
            status = path.lstat()
            if stat.S_ISLNK(status.st_mode):
                raise InputError(f"{path}: a link; put the file itself there", code="link")
            total += status.st_size
            if total > max_bytes:
                raise InputError(f"{path}: more than {max_bytes} bytes, with all before it", code="too-large")
            try:
                content = path.read_bytes()
            except OSError as error:
                raise EnvironmentFault(f"{path}: cannot be read: {error.strerror}") from error
            files[relative] = FileEntry(content, bool(status.st_mode & stat.S_IXUSR))
        return cls(files)

    @classmethod
    def of_texts(cls, texts: Mapping[str, str]) -> Snapshot:
        """Make a snapshot of plain text files."""
        return cls({path: FileEntry(text.encode("utf-8")) for path, text in texts.items()})

    @cached_property
    def digest(self) -> str:
        """The tree digest, equal to :func:`evolve.digest.tree_digest` of the written folder."""
        return digest_entries((path, b"file", entry.executable, entry.content) for path, entry in self.files.items())

    def text(self, path: str) -> str:
        """Return a file as text; bytes that are not UTF-8 are replaced."""
        return self.files[path].content.decode("utf-8", errors="replace")

    def texts(self) -> Iterator[tuple[str, str]]:
        """Yield (path, text) of the files that are UTF-8 text, sorted by path."""
        for path in sorted(self.files):
            content = self.files[path].content
            if b"\0" in content:
                continue
            try:
                yield path, content.decode("utf-8")
            except UnicodeDecodeError:
                continue

    def below(self, prefix: str) -> Snapshot:
        """Return the files below a folder, with paths relative to it."""
        start = prefix.rstrip("/") + "/"
        return Snapshot({p.removeprefix(start): e for p, e in self.files.items() if p.startswith(start)})

    def replaced(self, files: Mapping[str, FileEntry]) -> Snapshot:
        """Return a snapshot with some files replaced or added."""
        merged = {**self.files, **files}
        refuse_ambiguous_names(list(merged), Path("snapshot"))
        return Snapshot(merged)

    def without(self, paths: Collection[str]) -> Snapshot:
        """Return a snapshot without some files."""
        return Snapshot({path: entry for path, entry in self.files.items() if path not in paths})

    def write(self, root: Path) -> None:
        """Write all files below a folder."""
        for path, entry in self.files.items():
            write_atomic(root / path, entry.content, mode=0o755 if entry.executable else 0o644)

    def write_scratch(self, root: Path) -> None:
        """Write all files below a throw-away folder, without syncing them to disk."""
        root.mkdir(parents=True, exist_ok=True)
        for path, entry in self.files.items():
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(entry.content)
            if entry.executable:
                target.chmod(0o755)

"""Digests: canonical JSON, content and tree digests."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from evolve.errors import EnvironmentFault, InputError
from evolve.hostile import open_file, read_below

TREE_FRAME = b"evolve-tree-v1\0"
MAX_EXACT = 2**53 - 1
MAX_FOREIGN_FILES, MAX_FOREIGN_BYTES, MAX_FOREIGN_DEPTH = 200_000, 4 * 1024**3, 200
MAX_FOREIGN_FILE = 256 * 1024 * 1024


def canonical_json(value: object) -> bytes:
    """Return the RFC 8785 form of a JSON value.

    Raises:
        InputError: The value has no canonical form (NaN, an integer beyond 2^53, a lone surrogate).

    """
    try:
        return _encode(_plain(value)).encode("utf-8")
    except (_NotPlain, UnicodeError, RecursionError):
        return _canonical_by_the_book(value)


class _NotPlain(Exception):
    """A value for which Python's own JSON might not be canonical."""


_encode = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"), check_circular=False).encode


def _plain(value: object) -> object:
    """Return a value that Python's JSON encoder writes as RFC 8785 asks, about three times faster than rfc8785 does.

    Raises:
        _NotPlain: It holds something for which that is not known: a key beyond ASCII (sorted by UTF-16 there), an
            integer beyond 2^53, or a float that the two write with different exponents.

    """
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, int) and -MAX_EXACT <= value <= MAX_EXACT:
        return value
    if isinstance(value, dict) and all(isinstance(key, str) and key.isascii() for key in value):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        if value.is_integer() and abs(value) <= MAX_EXACT:
            return int(value)
        if 1e-4 <= abs(value) < 1e15:
            return value
    raise _NotPlain


def _canonical_by_the_book(value: object) -> bytes:
    import rfc8785

    try:
        return rfc8785.dumps(value)  # type: ignore[arg-type]
    except (rfc8785.CanonicalizationError, UnicodeError, RecursionError) as error:
        raise InputError(f"no canonical JSON: {error}", code="not-canonical") from error


def sha256_bytes(data: bytes) -> str:
    """Return the lower-case hexadecimal SHA-256 of some bytes."""
    return hashlib.sha256(data).hexdigest()


def sha256_json(value: object) -> str:
    """Return the SHA-256 of the canonical JSON of a value."""
    return sha256_bytes(canonical_json(value))


def sha256_file(path: Path) -> str:
    """Return the SHA-256 of a file's content, read in blocks.

    Raises:
        OSError: It cannot be read, or is no regular file.

    """
    with open_file(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def refuse_ambiguous_names(names: list[str], where: Path) -> None:
    """Refuse relative paths that could mean two things on another file system.

    Raises:
        InputError: A name holds CR, LF or NUL, two names collide after NFC and case folding, or one is a file
            and the folder of another.

    """
    seen: dict[str, str] = {}
    for name in names:
        if any(character in name for character in "\r\n\0"):
            raise InputError(f"{where}: the name {name!r} holds a control character", code="unsafe-name")
        key = unicodedata.normalize("NFC", name).casefold()
        if key in seen:
            raise InputError(
                f"{where}: {seen[key]!r} and {name!r} are one name on some file systems",
                hint="rename one of them",
                code="name-collision",
            )
        seen[key] = name
    for key, name in seen.items():
        for parent in PurePosixPath(key).parents:
            if parent.as_posix() in seen:
                raise InputError(
                    f"{where}: {seen[parent.as_posix()]!r} is a file and a folder of {name!r}",
                    hint="rename one of them",
                    code="name-collision",
                )


def tree_files(root: Path, *, max_files: int = 10_000) -> list[tuple[str, Path]]:
    """List the files and links below a folder as (POSIX relative path, path), sorted by UTF-8 path.

    Raises:
        InputError: The tree holds a device, socket or pipe, a link that leaves it, an ambiguous name,
            a name that is not UTF-8, or more than ``max_files`` entries.
        EnvironmentFault: A folder is missing or cannot be listed.

    """
    found: list[tuple[str, Path]] = []
    for folder, folder_names, file_names in os.walk(root, onerror=_refuse_unlisted_folder):
        base = Path(folder)
        for name in [*folder_names, *file_names]:
            path = base / name
            mode = path.lstat().st_mode
            if stat.S_ISDIR(mode):
                continue
            relative = PurePosixPath(path.relative_to(root)).as_posix()
            if not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
                raise InputError(f"{path}: not a file, folder or link", code="special-file")
            if stat.S_ISLNK(mode):
                _refuse_escaping_link(root, path)
            found.append((relative, path))
            if len(found) > max_files:
                raise InputError(f"{root}: more than {max_files} files", code="too-many-files")
    try:
        found.sort(key=lambda entry: entry[0].encode("utf-8"))
    except UnicodeEncodeError as error:
        raise InputError(f"{root}: a file name is not UTF-8", code="unsafe-name") from error
    refuse_ambiguous_names([relative for relative, _ in found], root)
    return found


def _refuse_unlisted_folder(error: OSError) -> None:
    raise EnvironmentFault(f"{error.filename}: cannot be listed: {error.strerror}") from error


def _refuse_escaping_link(root: Path, link: Path) -> None:
    resolved = Path(os.path.realpath(link))
    if os.path.isabs(os.readlink(link)) or not resolved.is_relative_to(os.path.realpath(root)):
        raise InputError(f"{link}: the link leaves its folder", code="escaping-link")


def digest_entries(entries: Iterable[tuple[str, bytes, bool, bytes]]) -> str:
    """Return the digest of (path, kind, executable, content) entries, in any order.

    SHA-256 over the entries sorted by UTF-8 path; each entry is its kind, path, executable bit and content,
    every part framed by its length in eight big-endian bytes.
    """
    return digest_sorted(sorted(entries, key=lambda entry: entry[0].encode("utf-8")))


def digest_sorted(entries: Iterable[tuple[str, bytes, bool, bytes]]) -> str:
    """Return the same of entries that come in the order of their UTF-8 paths, one held at a time."""
    digest = hashlib.sha256(TREE_FRAME)
    for path, kind, executable, content in entries:
        for part in (kind, path.encode("utf-8"), b"1" if executable else b"0", content):
            digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


def tree_digest(root: Path) -> str:
    """Return the digest of a folder: paths, executable bits, contents and link targets.

    Empty folders do not count.

    Raises:
        InputError: See :func:`tree_files`.

    """
    return digest_entries(_entry(relative, path) for relative, path in tree_files(root))


def foreign_tree_digest(root: Path) -> str:
    """Return the digest of a folder that somebody else wrote; links are taken for what they say, never followed.

    For a folder of plain files it is that of :func:`tree_digest`. A ``.git`` at its top does not count.

    Raises:
        InputError: It holds a device, socket or pipe, an ambiguous name, or too much: files, depth or bytes.

    """
    found = list(foreign_files(root))
    refuse_ambiguous_names([relative for relative, _ in found], Path("work"))
    try:
        found.sort(key=lambda entry: entry[0].encode("utf-8"))
    except UnicodeEncodeError as error:
        raise InputError("a file name is not UTF-8", code="unsafe-name") from error
    return digest_sorted(foreign_entry(root, relative, status) for relative, status in found)


def foreign_files(root: Path, *, folders: bool = False) -> Iterator[tuple[str, os.stat_result]]:
    """Yield (path, status) of what lies in a folder that somebody else wrote, in no order.

    Args:
        root: The folder; a ``.git`` at its top is passed over.
        folders: Whether folders are yielded too; their paths end with a slash.

    Raises:
        InputError: It cannot be listed, or holds too much: files, depth or bytes.

    """
    waiting, count, total = [PurePosixPath()], 0, 0
    while waiting:
        folder = waiting.pop()
        if len(folder.parts) > MAX_FOREIGN_DEPTH:
            raise InputError(f"more than {MAX_FOREIGN_DEPTH} folders deep", code="too-deep")
        try:
            with os.scandir(root / folder) as found:
                for entry in found:
                    relative = (folder / entry.name).as_posix()
                    if relative == ".git":
                        continue
                    status = entry.stat(follow_symlinks=False)
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(folder / entry.name)
                        if folders:
                            yield f"{relative}/", status
                        continue
                    count, total = count + 1, total + status.st_size
                    if count > MAX_FOREIGN_FILES or total > MAX_FOREIGN_BYTES:
                        raise InputError("more files or bytes than can be graded", code="too-large")
                    yield relative, status
        except OSError as error:
            raise InputError(f"{folder}: cannot be read: {error.strerror}", code="unreadable") from error


def stat_digest(root: Path) -> str:
    """Return a digest of a folder's paths, sizes, times and modes: quick, and another one after any change.

    Raises:
        InputError: It cannot be listed, or holds too much.

    """
    listed = {path: [str(s.st_size), str(s.st_mtime_ns), str(s.st_mode)] for path, s in foreign_files(root)}
    return sha256_bytes(json.dumps(listed, sort_keys=True).encode("utf-8", errors="surrogateescape"))


def foreign_entry(root: Path, relative: str, status: os.stat_result) -> tuple[str, bytes, bool, bytes]:
    """Return (path, kind, executable, content) of something that somebody else wrote.

    Raises:
        InputError: It is a device, socket or pipe, or cannot be read.

    """
    if stat.S_ISDIR(status.st_mode):
        return relative, b"folder", False, b""
    if stat.S_ISLNK(status.st_mode):
        return relative, b"link", False, os.fsencode(os.readlink(root / relative))
    if not stat.S_ISREG(status.st_mode):
        raise InputError(f"{relative}: not a file, folder or link", code="special-file")
    content = read_below(root, relative, MAX_FOREIGN_FILE)
    if content is None:
        raise InputError(f"{relative}: cannot be read, or is too large", code="unreadable")
    return relative, b"file", bool(status.st_mode & stat.S_IXUSR), content


def _entry(relative: str, path: Path) -> tuple[str, bytes, bool, bytes]:
    if path.is_symlink():
        return relative, b"link", False, os.fsencode(os.readlink(path))
    return relative, b"file", bool(path.stat().st_mode & stat.S_IXUSR), path.read_bytes()

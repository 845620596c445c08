"""A repository at a commit, without its past: one parentless commit, and nothing else to be found in it."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from evolve.corpus.plumbing import TreeEntry, clean_environment, git, list_tree, read_blobs
from evolve.digest import refuse_ambiguous_names, sha256_bytes
from evolve.errors import EnvironmentFault, InputError
from evolve.files import safe_relative
from evolve.snapshot import Snapshot

NOBODY = {
    "GIT_AUTHOR_NAME": "author",
    "GIT_AUTHOR_EMAIL": "author@localhost",
    "GIT_AUTHOR_DATE": "2000-01-01T00:00:00+00:00",
    "GIT_COMMITTER_NAME": "author",
    "GIT_COMMITTER_EMAIL": "author@localhost",
    "GIT_COMMITTER_DATE": "2000-01-01T00:00:00+00:00",
}
MESSAGE = "Initial state"
PATCH = "change.patch"
BRANCH = "main"
# Shorter contents say nothing: an empty __init__.py stands everywhere.
LEAST_ORACLE_BYTES = 32


@dataclass(frozen=True)
class Recipe:
    """What a clean repository is made of.

    Args:
        git_dir: The repository that holds the commit; none, where there are seed files alone.
        commit: The commit.
        removed: Patterns, as in .gitignore, of what the agent must not see.
        seed: Files that are added, or replace others.
        oracles: SHA-256 of every file of an oracle, by where it stands: no file may have the content of one.
        patch: A change that is applied and not committed.

    """

    git_dir: Path | None = None
    commit: str = ""
    removed: tuple[str, ...] = ()
    seed: Snapshot = field(default_factory=Snapshot)
    oracles: Mapping[str, str] = field(default_factory=dict)
    patch: bytes = b""


def build_clean(recipe: Recipe, target: Path) -> list[str]:
    """Make a repository of one parentless commit with fixed dates, its work tree checked out.

    No hard links, alternates, tags, remotes or reflogs; what is made is looked at again before it is believed.

    Args:
        recipe: What it is made of.
        target: Where it is made; must not exist.

    Returns:
        What was left out, in sentences.

    Raises:
        InputError: The tree holds what cannot be checked out safely, or an oracle.
        EnvironmentFault: git failed, or the result is not clean.

    """
    entries, notes = _wanted(recipe)
    git("init", "--quiet", "--template=", "-b", BRANCH, str(target))
    git_dir = target / ".git"
    if recipe.git_dir is not None:
        _take_blobs(recipe.git_dir, git_dir, entries)
    entries = _with_seed(entries, recipe.seed, git_dir)
    _refuse_unsafe(entries, recipe)
    _refuse_oracles(git_dir, entries, recipe.oracles)
    _commit(target, entries)
    if recipe.patch:
        _apply(target, recipe.patch)
    if faults := impurities(target, recipe.commit or None):
        raise EnvironmentFault(f"{target}: not a clean repository: {'; '.join(faults)}", code="unclean-clone")
    return notes


def _wanted(recipe: Recipe) -> tuple[list[TreeEntry], list[str]]:
    from pathspec import PathSpec

    if recipe.git_dir is None:
        return [], []
    removed = PathSpec.from_lines("gitignore", recipe.removed)
    kept, notes = [], []
    for entry in list_tree(recipe.git_dir, recipe.commit):
        if removed.match_file(entry.path):
            continue
        if entry.is_submodule:
            notes.append(f"the submodule {entry.path} is left out")
            continue
        kept.append(entry)
    links = [entry for entry in kept if entry.is_link]
    targets = dict(read_blobs(recipe.git_dir, [entry.sha for entry in links]))
    leaving = {entry.path for entry in links if _leaves(entry.path, targets[entry.sha])}
    notes += [f"the link {path} leaves the repository, and is left out" for path in sorted(leaving)]
    return [entry for entry in kept if entry.path not in leaving], notes


def _leaves(path: str, target: bytes) -> bool:
    """Whether a link leads out of the tree it stands in, as its text says."""
    text = target.decode("utf-8", errors="replace")
    if text.startswith("/"):
        return True
    depth = len(PurePosixPath(path).parts) - 1
    for part in PurePosixPath(text).parts:
        depth += -1 if part == ".." else 1
        if depth < 0:
            return True
    return False


def _take_blobs(source: Path, target: Path, entries: Iterable[TreeEntry]) -> None:
    """Copy the blobs that are wanted, as one pack, and nothing that leads to them.

    Without deltas: files of one commit are seldom like one another, and the search for it takes most of the time.
    """
    wanted = "".join(f"{sha}\n" for sha in sorted({entry.sha for entry in entries})).encode("ascii")
    if not wanted:
        return
    pack = git(
        "--git-dir", str(source), "pack-objects", "--stdout", "-q", "--no-reuse-delta", "--window=0", stdin=wanted
    )
    git("--git-dir", str(target), "index-pack", "--stdin", stdin=pack)


def _with_seed(entries: list[TreeEntry], seed: Snapshot, git_dir: Path) -> list[TreeEntry]:
    added = []
    for path, entry in seed.files.items():
        sha = git("--git-dir", str(git_dir), "hash-object", "-w", "--stdin", "--no-filters", stdin=entry.content)
        added.append(TreeEntry(path, "100755" if entry.executable else "100644", sha.decode("ascii").strip()))
    return [entry for entry in entries if entry.path not in seed.files] + added


def _refuse_unsafe(entries: list[TreeEntry], recipe: Recipe) -> None:
    where = Path(recipe.commit[:12] or "seed")
    if not entries:
        raise InputError(f"commit {where}: nothing is left of it", hint="see repository.remove", code="empty-tree")
    refuse_ambiguous_names([entry.path for entry in entries], where)
    for entry in entries:
        parts = [part.casefold() for part in PurePosixPath(entry.path).parts]
        if ".git" in parts or ".." in parts or entry.path.startswith("/"):
            raise InputError(
                f"commit {where}: the name {entry.path!r} cannot be checked out safely", code="unsafe-name"
            )


def _refuse_oracles(git_dir: Path, entries: list[TreeEntry], oracles: Mapping[str, str]) -> None:
    if not oracles:
        return
    by_sha: dict[str, str] = {}
    for entry in entries:
        by_sha.setdefault(entry.sha, entry.path)
    known = {digest: name for name, digest in oracles.items()}
    for sha, content in read_blobs(git_dir, list(by_sha)):
        if len(content) >= LEAST_ORACLE_BYTES and (name := known.get(sha256_bytes(content))):
            raise InputError(
                f"{by_sha[sha]}: the agent would see it, and it has the content of {name}",
                hint=f"add {by_sha[sha]} to repository.remove",
                code="oracle-visible",
            )


def _commit(target: Path, entries: list[TreeEntry]) -> None:
    at = ("--git-dir", str(target / ".git"), "--work-tree", str(target))
    listed = "".join(f"{entry.mode} {entry.sha}\t{entry.path}\0" for entry in entries).encode("utf-8")
    git(*at, "update-index", "-z", "--index-info", stdin=listed)
    tree = git(*at, "write-tree").decode("ascii").strip()
    commit = git(*at, "commit-tree", tree, "-m", MESSAGE, env=clean_environment(**NOBODY)).decode("ascii").strip()
    git(*at, "update-ref", f"refs/heads/{BRANCH}", commit)
    git(*at, "checkout-index", "--all", "--force", at=target)
    git(*at, "repack", "-a", "-d", "-q", "--window=0")
    git(*at, "prune-packed", "-q")
    git(*at, "update-index", "-q", "--refresh", at=target, allow=(0, 1))
    for name in ("logs", "hooks", "info", "branches", "description", "ORIG_HEAD", "FETCH_HEAD", "COMMIT_EDITMSG"):
        path = target / ".git" / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def _apply(target: Path, patch: bytes) -> None:
    at = ("--git-dir", str(target / ".git"), "--work-tree", str(target))
    try:
        listed = git(*at, "apply", "--numstat", "-z", "-", at=target, stdin=patch)
        for record in filter(None, listed.split(b"\0")):
            safe_relative(record.rpartition(b"\t")[2].decode("utf-8", errors="replace"), where=PATCH)
        git(*at, "apply", "--whitespace=nowarn", "-", at=target, stdin=patch)
    except (EnvironmentFault, InputError) as error:
        raise InputError(f"the patch does not apply: {error.message}", code="broken-patch") from error


def impurities(repository: Path, original: str | None = None) -> list[str]:
    """Return what is in a repository that must not be, in sentences; nothing, when it is clean.

    Args:
        repository: Its work tree.
        original: The commit that it was made of, which must not be readable in it.

    """
    git_dir = repository / ".git"
    at = ("--git-dir", str(git_dir))
    faults = []
    commits = git(*at, "rev-list", "--all", "--parents").decode("ascii").splitlines()
    if len(commits) != 1 or len(commits[0].split()) != 1:
        faults.append(f"{len(commits)} commits where one without parents should be")
    refs = git(*at, "for-each-ref", "--format=%(refname)").decode("utf-8").split()
    if refs != [f"refs/heads/{BRANCH}"]:
        faults.append(f"refs: {', '.join(refs)}")
    if git(*at, "remote").strip():
        faults.append("a remote")
    if (git_dir / "objects/info/alternates").exists():
        faults.append("alternates")
    if (git_dir / "logs").exists() or (git_dir / "hooks").exists():
        faults.append("reflogs or hooks")
    reachable = _objects(git(*at, "rev-list", "--all", "--objects"))
    stored = _objects(git(*at, "cat-file", "--batch-all-objects", "--batch-check", "--unordered"))
    if stored - reachable:
        faults.append(f"{len(stored - reachable)} objects that no commit reaches")
    if original is not None and original in stored:
        faults.append("the original commit")
    linked = [path.name for path in git_dir.rglob("*") if path.is_file() and path.stat().st_nlink > 1]
    if linked:
        faults.append(f"hard links: {', '.join(linked[:3])}")
    return faults


def _objects(listed: bytes) -> set[str]:
    return {line.split()[0] for line in listed.decode("utf-8", errors="replace").splitlines() if line}


def content_key(recipe: Recipe, source: str) -> str:
    """Return what names the result: the same recipe of the same source always gives the same repository."""
    parts = [source, recipe.commit, *recipe.removed, recipe.seed.digest, hashlib.sha256(recipe.patch).hexdigest()]
    parts += sorted(recipe.oracles.values())
    return sha256_bytes("\0".join(parts).encode("utf-8"))

"""The few things that are asked of git."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from evolve.errors import EnvironmentFault, InputError
from evolve.promote.git_tree import read_listed
from evolve.promote.index_lock import refuse_locked
from evolve.promote.midway import MIDWAY, refuse_midway
from evolve.snapshot import Snapshot

FALLBACK_IDENTITY = ("-c", "user.name=evolve", "-c", "user.email=evolve@localhost")


@dataclass(frozen=True)
class Commit:
    """A commit and the trailers of its message."""

    sha: str
    trailers: dict[str, str]


def _trailers(message: str) -> dict[str, str]:
    # Hooks may add a block of their own behind ours, so that git's own trailer rules would miss them.
    return dict(re.findall(r"^(Evolve-[A-Za-z]+): (\S+)$", message, re.MULTILINE))


class Repository:
    """A workspace's git repository; all paths are relative to the workspace."""

    def __init__(self, root: Path) -> None:
        try:
            import git
        except ImportError as error:
            raise EnvironmentFault(f"git does not work here: {error}", hint="apt install git") from error

        self._errors: type[Exception] = git.exc.GitCommandError
        try:
            git.Repo(root, search_parent_directories=True)
        except git.exc.InvalidGitRepositoryError as error:
            raise InputError(f"{root}: not in a git repository", hint="git init", code="no-repository") from error
        except git.exc.GitError as error:
            raise EnvironmentFault(f"{root}: git does not work here: {error}") from error
        self.root = root
        self._git = git.Git(root)

    def _call(self, *arguments: str) -> str:
        try:
            return str(self._git.execute(["git", *arguments], stdout_as_string=True))
        except self._errors as error:
            text = str(getattr(error, "stderr", error)).strip().removeprefix("stderr:").strip(" '\n")
            if "index.lock" in text:
                self.check_unlocked()
            name = next((one for one in arguments if re.fullmatch(r"[a-z]+(-[a-z]+)*", one)), arguments[0])
            raise EnvironmentFault(f"git {name}: {text or 'refused'}", code="git-failed") from error

    def head(self) -> str | None:
        """Return the commit that HEAD names; ``None`` before the first commit."""
        try:
            return self._call("rev-parse", "--verify", "--quiet", "HEAD")
        except EnvironmentFault:
            return None

    def branch(self) -> str | None:
        """Return the current branch; ``None`` when HEAD is detached."""
        return self._call("branch", "--show-current") or None

    def has_branch(self, name: str) -> bool:
        """Whether a local branch exists."""
        return bool(self._call("branch", "--list", "--format=%(refname:short)", name))

    def switch_to_new(self, name: str) -> None:
        """Create a branch at HEAD and switch to it; no file changes."""
        self._call("switch", "--quiet", "--create", name)

    def valid_branch_name(self, name: str) -> bool:
        """Whether git accepts a name for a branch."""
        try:
            self._call("check-ref-format", "--branch", name)
        except EnvironmentFault:
            return False
        return not name.startswith("-")

    def changed(self, paths: Sequence[str], *, ignored: bool = False) -> list[str]:
        """Return which of some paths differ from HEAD or are untracked; those that git ignores only when asked."""
        ways = ("--porcelain", "--untracked-files=all", "-z", *(["--ignored=matching"] if ignored else []))
        text = self._call("--literal-pathspecs", "status", *ways, "--", *paths)
        return [entry[3:] for entry in text.split("\0") if len(entry) > 3]

    def commit(self, paths: Sequence[str], message: str) -> str:
        """Commit some paths and nothing else; hooks and signing settings of the repository hold.

        Raises:
            EnvironmentFault: git or a hook refused.

        """
        self._call("--literal-pathspecs", "add", "--force", "--", *paths)
        identity = () if self._has_identity() else FALLBACK_IDENTITY
        self._call(*identity, "--literal-pathspecs", "commit", "--quiet", "--only", "--message", message, "--", *paths)
        return self._call("rev-parse", "HEAD")

    def check_unlocked(self) -> None:
        """Refuse to go on while git's index is locked: its process may live on when ours was killed.

        Raises:
            EnvironmentFault: The lock, its age and the remedy are named.

        """
        refuse_locked(self.root / self._call("rev-parse", "--git-path", "index.lock"))

    def check_settled(self) -> None:
        """Refuse to commit in the midst of a rebase, a merge, or the like."""
        told = self._call("rev-parse", *(part for name in MIDWAY for part in ("--git-path", name)))
        refuse_midway({name: self.root / path for name, path in zip(MIDWAY, told.splitlines(), strict=True)})

    def back_to(self, head: str | None, branch: str | None, new_branch: str | None) -> None:
        """Go back to a head and a branch after a commit that must not stand; files on disk are left alone."""
        if head is None:
            return
        if self.head() != head:
            self._call("reset", "--quiet", "--soft", head)
        if new_branch is None:
            return
        if self.branch() == new_branch:
            if branch is not None:
                self._call("symbolic-ref", "HEAD", f"refs/heads/{branch}")
            else:
                self._call("update-ref", "--no-deref", "HEAD", head)
        if self.tip(new_branch) is not None:
            self.delete_branch(new_branch)

    def delete_branch(self, name: str) -> None:
        """Delete a branch, merged or not."""
        self._call("branch", "--quiet", "--delete", "--force", name)

    def tip(self, branch: str) -> str | None:
        """Return the commit that a local branch names; ``None`` when there is no such branch."""
        return self._quietly("rev-parse", "--verify", "--quiet", f"refs/heads/{branch}")

    def refresh(self, paths: Sequence[str]) -> None:
        """Have the index hold what HEAD holds of some paths."""
        if paths and self.head() is not None:
            self._call("--literal-pathspecs", "reset", "--quiet", "--", *paths)

    def parent(self, sha: str) -> str | None:
        """Return a commit's first parent; ``None`` when it has none at hand."""
        return self._quietly("rev-parse", "--verify", "--quiet", f"{sha}^")

    def resolve(self, text: str) -> str | None:
        """Return the commit that a text names; ``None`` when it names none."""
        if text.startswith("-"):
            return None
        return self._quietly("rev-parse", "--verify", "--quiet", "--end-of-options", f"{text}^{{commit}}")

    def trailers(self, sha: str) -> dict[str, str]:
        """Return the trailers of ours that a commit carries."""
        return _trailers(self.message(sha))

    def in_history(self, sha: str) -> bool:
        """Whether HEAD goes on from a commit."""
        return self.goes_on_from("HEAD", sha)

    def goes_on_from(self, later: str, earlier: str) -> bool:
        """Whether a commit goes on from another, or is it."""
        return self._quietly("merge-base", "--is-ancestor", earlier, later) is not None

    def executable(self, revision: str, path: str) -> bool:
        """Whether a file may be executed at a revision."""
        return self.mode(revision, path) == "100755"

    def mode(self, revision: str, path: str) -> str | None:
        """Return what git takes a path for at a revision, as ``100644``; ``None`` when it is not there."""
        return (self._quietly("--literal-pathspecs", "ls-tree", revision, "--", path) or "").partition(" ")[0] or None

    def remote(self, branch: str | None) -> str | None:
        """Return the remote to push to: the branch's own, else ``origin``, else the only one."""
        own = self._quietly("config", f"branch.{branch}.remote") if branch else None
        names = self._call("remote").split()
        known = [name for name in (own, "origin") if name in names]
        return known[0] if known else names[0] if len(names) == 1 else None

    def push(self, remote: str, branch: str) -> None:
        """Push a branch; nothing is forced."""
        self._call("push", "--quiet", "--set-upstream", remote, f"refs/heads/{branch}:refs/heads/{branch}")

    def _quietly(self, *arguments: str) -> str | None:
        try:
            return self._call(*arguments)
        except EnvironmentFault:
            return None

    def tree(self, revision: str, folder: str) -> Snapshot:
        """Return a folder as a revision holds it, with paths relative to it; empty where it is not there.

        What git's attributes say of exports does not count. A link or a submodule is never equal to a file.
        """
        listed = self._quietly("--literal-pathspecs", "ls-tree", "-r", "-z", revision, "--", f"{folder}/") or ""
        return read_listed(self._git, listed).below(folder)

    def _has_identity(self) -> bool:
        try:
            return bool(self._call("var", "GIT_AUTHOR_IDENT") and self._call("config", "user.email"))
        except EnvironmentFault:
            return False

    def blob(self, revision: str, path: str) -> bytes | None:
        """Return a file's bytes at a revision; ``None`` when it is not there."""
        try:
            command = ["git", "cat-file", "blob", f"{revision}:./{path}"]
            return bytes(self._git.execute(command, stdout_as_string=False, strip_newline_in_stdout=False))
        except self._errors:
            return None

    def commits_of(self, path: str) -> list[str]:
        """Return the commits that HEAD goes on from and that changed a file, newest first."""
        if self.head() is None:
            return []
        return self._call("--literal-pathspecs", "log", "--full-history", "--format=%H", "HEAD", "--", path).split()

    def changed_in(self, sha: str) -> set[str]:
        """Return the paths that a commit changed against its first parent, relative to the workspace.

        Those outside of the workspace begin with ``..``.
        """
        revisions = [sha] if self.parent(sha) is None else [f"{sha}^", sha]
        text = self._call(
            "diff-tree", "--no-commit-id", "--name-only", "-r", "-z", "--no-renames", "--root", *revisions
        )
        prefix = self._call("rev-parse", "--show-prefix")
        return {posixpath.relpath(name, prefix or ".") for name in text.split("\0") if name}

    def commits_with_trailer(self, key: str, value: str) -> list[Commit]:
        """Return the commits reachable from any ref that carry a trailer of ours."""
        text = self._call("log", "--all", "--format=%H%x00%B%x01", "--basic-regexp", f"--grep=^{key}: {value}$")
        commits = []
        for entry in text.split("\x01"):
            sha, _, message = entry.strip().partition("\0")
            trailers = _trailers(message)
            if sha and trailers.get(key) == value:
                commits.append(Commit(sha=sha, trailers=trailers))
        return commits

    def trailers_since(self, revision: str, key: str) -> set[str]:
        """Return the values of a trailer of ours in the commits that HEAD has and a revision has not.

        Raises:
            InputError: There is no such revision.

        """
        text = self._call("log", "--format=%B", f"{self._start(revision)}..HEAD")
        return set(re.findall(rf"^{re.escape(key)}: (\S+)$", text, re.MULTILINE))

    def _start(self, revision: str) -> str:
        try:
            return self._call("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        except EnvironmentFault as error:
            text = f"--since: no revision {revision!r}"
            raise InputError(text, hint="git log --oneline", code="no-revision") from error

    def carriers(self, key: str, since: str | None = None) -> dict[str, list[str]]:
        """Return the commits of this history, or of what came after a revision, that carry a trailer, oldest first.

        Raises:
            InputError: There is no such revision.

        """
        if self.head() is None:
            return {}
        revisions = "HEAD" if since is None else f"{self._start(since)}..HEAD"
        text = self._call("log", "-z", "--reverse", "--topo-order", "--format=%H%n%B", revisions)
        found = {}
        for entry in text.split("\0"):
            sha, _, message = entry.partition("\n")
            if values := re.findall(rf"^{re.escape(key)}:[ \t]*(.*?)\s*$", message, re.MULTILINE):
                found[sha.strip()] = values
        return found

    def message(self, sha: str) -> str:
        """Return a commit's message."""
        return self._call("show", "--no-patch", "--format=%B", sha)

    def day_of(self, sha: str) -> str:
        """Return the day on which a commit was made, as YYYY-MM-DD."""
        return self._call("show", "--no-patch", "--format=%cs", sha)

    def has_parent(self, sha: str) -> bool:
        """Whether a commit's parent is at hand."""
        return self.parent(sha) is not None

    @property
    def shallow(self) -> bool:
        """Whether history was cut off when it was cloned."""
        return self._call("rev-parse", "--is-shallow-repository") == "true"

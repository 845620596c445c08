"""Asking git, without what the user or a repository have configured."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evolve.errors import EnvironmentFault, InputError

NO_CONFIG = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "LC_ALL": "C",
}
# No hook, no helper program, no fetch of what is missing: a repository is data.
QUIET = (
    *("-c", "safe.directory=*", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"),
    *("-c", "core.attributesFile=/dev/null", "-c", "core.excludesFile=/dev/null", "-c", "core.logAllRefUpdates=false"),
    *("-c", "protocol.ext.allow=never", "-c", "gc.auto=0", "-c", "advice.detachedHead=false"),
)
WALL_S = 1800


def clean_environment(**more: str) -> dict[str, str]:
    """Return an environment in which git finds no configuration and no other repository."""
    return {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": "/nonexistent", **NO_CONFIG, **more}


def git(
    *arguments: str,
    at: Path | None = None,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
    allow: Sequence[int] = (0,),
) -> bytes:
    """Run git and return what it printed.

    Args:
        arguments: The command.
        at: The folder it runs in.
        stdin: What it reads.
        env: The whole environment; by default one without configuration.
        allow: Exit codes that are no failure.

    Raises:
        EnvironmentFault: git is missing or failed; the message is git's own.

    """
    try:
        ran = subprocess.run(
            ["git", *QUIET, *arguments],
            cwd=at,
            input=stdin,
            capture_output=True,
            env=dict(env or clean_environment()),
            timeout=WALL_S,
            check=False,
        )
    except FileNotFoundError as error:
        raise EnvironmentFault("git is not installed", hint="apt install git", code="no-git") from error
    except subprocess.TimeoutExpired as error:
        raise EnvironmentFault(f"git {arguments[0]}: not done after {WALL_S} s", code="git-failed") from error
    if ran.returncode not in allow:
        said = ran.stderr.decode("utf-8", errors="replace").strip() or f"exit {ran.returncode}"
        raise EnvironmentFault(f"git {_verb(arguments)}: {said[-500:]}", code="git-failed")
    return ran.stdout


def _verb(arguments: Sequence[str]) -> str:
    """Return the command among the arguments."""
    rest = list(arguments)
    while rest and rest[0].startswith("-"):
        rest = rest[2:] if rest[0] in ("--git-dir", "--work-tree", "-c", "-C") else rest[1:]
    return rest[0] if rest else "git"


@dataclass(frozen=True)
class TreeEntry:
    """A file, link or submodule of a commit."""

    path: str
    mode: str
    sha: str

    @property
    def is_link(self) -> bool:
        """Whether it is a symbolic link."""
        return self.mode == "120000"

    @property
    def is_submodule(self) -> bool:
        """Whether it is a commit of another repository."""
        return self.mode == "160000"


def list_tree(git_dir: Path, commit: str) -> list[TreeEntry]:
    """Return every file of a commit, sorted by path.

    Raises:
        InputError: A name is not UTF-8.
        EnvironmentFault: git failed.

    """
    listed = git("--git-dir", str(git_dir), "ls-tree", "-r", "-z", "--full-tree", commit)
    entries = []
    for record in filter(None, listed.split(b"\0")):
        head, _, name = record.partition(b"\t")
        mode, _, sha = head.decode("ascii").split()
        try:
            entries.append(TreeEntry(name.decode("utf-8"), mode, sha))
        except UnicodeDecodeError as error:
            raise InputError(
                f"commit {commit[:12]}: the file name {name!r} is not UTF-8", code="unsafe-name"
            ) from error
    return sorted(entries, key=lambda entry: entry.path.encode("utf-8"))


def read_blobs(git_dir: Path, shas: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """Yield (id, content) of blobs, one at a time.

    Raises:
        EnvironmentFault: git failed, or a blob is missing.

    """
    process = subprocess.Popen(
        ["git", *QUIET, "--git-dir", str(git_dir), "cat-file", "--batch"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=clean_environment(),
    )
    with process:
        assert process.stdin is not None and process.stdout is not None
        try:
            for sha in shas:
                process.stdin.write(sha.encode("ascii") + b"\n")
                process.stdin.flush()
                head = process.stdout.readline().split()
                if len(head) != 3:
                    raise EnvironmentFault(f"git cat-file: {sha} is missing", code="git-failed")
                yield sha, process.stdout.read(int(head[2]))
                process.stdout.read(1)
        finally:
            process.kill()

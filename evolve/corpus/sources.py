"""Finding the repository that a task names: a folder, a bundle, or an address that is fetched once."""

from __future__ import annotations

import os
from pathlib import Path

from evolve.corpus.plumbing import NO_CONFIG, git
from evolve.digest import sha256_bytes
from evolve.errors import EnvironmentFault, InputError
from evolve.files import writer_lock
from evolve.records.task import RepositorySpec
from evolve.workspace import Workspace


def git_dir_of(spec: RepositorySpec, workspace: Workspace) -> Path:
    """Return a git folder that has the commit.

    Raises:
        InputError: There is no such repository, or it has no such commit.
        EnvironmentFault: It cannot be fetched.

    """
    if spec.url is not None:
        return _fetched(spec.url, spec.commit, workspace, os.environ | {"GIT_TERMINAL_PROMPT": "0"})
    path = (workspace.root / (spec.path or ".")).resolve()
    if path.is_file():
        return _fetched(str(path), spec.commit, workspace, dict(os.environ) | NO_CONFIG)
    try:
        found = git("-C", str(path), "rev-parse", "--absolute-git-dir").decode("utf-8").strip()
    except (EnvironmentFault, OSError) as error:
        raise InputError(
            f"task.yaml: repository.path: {spec.path!r}: no git repository", code="no-repository"
        ) from error
    if not _has(Path(found), spec.commit):
        raise InputError(
            f"task.yaml: repository.commit: {path} has no commit {spec.commit[:12]}",
            hint="give a full commit id that it has",
            code="no-commit",
        )
    return Path(found)


def _has(git_dir: Path, commit: str) -> bool:
    try:
        git("--git-dir", str(git_dir), "cat-file", "-e", f"{commit}^{{commit}}")
    except EnvironmentFault:
        return False
    return True


def _fetched(source: str, commit: str, workspace: Workspace, env: dict[str, str]) -> Path:
    """Return a bare repository that a commit was fetched into, and nothing else where the other side allows it."""
    target = workspace.beginnings / "repositories" / sha256_bytes(source.encode("utf-8"))[:32]
    with writer_lock(target.with_suffix(".lock"), f"the repository {source}", wait_s=3600):
        if not (target / "HEAD").exists():
            git("init", "--quiet", "--bare", "--template=", str(target))
        if not _has(target, commit):
            at = ("--git-dir", str(target))
            try:
                git(*at, "fetch", "--quiet", "--no-tags", "--depth=1", "--", source, commit, env=env)
            except EnvironmentFault:
                _fetch_all(at, source, env)
        if not _has(target, commit):
            raise InputError(
                f"task.yaml: repository.commit: {source} has no commit {commit[:12]}",
                hint="give a full commit id that a branch or tag of it reaches",
                code="no-commit",
            )
    return target


def _fetch_all(at: tuple[str, ...], source: str, env: dict[str, str]) -> None:
    try:
        git(*at, "fetch", "--quiet", "--no-tags", "--", source, "+refs/*:refs/fetched/*", env=env)
    except EnvironmentFault as error:
        hint = "is the address right, and may this machine reach it?"
        raise EnvironmentFault(f"{source}: cannot be fetched: {error.message}", hint=hint, code="no-fetch") from error

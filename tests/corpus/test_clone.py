"""A repository without its past."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from evolve.corpus.clone import Recipe, build_clean, impurities
from evolve.corpus.plumbing import git
from evolve.digest import sha256_bytes
from evolve.errors import EnvironmentFault, InputError
from evolve.snapshot import Snapshot
from tests import worlds

SECRET = "the fix that was made later, as the oracle has it word for word\n"


def commit(root: Path, message: str, files: dict[str, str | None]) -> str:
    for name, text in files.items():
        path = root / name
        if text is None:
            path.unlink()
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    worlds.git(root, "add", "--all")
    worlds.git(root, "commit", "--quiet", "--message", message)
    return worlds.git(root, "rev-parse", "HEAD")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    root = tmp_path / "source"
    root.mkdir()
    worlds.git(root, "init", "--quiet", "-b", "trunk")
    return root


@pytest.fixture
def history(source: Path) -> tuple[Path, str, str]:
    """Return a repository, a commit of it, and the commit after it that holds the fix."""
    commit(source, "one", {"a.py": "x = 1\n", "corpus/t/oracle.txt": "answer\n", "old.py": SECRET})
    middle = commit(source, "two", {"a.py": "x = 2\n", "lib/b.py": "y = 1\n", "old.py": None, ".gitignore": "*.log\n"})
    worlds.git(source, "tag", "v1")
    worlds.git(source, "remote", "add", "origin", "https://example.org/x")
    later = commit(source, "the fix", {"fix.py": SECRET})
    worlds.git(source, "branch", "feature", middle)
    return source / ".git", middle, later


def call(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False).stdout


def test_there_is_one_parentless_commit_and_nothing_else_to_be_found(
    history: tuple[Path, str, str], tmp_path: Path
) -> None:
    git_dir, middle, later = history
    clean = tmp_path / "clean"
    assert build_clean(Recipe(git_dir, middle, ("/corpus/",)), clean) == []
    assert impurities(clean, middle) == []
    assert sorted(p.relative_to(clean).as_posix() for p in clean.rglob("*") if ".git/" not in f"{p}/") == [
        ".gitignore",
        "a.py",
        "lib",
        "lib/b.py",
    ]
    assert (
        call(clean, "log", "--all", "--format=%an %ad %s", "--date=short").strip() == "author 2000-01-01 Initial state"
    )
    assert call(clean, "status", "--porcelain") == ""
    assert call(clean, "tag") + call(clean, "remote") + call(clean, "stash", "list") + call(clean, "reflog") == ""
    for wanted in (middle, later):
        assert subprocess.run(["git", "cat-file", "-e", wanted], cwd=clean, capture_output=True).returncode != 0
    everything = b"".join(git("cat-file", "--batch-all-objects", "--batch", at=clean).split(b"\n"))
    assert SECRET.strip().encode() not in everything
    assert b"answer" not in everything
    assert (clean / "a.py").read_text() == "x = 2\n"


def test_the_same_commit_gives_the_same_repository_whenever_it_is_made(
    history: tuple[Path, str, str], tmp_path: Path
) -> None:
    git_dir, middle, _ = history
    heads = set()
    for name in ("one", "two"):
        build_clean(Recipe(git_dir, middle), tmp_path / name)
        heads.add(call(tmp_path / name, "rev-parse", "HEAD"))
    assert len(heads) == 1


def test_an_agent_can_work_in_it(history: tuple[Path, str, str], tmp_path: Path) -> None:
    git_dir, middle, _ = history
    clean = tmp_path / "clean"
    build_clean(Recipe(git_dir, middle, seed=Snapshot.of_texts({"new/seed.txt": "hello\n"})), clean)
    assert (clean / "new/seed.txt").read_text() == "hello\n"
    (clean / "a.py").write_text("x = 3\n")
    assert call(clean, "diff", "--stat").strip().endswith("1 insertion(+), 1 deletion(-)")
    worlds.git(clean, "commit", "--quiet", "--all", "--message", "mine")
    assert impurities(clean) != []


def test_a_file_with_the_content_of_an_oracle_is_refused(history: tuple[Path, str, str], tmp_path: Path) -> None:
    git_dir, _, later = history
    oracles = {"task-1/oracle/fix.py": sha256_bytes(SECRET.encode())}
    with pytest.raises(InputError, match=r"fix\.py: the agent would see it, and it has the content of task-1/oracle"):
        build_clean(Recipe(git_dir, later, oracles=oracles), tmp_path / "clean")
    build_clean(Recipe(git_dir, later, ("fix.py",), oracles=oracles), tmp_path / "again")


def test_links_that_leave_and_submodules_are_left_out_and_said(source: Path, tmp_path: Path) -> None:
    (source / "inside").symlink_to("a.py")
    (source / "out").symlink_to("../../etc/passwd")
    (source / "abs").symlink_to("/etc/passwd")
    head = commit(source, "links", {"a.py": "x\n"})
    worlds.git(source, "update-index", "--add", "--cacheinfo", f"160000,{head},module")
    worlds.git(source, "commit", "--quiet", "--message", "a submodule")
    head = worlds.git(source, "rev-parse", "HEAD")
    notes = build_clean(Recipe(source / ".git", head), tmp_path / "clean")
    assert notes == [
        "the submodule module is left out",
        "the link abs leaves the repository, and is left out",
        "the link out leaves the repository, and is left out",
    ]
    assert os.readlink(tmp_path / "clean/inside") == "a.py"


def test_a_change_under_review_is_applied_and_not_committed(tmp_path: Path) -> None:
    seed = Snapshot.of_texts({"a.py": "x = 1\n"})
    patch = b"--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"
    build_clean(Recipe(seed=seed, patch=patch), tmp_path / "clean")
    assert (tmp_path / "clean/a.py").read_text() == "x = 2\n"
    assert "+x = 2" in call(tmp_path / "clean", "diff")
    (tmp_path / "x").write_text("x = 1\n")
    outside = patch.replace(b"a.py", b"../x")
    for number, broken in enumerate((b"nonsense\n", patch.replace(b"-x = 1", b"-x = 7"), outside)):
        with pytest.raises(InputError, match="the patch does not apply"):
            build_clean(Recipe(seed=seed, patch=broken), tmp_path / f"broken-{number}")
    assert (tmp_path / "x").read_text() == "x = 1\n"


@pytest.mark.parametrize("name", ["sub/.git/config", "sub/.GIT/hooks", "a\nb"])
def test_names_that_cannot_be_checked_out_safely_are_refused(source: Path, tmp_path: Path, name: str) -> None:
    commit(source, "one", {"a.py": "x\n"})
    sha = worlds.git(source, "hash-object", "-w", "a.py")
    parts = name.split("/")
    tree = f"100644 blob {sha}\t{parts[-1]}\0".encode()
    for part in reversed(["", *parts[:-1]]):
        made = git("mktree", "-z", "--missing", at=source, stdin=tree).decode().strip()
        tree = f"040000 tree {made}\t{part}\0".encode()
    head = git("commit-tree", made, "-m", "evil", at=source, env={**os.environ, **AUTHOR}).decode().strip()
    with pytest.raises(InputError, match=r"cannot be checked out safely|control character"):
        build_clean(Recipe(source / ".git", head), tmp_path / "clean")


AUTHOR = {"GIT_AUTHOR_NAME": "x", "GIT_AUTHOR_EMAIL": "x", "GIT_COMMITTER_NAME": "x", "GIT_COMMITTER_EMAIL": "x"}


def test_what_is_impure_is_named(history: tuple[Path, str, str], tmp_path: Path) -> None:
    git_dir, middle, _ = history
    worlds.git(tmp_path, "clone", "--quiet", "--shared", str(git_dir.parent), str(tmp_path / "shared"))
    found = "; ".join(impurities(tmp_path / "shared", middle))
    for wanted in ("3 commits", "refs: ", "a remote", "alternates", "reflogs or hooks", "the original commit"):
        assert wanted in found
    clean = tmp_path / "clean"
    build_clean(Recipe(git_dir, middle), clean)
    git("hash-object", "-w", "--stdin", at=clean, stdin=b"left behind")
    assert impurities(clean) == ["1 objects that no commit reaches"]


def test_a_hostile_repository_runs_nothing(history: tuple[Path, str, str], tmp_path: Path) -> None:
    git_dir, middle, _ = history
    mark = tmp_path / "ran"
    (git_dir / "hooks").mkdir(exist_ok=True)
    for hook in ("post-checkout", "pre-commit", "post-index-change", "reference-transaction"):
        (git_dir / "hooks" / hook).write_text(f"#!/bin/sh\ntouch {mark}\n")
        (git_dir / "hooks" / hook).chmod(0o755)
    with (git_dir / "config").open("a") as config:
        config.write(
            f'[core]\n\tfsmonitor = touch {mark}\n[filter "x"]\n\tsmudge = touch {mark}\n\tclean = touch {mark}\n'
        )
    (git_dir / "info").mkdir(exist_ok=True)
    (git_dir / "info/attributes").write_text("* filter=x\n")
    build_clean(Recipe(git_dir, middle), tmp_path / "clean")
    assert not mark.exists()


def test_what_git_says_is_told(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFault, match="git rev-parse: fatal: not a git repository"):
        git("rev-parse", "HEAD", at=tmp_path)

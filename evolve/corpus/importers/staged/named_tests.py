"""Apply a patch of tests to a copy of the work, and see whether named tests pass.

``tests.json`` names the tests and the files of the patch; ``test.patch`` lies beside it. The interpreter is that of the
work's own ``.venv`` where it has one.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
OUTCOMES = "NAMED_TESTS_OUTCOMES"


def interpreter(work: Path) -> str:
    """Return the Python that runs the tests."""
    own = work / ".venv" / "bin" / "python"
    return str(own) if own.exists() else shutil.which("python3") or sys.executable


def git(*arguments: str, at: Path) -> subprocess.CompletedProcess[bytes]:
    """Run git without configuration."""
    env = {
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
    }
    return subprocess.run(
        ["git", "-c", "safe.directory=*", *arguments], cwd=at, env=env, capture_output=True, check=False
    )


def lay_out(before: Path, work: Path, files: list[str]) -> bool:
    """Copy the work, and put the tests in place; false where their patch does not apply."""

    def left_out(folder: str, names: list[str]) -> set[str]:
        return {".git", ".venv"} & set(names) if Path(folder) == before else set()

    shutil.copytree(before, work, symlinks=True, ignore=left_out)
    for name in files:
        # What the work has done to these files makes room for the tests that it is graded by.
        original = git("show", f"HEAD:{name}", at=before)
        if original.returncode == 0 and not (work / name).is_symlink():
            (work / name).parent.mkdir(parents=True, exist_ok=True)
            (work / name).write_bytes(original.stdout)
    applied = git("apply", "--whitespace=nowarn", str(HERE / "test.patch"), at=work)
    if applied.returncode:
        print(applied.stderr.decode("utf-8", errors="replace"), file=sys.stderr)
    return applied.returncode == 0


def outcomes_of(work: Path, python: str, tests: list[str], room: Path) -> dict[str, str]:
    """Run the files of the tests, and return how each test that was named ended."""
    written = room / "outcomes.json"
    env = {
        **os.environ,
        "PYTHONPATH": str(HERE),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": str(room),
        OUTCOMES: str(written),
    }
    files = sorted({test.split("::", 1)[0] for test in tests})
    options = [
        "-q",
        "--rootdir=.",
        "--continue-on-collection-errors",
        "-p",
        "no:cacheprovider",
        "-p",
        "named_tests_plugin",
    ]
    done = subprocess.run([python, "-m", "pytest", *options, "--", *files], cwd=work, env=env, stdout=2, check=False)
    if not written.is_file():
        print(f"the tests did not run to their end (exit {done.returncode})", file=sys.stderr)
        return {}
    value = json.loads(written.read_text(encoding="utf-8"))
    return {str(name): str(outcome) for name, outcome in value.items()}


def main() -> int:
    """Return 0 when every named test passes."""
    wanted = json.loads((HERE / "tests.json").read_text(encoding="utf-8"))
    tests = [*wanted["fail_to_pass"], *wanted["pass_to_pass"]]
    before = Path.cwd()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        room = Path(scratch)
        if not lay_out(before, room / "work", wanted["files"]):
            return 1
        outcomes = outcomes_of(room / "work", interpreter(before), tests, room)
    bad = [f"{test}: {outcomes.get(test, 'not run')}" for test in tests if outcomes.get(test) != "passed"]
    print("\n".join([f"{len(tests) - len(bad)} of {len(tests)} pass", *bad[:10]]), file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

"""A workspace is hidden wherever it lies."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from evolve.sandbox import hidden
from evolve.sandbox.base import Job, base_python
from evolve.sandbox.hidden import hiding
from evolve.workspace import find_workspace
from tests.sandbox.test_box import run
from tests.sandbox.test_bubblewrap import REASON, SANDBOX, WORKS
from tests.worlds import make_workspace

pytestmark = pytest.mark.skipif(not WORKS, reason=REASON)


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a folder below what every sandbox shows."""
    monkeypatch.setattr(hidden, "_HIDDEN", set())
    root = Path("/usr/local/share/evolve-test-workspace")
    if sys.base_prefix.startswith("/usr") is False:
        root = Path(sys.base_prefix) / "evolve-test-workspace"
    shutil.rmtree(root, ignore_errors=True)
    try:
        root.mkdir(parents=True)
    except OSError:
        pytest.skip("nothing below the system's folders can be written here")
    yield root
    shutil.rmtree(root)


def test_oracles_are_not_seen_though_the_workspace_lies_below_a_folder_that_is_shown(
    shown: Path, tmp_path: Path
) -> None:
    make_workspace(shown)
    look = f"import os; print(sorted(os.listdir({str(shown)!r})))"
    assert "corpus" in run(tmp_path, look)[1]
    find_workspace(shown)
    assert run(tmp_path, look)[1] == "[]\n"
    graded = SANDBOX.run(Job((base_python(), "-I", "-S", "-c", look), tmp_path / "work", 20))
    assert graded.stdout == b"[]\n"


def test_a_file_is_hidden_too(shown: Path, tmp_path: Path) -> None:
    (shown / "key.pem").write_text("secret")
    look = f"print(open({str(shown / 'key.pem')!r}).read())"
    assert "secret" in run(tmp_path, look)[1]
    hidden.hide(shown / "key.pem")
    assert "secret" not in run(tmp_path, look)[1]
    graded = SANDBOX.run(Job((base_python(), "-I", "-S", "-c", look), tmp_path / "work", 20))
    assert b"secret" not in graded.stdout
    assert b"bwrap" not in graded.stderr


def test_what_is_not_shown_needs_no_hiding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hidden, "_HIDDEN", {tmp_path, Path("/usr/src/app")})
    assert hiding(["/usr", "/bin"]) == ["--tmpfs", "/usr/src/app"]

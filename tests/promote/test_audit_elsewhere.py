"""An audit on another machine: a clone, another Python, the runtime dependencies alone, no settings, no network."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import CommandLine
from tests.promote.conftest import Measured
from tests.worlds import git

PROJECT = Path(__file__).parents[2]
UNREACHABLE = ("NewConnectionError", "Failed to establish a new connection", "name resolution", "timed out")
WITHOUT_NETWORK = (
    ("unshare", "--map-root-user", "--net", "--"),
    ("bwrap", "--bind", "/", "/", "--dev", "/dev", "--unshare-net", "--"),
)
NO_EXTRAS = "from importlib.util import find_spec as find; assert not any(map(find, ('xllamacpp', 'gepa', 'pytest')))"
LOOPBACK_ALONE = "import socket; assert [name for _, name in socket.if_nameindex()] in ([], ['lo'])"


def works(*command: str | Path) -> bool:
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def find_python(version: str) -> Path | None:
    """Return a Python of a version; a shim of pyenv is on the path even where nothing is behind it."""
    kept = sorted((Path.home() / ".pyenv/versions").glob(f"{version}.*/bin/python{version}"), reverse=True)
    named = shutil.which(f"python{version}")
    check = f"import sys, venv; sys.exit(sys.version_info[:2] != {tuple(map(int, version.split('.')))})"
    candidates = [Path(sys.executable), *kept, *([Path(named)] if named else [])]
    return next((path for path in candidates if works(path, "-c", check)), None)


def pip(*arguments: str | Path) -> None:
    command = [sys.executable, "-m", "pip", *map(str, arguments), "--quiet", "--disable-pip-version-check"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if any(text in ran.stderr for text in UNREACHABLE):
        pytest.skip("NOT TESTED: no package index can be reached")
    assert ran.returncode == 0, ran.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip("wheel", "--no-deps", "--wheel-dir", folder, PROJECT)
    return next(folder.glob("*.whl"))


@pytest.fixture(params=["3.11", "3.13"])
def installed(request: pytest.FixtureRequest, wheel: Path, tmp_path: Path) -> Iterator[Path]:
    """Install the project in a fresh environment, from the cache of downloads that pip keeps for all."""
    version = str(request.param)
    python = find_python(version)
    if python is None:
        pytest.skip(f"NOT TESTED: Python {version} is not installed")
    place = tmp_path / "venv"
    subprocess.run([python, "-m", "venv", "--without-pip", place], check=True, capture_output=True)
    pip("--python", place / "bin/python", "install", "--no-compile", wheel)
    assert works(place / "bin/python", "-c", NO_EXTRAS)
    yield place / "bin/python"
    shutil.rmtree(place)


def audit(python: Path, clone: Path, home: Path, *arguments: str, prefix: tuple[str, ...] = ()) -> tuple[int, bytes]:
    """Run the audit in an environment that holds nothing but where programs are and an empty home."""
    home.mkdir(exist_ok=True)
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [*prefix, str(python), "-m", "evolve", "audit", *arguments]
    ran = subprocess.run(command, cwd=clone, env=environment, capture_output=True, check=False)
    assert ran.stderr == b"", ran.stderr.decode()
    return ran.returncode, ran.stdout


def without_network(python: Path) -> tuple[str, ...]:
    return next((prefix for prefix in WITHOUT_NETWORK if works(*prefix, python, "-c", LOOPBACK_ALONE)), ())


def forge_a_score(clone: Path) -> None:
    path = next((clone / "promotion/bracket").glob("*/rows.jsonl"))
    before = path.read_bytes()
    after = re.sub(rb'"resolved":false', b'"resolved":true', before, count=1)
    assert after != before
    path.write_bytes(after)


def test_a_clone_is_audited_to_the_same_bytes_by_another_python_that_has_no_settings_and_no_network(
    measured: Measured, installed: Path, evolve: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert evolve("promote", measured.overlay).code == 0
    clone, home = tmp_path / "clone", tmp_path / "home"
    git(measured.root, "clone", "--quiet", str(measured.root), str(clone))
    monkeypatch.chdir(clone)
    prefix = without_network(installed)

    here = evolve("audit", "--all", "--json")
    there = audit(installed, clone, home, "--all", "--json", prefix=prefix)
    assert (here.code, there) == (0, (0, here.out.encode()))
    folder = next((clone / "promotion/bracket").iterdir()).relative_to(clone).as_posix()
    told = evolve("audit", folder, "--explain").out.encode()
    assert audit(installed, clone, home, folder, "--explain", prefix=prefix) == (0, told)

    forge_a_score(clone)
    here = evolve("audit", "--all", "--json")
    there = audit(installed, clone, home, "--all", "--json", prefix=prefix)
    assert (here.code, there) == (4, (4, here.out.encode()))
    forged = [one for one in here.json() if not one["holds"]]
    assert any(re.fullmatch(r"bracket/\w+/rows\.jsonl:\d+", one["file"]) for one in forged)

    if not prefix:
        pytest.skip("NOT TESTED: an audit without network, as neither unshare nor bwrap can take it away here")

"""Fixtures of the tests of the documentation."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.docs.pages import ROOT
from tests.docs.running import SCRIPTED_PATH, Place
from tests.docs.worlds import build

ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


@contextmanager
def _started(python_path: str) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "zygote"
        # nothing else of the environment: whoever traces the tests would trace, and slow, every command
        environment = {"PATH": os.environ["PATH"], "PYTHONPATH": python_path, **ONE_THREAD}
        command = [sys.executable, "-m", "tests.docs.zygote", str(path)]
        with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield path
            process.terminate()


@pytest.fixture(scope="session")
def zygote() -> Iterator[Path]:
    """Start what starts `evolve` quickly, with the scripted runtime."""
    with _started(SCRIPTED_PATH) as path:
        yield path


@pytest.fixture(scope="session")
def real_zygote() -> Iterator[Path]:
    """Start what starts `evolve` quickly, with the real runtime."""
    with _started(str(ROOT)) as path:
        yield path


@pytest.fixture(scope="session")
def measured(tmp_path_factory: pytest.TempPathFactory, zygote: Path) -> Place:
    """Build the world of that name, for pages to begin with a copy of it."""
    place = Place(tmp_path_factory.mktemp("measured"), zygote)
    build("measured", place)
    return place

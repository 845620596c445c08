"""``evolve view`` as a process: an address, pages, an end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from tests.conftest import CommandLine
from tests.promote.conftest import Measured, measured, measured_once

__all__ = ["measured", "measured_once"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_prints_its_address_answers_and_ends_quietly(measured: Measured, number: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "evolve", "view", str(measured.root)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd="/",
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        url = process.stdout.readline().strip()
        assert httpx.get(url, timeout=20).status_code == 200
        process.send_signal(number)
        assert process.wait(20) == 0
        assert process.stderr.read() == "stop it with Ctrl-C\n"


def test_a_port_that_is_taken_is_told(measured: Measured, evolve: CommandLine) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ran = evolve("view", "--port", str(port))
    assert ran.code == 1 and f"127.0.0.1:{port}: cannot be listened on" in ran.err


def test_all_pages_are_written(measured: Measured, evolve: CommandLine, tmp_path: Path) -> None:
    ran = evolve("view", "--export", str(tmp_path / "site"))
    assert ran.code == 0 and "more pages" in ran.out
    assert (tmp_path / "site/index.html").is_file() and not list(tmp_path.glob("site/sweep/*/cell"))
    ran = evolve("view", str(measured.root / "skills"), "--export", str(tmp_path / "all"), "--cells", "--json")
    assert ran.json()["pages"] > 50 and list(tmp_path.glob("all/sweep/*/cell/0.html"))
    assert evolve("view", "--export", str(tmp_path / "site")).code == 2


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--cells"], "--cells is of --export alone"),
        (["--export", "x", "--port", "7"], "--export starts no server"),
        (["/"], "evolve.yaml"),
        (["--port", "70000"], "70000"),
    ],
)
def test_mistakes_are_told(measured: Measured, evolve: CommandLine, arguments: list[str], told: str) -> None:
    ran = evolve("view", *arguments)
    assert ran.code == 2 and told in ran.err


def test_it_serves_where_nobody_hears_what_it_prints(measured: Measured) -> None:
    program = "import os, sys; os.close(1); os.execv(sys.executable, [sys.executable, '-m', 'evolve', 'view'])"
    with subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=measured.root,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "stop it with Ctrl-C\n"
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == "" and process.wait(20) == 0

"""How much disk an agent takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from evolve.sandbox import disk
from evolve.sandbox.box import Stop
from evolve.sandbox.disk import DiskMeter, size_of
from tests.sandbox.test_box import run
from tests.sandbox.test_bubblewrap import REASON, WORKS


def test_links_are_not_followed_and_what_is_gone_does_not_count(tmp_path: Path) -> None:
    (tmp_path / "big").write_bytes(b"x" * 200_000)
    work = tmp_path / "work"
    (work / "deep/er").mkdir(parents=True)
    (work / "link").symlink_to(tmp_path / "big")
    (work / "loop").symlink_to(work)
    assert size_of(work) < 100_000
    (work / "deep/er/file").write_bytes(b"x" * 200_000)
    assert 200_000 <= size_of(work) < 300_000
    assert size_of(tmp_path / "gone") == 0


def test_growth_is_what_counts_and_looking_is_never_dear(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "before").write_bytes(b"x" * 500_000)
    looks: list[Path] = []

    def counted(folder: Path) -> int:
        looks.append(folder)
        return size_of(folder)

    monkeypatch.setattr(disk, "size_of", counted)
    meter = DiskMeter([tmp_path])
    (tmp_path / "more").write_bytes(b"x" * 300_000)
    assert [meter.grown() for _ in range(100)] == [0] * 100
    assert len(looks) == 1
    meter._next = 0.0
    assert 300_000 <= meter.grown() < 400_000
    assert len(looks) == 2


@pytest.mark.skipif(not WORKS, reason=REASON)
def test_an_agent_that_fills_the_disk_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "LEAST_PAUSE_S", 0.1)
    code = (
        "import time\nfor n in range(10_000):\n"
        "    open(f'/box/work/{n}', 'wb').write(bytes(1_000_000)); time.sleep(0.01)"
    )
    end, _ = run(tmp_path, code, disk_bytes=20_000_000)
    assert end.stop is Stop.DISK
    assert size_of(tmp_path / "work") < 1_000_000_000

"""What a cell of a repository task costs before it begins: shown read-only, copied, or cloned by git anew.

python benchmarks/beginnings.py --megabytes 100 --cells 20
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

from evolve.corpus.beginnings import Beginning
from evolve.corpus.clone import Recipe, build_clean

FILE_BYTES = 50_000


def repository(folder: Path, megabytes: int) -> str:
    """Make a repository of random files, and return its commit."""
    random = Random(0)
    for index in range(megabytes * 1_000_000 // FILE_BYTES):
        file = folder / f"d{index % 40}/f{index}.bin"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(random.randbytes(FILE_BYTES))
    run = ("git", "-c", "user.name=x", "-c", "user.email=x@localhost", "-C", str(folder))
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "x")):
        subprocess.run([*run, *words], check=True)
    return subprocess.run([*run, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()


def timed(make: Callable[[Path], object], cells: int, room: Path) -> float:
    """Return the median of seconds that a cell's folder takes to make; each is removed before the next."""
    took = []
    for index in range(cells):
        target = room / f"cell{index}"
        began = time.perf_counter()
        make(target)
        took.append(time.perf_counter() - began)
        shutil.rmtree(target, ignore_errors=True)
    return statistics.median(took)


def main() -> None:
    """Print seconds a cell, and ratios to a clone by git in the same run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--cells", type=int, default=20)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        room = Path(scratch)
        commit = repository(room / "source", given.megabytes)
        began = time.perf_counter()
        build_clean(Recipe(git_dir=room / "source/.git", commit=commit), room / "clean")
        built = time.perf_counter() - began
        beginning = Beginning(room / "clean", "")
        clone = ("git", "clone", "-q", "--no-hardlinks", str(room / "source"))
        cloned = timed(lambda target: subprocess.run([*clone, str(target)], check=True), given.cells, room)
        copied = timed(beginning.copy_to, given.cells, room)
        print(f"{given.megabytes} MB in files of {FILE_BYTES // 1000} kB, {given.cells} cells, medians a cell")
        print(f"made clean, once a commit    {built:8.3f} s")
        print(f"cloned by git, no hard links {cloned:8.3f} s")
        print(f"copied for a cell that edits {copied:8.3f} s  ratio {copied / cloned:.2f}")
        print("shown to a cell that reads      0.000 s  nothing is copied")


if __name__ == "__main__":
    main()

"""Running the blocks of a page, one after the other, as somebody would who pastes them into one shell."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from evolve.digest import sha256_bytes
from evolve.files import write_atomic
from evolve.models.weights_store import HashStamp, cache_folder, catalogue, catalogue_entry, weights_file
from tests.docs.pages import ROOT, SHELLS, Block, Page

SCRIPTED_RUNTIME = Path(__file__).with_name("scripted_runtime")
SCRIPTED_PATH = f"{SCRIPTED_RUNTIME}:{ROOT}"
PROGRAMS = Path(__file__).with_name("programs")
WALL_S = 300
TOLD_CHARS = 2000
OLLAMA = "127.0.0.1:11434"
GIT_SETTINGS = "[user]\n\tname = reader\n\temail = reader@example.org\n[init]\n\tdefaultBranch = main\n"
KEEP_STATE = '\n{ export -p; printf "cd %q\\n" "$PWD"; } > "$STATE"\n'


@dataclass(frozen=True)
class Place:
    """A folder with a shell in it: ``work`` is where the reader stands, all else is the reader's machine.

    ``endpoint`` is what listens where a page has Ollama, ``zygote`` the socket of what starts `evolve` quickly.
    """

    folder: Path
    zygote: Path | None = None
    endpoint: str = OLLAMA
    real_model: bool = False

    @property
    def work(self) -> Path:
        """Where the commands are run."""
        return self.folder / "work"

    def furnish(self) -> None:
        """Make home and working folder, and what passes for installed weights."""
        for name in ("home/.config", "work"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        (self.folder / "home/.gitconfig").write_text(GIT_SETTINGS, encoding="utf-8")
        _seem_installed(self.folder / "cache/weights")

    def environment(self) -> dict[str, str]:
        """Return the whole environment of the reader's shell."""
        given = {
            "PATH": f"{PROGRAMS}:{os.environ['PATH']}",
            "PYTHON": sys.executable,
            "HOME": str(self.folder / "home"),
            "LANG": "C.UTF-8",
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "GIT_CONFIG_SYSTEM": "/dev/null",
            "PYTHONPATH": str(ROOT) if self.real_model else SCRIPTED_PATH,
            "STATE": str(self.folder / "state"),
            "ZYGOTE": str(self.zygote or ""),
        }
        cache = cache_folder().parent if self.real_model else self.folder / "cache"
        return {**given, "EVOLVE_CACHE_DIR": str(cache)}

    def run(self, script: str) -> tuple[int, str]:
        """Run a script where the one before it ended, and return its exit code with all that it printed."""
        state = self.folder / "state"
        before = f'. "{state}"\n' if state.exists() else ""
        command = ["bash", "-e", "-o", "pipefail", "-c", before + script.replace(OLLAMA, self.endpoint) + KEEP_STATE]
        done = subprocess.run(
            command,
            cwd=self.work,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=WALL_S,
            check=False,
        )
        return done.returncode, done.stdout

    def copy_work_of(self, other: Place) -> None:
        """Begin with the files of another place."""
        shutil.copytree(other.work, self.work, dirs_exist_ok=True, symlinks=True)


def _seem_installed(cache: Path) -> None:
    """Make a hole of the right size that passes for the default weights; the scripted runtime reads none of it."""
    entry = catalogue_entry(catalogue().default)
    weights = cache / weights_file(entry).name
    weights.parent.mkdir(parents=True, exist_ok=True)
    with weights.open("wb") as file:
        file.truncate(entry.size_bytes)
    stamp = HashStamp(size=entry.size_bytes, mtime_ns=str(weights.stat().st_mtime_ns), sha256=entry.sha256)
    write_atomic(cache / "stamps" / f"{sha256_bytes(os.fsencode(weights.resolve()))}.json", stamp.canonical())


def run_page(page: Page, place: Place) -> None:
    """Run the blocks of a page in order.

    Raises:
        AssertionError: A block ended with another code than the page says.

    """
    told = ""
    for block in page.blocks:
        where = f"{page.name}:{block.line}"
        if block.skip:
            continue
        if block.name:
            path = place.work / block.name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.file.replace(OLLAMA, place.endpoint), encoding="utf-8")
        elif block.language in SHELLS and not (place.real_model and block.scripted_alone):
            told = _run_block(block, place, where)
        elif block.shows:
            missing = [line for line in block.text.splitlines() if line.strip() not in told]
            assert missing == [], f"{where}: not printed: {missing}\n{told[-TOLD_CHARS:]}"


def _run_block(block: Block, place: Place, where: str) -> str:
    for command in block.first:
        code, told = place.run(command)
        assert code == 0, f"{where}: first: {command}\n{told[-TOLD_CHARS:]}"
    code, told = place.run(block.script)
    ended = f"{where} ended with {code}, not {block.exit_code}"
    assert code == block.exit_code, f"{ended}:\n{block.script}\n{told[-TOLD_CHARS:]}"
    return told

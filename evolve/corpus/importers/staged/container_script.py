"""Run a script that was written for a container over a copy of the work, its absolute paths led into a private room.

``verify`` runs ``tests/test.sh`` and ends with 0 when the reward that it wrote is at least 1; or the command that
``settings.json`` names in its place, and ends as that does. ``solve`` runs
``solution/solve.sh`` and prints the files that it made, as JSON. What is led elsewhere: the working folder that
``settings.json`` names, ``/tests``, ``/solution`` and ``/logs``, in scripts of shell and Python alone.
"""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

SCRIPTS = (".sh", ".bash", ".py")
MAX_SCRIPT_BYTES = 4 * 1024 * 1024
MAX_REWARD_BYTES = 64 * 1024
HERE = Path(__file__).parent


def led(text: str, places: dict[str, str]) -> str:
    """Return a text with its absolute paths replaced."""
    names = "|".join(re.escape(name) for name in sorted(places, key=len, reverse=True))
    return re.sub(rf"(?<![\w./-])({names})(?![\w-])", lambda found: places[found[1]], text)


def redirect(folder: Path, places: dict[str, str]) -> None:
    """Replace absolute paths in the scripts below a folder."""
    for path in folder.rglob("*"):
        if path.suffix not in SCRIPTS or path.is_symlink() or not path.is_file():
            continue
        if path.stat().st_size > MAX_SCRIPT_BYTES:
            continue
        try:
            text = path.read_bytes().decode("utf-8")
        except UnicodeDecodeError:
            continue
        if (changed := led(text, places)) != text:
            path.write_bytes(changed.encode("utf-8"))


def run_script(room: Path, folder: str, script: str, settings: dict[str, Any], places: dict[str, str]) -> int:
    """Run a script of a folder in the copy of the work, and return its exit code."""
    own = room / folder
    own.mkdir()
    if (HERE / folder).is_dir():
        shutil.copytree(HERE / folder, own, symlinks=True, dirs_exist_ok=True)
    redirect(own, places)
    for name in ("home", "tmp", "logs/verifier", "logs/agent", "logs/artifacts"):
        (room / name).mkdir(parents=True, exist_ok=True)
    path = f"{os.path.dirname(sys.executable)}:/usr/local/bin:/usr/bin:/bin"
    env = {"PATH": path, "HOME": str(room / "home"), "TMPDIR": str(room / "tmp"), "LANG": "C.UTF-8"}
    shell = shutil.which("bash") or "/bin/sh"
    command = [led(part, places) for part in settings["verify"] or [shell, str(own / script)]]
    done = subprocess.run(
        command, cwd=room / "work", env={**env, **settings["env"]}, stdin=subprocess.DEVNULL, stdout=2, check=False
    )
    return done.returncode


def small_file(path: Path) -> str | None:
    """Return the text of a small regular file; ``None`` where there is none."""
    if path.is_symlink() or not path.is_file() or path.stat().st_size > MAX_REWARD_BYTES:
        return None
    return path.read_text(encoding="utf-8", errors="replace")


def rewarded(folder: Path) -> bool:
    """Whether the reward is at least 1: that of ``reward.txt``, or every one of ``reward.json``."""
    text = small_file(folder / "reward.txt")
    try:
        if text is not None:
            return float(text.strip()) >= 1
        value = json.loads(small_file(folder / "reward.json") or "null")
    except (ValueError, RecursionError):
        return False
    named = value if isinstance(value, dict) else {"reward": value}
    rewards = [named["reward"]] if "reward" in named else list(named.values())
    numbers = [reward for reward in rewards if isinstance(reward, int | float) and not isinstance(reward, bool)]
    return bool(rewards) and len(numbers) == len(rewards) and all(number >= 1 for number in numbers)


def changed(work: Path, before: Path, back: dict[str, str]) -> dict[str, Any]:
    """Return the files of the work that are new or other than before, and what cannot be told by files."""
    files: dict[str, list[Any]] = {}
    odd: list[str] = []
    for path in sorted(work.rglob("*")):
        relative = path.relative_to(work).as_posix()
        mode = path.lstat().st_mode
        if stat.S_ISDIR(mode):
            continue
        if not stat.S_ISREG(mode):
            odd.append(relative)
            continue
        content = path.read_bytes()
        for ours, theirs in back.items():
            content = content.replace(ours.encode(), theirs.encode())
        original = before / relative
        if original.is_file() and original.read_bytes() == content:
            continue
        files[relative] = [base64.b64encode(content).decode("ascii"), bool(mode & stat.S_IXUSR)]
    gone = [path.relative_to(before).as_posix() for path in before.rglob("*") if path.is_file()]
    odd += [name for name in gone if not (work / name).exists()]
    return {"files": files, "odd": odd}


def main() -> int:
    """Do what the command line asks."""
    settings = json.loads((HERE / "settings.json").read_text(encoding="utf-8"))
    before = Path.cwd()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        room = Path(scratch)
        shutil.copytree(before, room / "work", symlinks=True, ignore=shutil.ignore_patterns(".git"))
        places = {f"/{name}": str(room / name) for name in ("tests", "solution", "logs")}
        places[settings["workdir"]] = str(room / "work")
        # Scripts of the work may name the working folder; what they say of anything else is theirs.
        redirect(room / "work", {settings["workdir"]: str(room / "work")})
        if sys.argv[1:] == ["verify"]:
            code = run_script(room, "tests", "test.sh", settings, places)
            passed = code == 0 if settings["verify"] else rewarded(room / "logs" / "verifier")
            return 0 if passed else 1
        code = run_script(room, "solution", "solve.sh", settings, places)
        back = {ours: theirs for theirs, ours in places.items()}
        json.dump({"exit": code, **changed(room / "work", before, back)}, sys.stdout)
        return 0


if __name__ == "__main__":
    sys.exit(main())

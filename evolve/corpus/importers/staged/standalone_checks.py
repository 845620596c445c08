"""Check work or a reply as evolve does, with the standard library alone, and write the reward to a file.

``checks.json`` holds the checks, what is graded (``answer`` or ``edit``), and the working folder. The code of a
``python-calls`` check runs in a process of its own, which ``runner.py`` is; a ``command`` runs over a copy of the work.
"""

from __future__ import annotations

import configparser
import json
import math
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
MAX_CHARS = 1024 * 1024
MAX_LINE_CHARS, MAX_SEARCHED_CHARS, SEARCH_S = 10_000, 100_000, 10
FENCE = re.compile(r"^(`{3,}|~{3,})[ \t]*([^\n`]*)\n(.*?)^\1[ \t]*$", re.DOTALL | re.MULTILINE)
SEARCH = "import json, re, sys; r = json.load(sys.stdin); sys.exit(0 if re.search(r[0], r[1], r[2]) else 7)"
Check = dict[str, Any]


class Graded:
    """A reply, and the folder of the work."""

    def __init__(self, reply: str, folder: Path) -> None:
        self.reply = reply
        self.folder = folder


def text_of(folder: Path, name: str) -> str | None:
    """Return a file of the work as text; ``None`` when it is missing, a link, too large or not UTF-8."""
    path = folder / name
    linked = any((folder / part).is_symlink() for part in [Path(name), *list(Path(name).parents)[:-1]])
    if linked or not path.is_file() or path.stat().st_size > MAX_CHARS:
        return None
    try:
        return path.read_bytes().decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError:
        return None


def json_of(text: str) -> Any:
    """Return the object that a text is; ``None`` when it is none."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def json_object(check: Check, graded: Graded) -> bool:
    """Whether the reply is one object with exactly the keys."""
    value = json_of(graded.reply)
    return value is not None and set(value) == set(check["keys"])


def same_scalar(found: Any, wanted: Any) -> bool:
    """Compare two plain values; texts trimmed and in any case."""
    if isinstance(found, str) and isinstance(wanted, str):
        return found.strip().casefold() == wanted.strip().casefold()
    if isinstance(found, bool) or isinstance(wanted, bool) or found is None or wanted is None:
        return found is wanted
    return isinstance(found, int | float) and isinstance(wanted, int | float) and found == wanted


def json_value(check: Check, graded: Graded) -> bool:
    """Whether a key has one of the values."""
    value = json_of(graded.reply)
    if value is None or check["key"] not in value:
        return False
    return any(same_scalar(value[check["key"]], wanted) for wanted in check["any_of"])


def any_json(check: Check, graded: Graded) -> bool:
    """Whether the reply is JSON."""

    def refuse(name: str) -> None:
        raise ValueError(name)

    try:
        json.loads(graded.reply, parse_constant=refuse)
    except (ValueError, RecursionError):
        return False
    return True


def line(check: Check, graded: Graded) -> bool:
    """Whether the reply is one plain line."""
    reply = graded.reply.strip()
    if not reply or "\n" in reply or "```" in reply or len(reply) > MAX_LINE_CHARS:
        return False
    if check.get("max_chars") is not None and len(reply) > check["max_chars"]:
        return False
    return check.get("pattern") is None or re.fullmatch(check["pattern"], reply) is not None


def equals(check: Check, graded: Graded) -> bool:
    """Whether the reply is one of the texts."""
    return graded.reply.strip().strip("`").strip() in check["any_of"]


def contains(check: Check, graded: Graded) -> bool:
    """Whether the reply contains the texts."""
    fold: Callable[[str], str] = str.casefold if check.get("ignore_case") else str
    reply = fold(graded.reply)
    every, some = check.get("all_of") or [], check.get("any_of") or []
    return all(fold(text) in reply for text in every) and (not some or any(fold(text) in reply for text in some))


def regex(check: Check, graded: Graded) -> bool:
    """Whether a pattern matches somewhere, in time."""
    text = graded.reply.strip()
    if len(text) > MAX_SEARCHED_CHARS:
        return False
    request = json.dumps([check["pattern"], text, int(re.IGNORECASE) if check.get("ignore_case") else 0])
    command = [sys.executable, "-I", "-S", "-c", SEARCH]
    try:
        return subprocess.run(command, input=request.encode(), timeout=SEARCH_S, check=False).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def code_block(check: Check, graded: Graded) -> bool:
    """Whether the reply is one fenced block."""
    reply = graded.reply.strip()
    blocks = list(FENCE.finditer(reply))
    if len(blocks) != 1 or blocks[0].span() != (0, len(reply)):
        return False
    language = check.get("language")
    return language is None or blocks[0][2].strip().split(" ", 1)[0].casefold() == language.casefold()


def ini_options(check: Check, graded: Graded) -> bool:
    """Whether a file holds exactly the options."""
    text = text_of(graded.folder, check["file"])
    parser = configparser.ConfigParser(interpolation=None, default_section="")
    try:
        parser.read_string(text or "")
    except configparser.Error:
        return False
    found = {f"{part}.{name}": parser.get(part, name) for part in parser.sections() for name in parser.options(part)}
    return text is not None and found == check["options"]


def same_value(found: Any, wanted: Any, tolerance: float) -> bool:
    """Compare two JSON values; numbers within a tolerance."""
    if isinstance(found, bool) or isinstance(wanted, bool):
        return found is wanted
    if isinstance(found, int | float) and isinstance(wanted, int | float):
        try:
            return found == wanted or math.isclose(found, wanted, rel_tol=tolerance, abs_tol=tolerance)
        except OverflowError:
            return False
    if isinstance(found, list) and isinstance(wanted, list):
        pairs = zip(found, wanted, strict=False)
        return len(found) == len(wanted) and all(same_value(a, b, tolerance) for a, b in pairs)
    if isinstance(found, dict) and isinstance(wanted, dict):
        return found.keys() == wanted.keys() and all(same_value(found[key], wanted[key], tolerance) for key in found)
    return bool(found == wanted)


def python_calls(check: Check, graded: Graded) -> bool:
    """Whether a function returns the right values."""
    block = FENCE.search(graded.reply)
    code = text_of(graded.folder, check["file"]) if check.get("file") else block[3] if block else graded.reply
    if not code:
        return False
    calls = check["calls"]
    request = {"code": code, "function": check["function"], "calls": [call["args"] for call in calls]}
    command = [sys.executable, "-I", "-S", str(HERE / "runner.py")]
    done = run(command, graded.folder, check["timeout_s"], json.dumps(request).encode())
    try:
        results = json.loads(done.stdout) if done is not None and done.returncode == 0 else None
    except (ValueError, RecursionError):
        return False
    if not isinstance(results, list) or len(results) != len(calls):
        return False
    return all(
        isinstance(result, dict)
        and "returned" in result
        and same_value(result["returned"], call["returns"], check["tolerance"])
        for result, call in zip(results, calls, strict=True)
    )


def run(
    command: list[str], folder: Path, wall_s: float, stdin: bytes = b""
) -> subprocess.CompletedProcess[bytes] | None:
    """Run a command over a copy of a folder; ``None`` when its time was up or it cannot be started."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        copy = Path(scratch) / "work"
        shutil.copytree(folder, copy, symlinks=True)
        try:
            return subprocess.run(command, cwd=copy, input=stdin, capture_output=True, timeout=wall_s, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return None


def command(check: Check, graded: Graded) -> bool:
    """Whether a command succeeds."""
    parts = {"{oracle}": str(HERE / "oracle"), "{python}": sys.executable}
    argv = check["argv"]
    for name, value in parts.items():
        argv = [part.replace(name, value) for part in argv]
    done = run(argv, graded.folder, check["timeout_s"])
    return done is not None and done.returncode == 0


CHECKS: dict[str, Callable[[Check, Graded], bool]] = {
    "json-object": json_object,
    "json-value": json_value,
    "json": any_json,
    "line": line,
    "equals": equals,
    "contains": contains,
    "regex": regex,
    "code-block": code_block,
    "ini-options": ini_options,
    "python-calls": python_calls,
    "command": command,
}


def failed(checks: list[Check], graded: Graded) -> list[str]:
    """Return the ids of the checks that fail."""
    return [check["id"] for check in checks if not CHECKS[check["kind"]](check, graded)]


def main() -> int:
    """Grade the folder and write the reward to the file that the command line names."""
    folder, reward = Path(sys.argv[1]), Path(sys.argv[2])
    spec = json.loads((HERE / "checks.json").read_text(encoding="utf-8"))
    reply = (text_of(folder, spec["answer_file"]) or "").strip() if spec["answer_file"] else ""
    bad = failed(spec["checks"], Graded(reply, folder))
    print("failed: " + ", ".join(bad) if bad else "all checks pass")
    reward.parent.mkdir(parents=True, exist_ok=True)
    reward.write_text("0\n" if bad else "1\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

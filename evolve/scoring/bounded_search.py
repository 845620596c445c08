"""Searching by a regular expression that somebody else wrote, within a bound of time and length."""

from __future__ import annotations

import json
import subprocess

from evolve.errors import EnvironmentFault
from evolve.sandbox.base import base_python

MAX_SEARCHED_CHARS = 100_000
WALL_S = 10.0
# A search cannot be stopped from within its own process. Pattern and text are data there; nothing of them is executed.
SEARCHER = """
import json, re, sys
request = json.loads(sys.stdin.buffer.read())
flags = re.IGNORECASE if request["ignore_case"] else 0
match = re.fullmatch if request["whole"] else re.search
sys.exit(0 if match(request["pattern"], request["text"], flags) else 7)
"""


def found_in_time(
    pattern: str, text: str, *, ignore_case: bool = False, whole: bool = False, wall_s: float = WALL_S
) -> bool:
    """Whether a pattern matches somewhere in a text; false for one that does not end in time, or a text too long.

    Args:
        pattern: The regular expression.
        text: What is searched.
        ignore_case: Whether letters match in either case.
        whole: Whether the pattern must match all of the text.
        wall_s: Seconds until the search is given up.

    Raises:
        EnvironmentFault: The search cannot be run.

    """
    if len(text) > MAX_SEARCHED_CHARS:
        return False
    request = json.dumps({"pattern": pattern, "text": text, "ignore_case": ignore_case, "whole": whole}).encode()
    try:
        ran = subprocess.run(
            [base_python(), "-I", "-S", "-c", SEARCHER],
            input=request,
            capture_output=True,
            env={"PATH": "/usr/bin:/bin"},
            timeout=wall_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False
    except OSError as error:
        raise EnvironmentFault(f"{base_python()}: cannot be started: {error.strerror}") from error
    if ran.returncode not in (0, 7):
        said = ran.stderr.decode("utf-8", errors="replace").strip()[-200:]
        raise EnvironmentFault(f"the search for a pattern failed: {said or ran.returncode}", code="search-failed")
    return ran.returncode == 0

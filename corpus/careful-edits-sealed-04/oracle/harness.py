"""Runs the work's code in a process of its own; what it did is judged in this one.

The child learns what to call, never what is right. It finds the standard library before the work and no
site-packages at all. Its answer carries a token: code of the work that ends the process early has answered nothing.
"""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

TIMEOUT_S = 20
CHILD = """
import json, os, sys

def main():
    request = json.loads(sys.stdin.buffer.read())
    answer = os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    probes = {"__name__": "probes"}
    exec(compile(request["probes"], "probes", "exec"), probes)
    sys.path.append(request["work"])
    seen = []
    for name, arguments in request["calls"]:
        try:
            seen.append({"returned": json.loads(json.dumps(probes[name](*arguments)))})
        except BaseException as error:
            seen.append({"raised": type(error).__name__, "text": str(error)[:200]})
    answer.write(json.dumps({"token": request["token"], "seen": seen}).encode())
    answer.flush()
    os._exit(0)

main()
"""

Seen = dict[str, Any]
Case = tuple[str, tuple[Any, ...], Callable[[Seen], bool]]


def returns(wanted: object) -> Callable[[Seen], bool]:
    """Return a judge that asks for one value."""
    return lambda seen: "returned" in seen and seen["returned"] == wanted


def returned(judge: Callable[[Any], bool]) -> Callable[[Seen], bool]:
    """Return a judge that asks for a value of some kind."""
    return lambda seen: "returned" in seen and judge(seen["returned"])


def lacks(text: str) -> Callable[[Seen], bool]:
    """Return a judge that forbids a text in what comes back, be it a value or an error."""
    return lambda seen: text not in json.dumps(seen)


def observe(calls: list[tuple[Any, ...]]) -> list[Seen]:
    """Call probes in one child process; what each returned or raised, or nothing where the child did not answer."""
    token = secrets.token_hex(16)
    request = {
        "token": token,
        "work": os.getcwd(),
        "probes": Path(__file__).with_name("probes.py").read_text(encoding="utf-8"),
        "calls": [[name, arguments] for name, *arguments in calls],
    }
    child = [sys.executable, "-I", "-S", "-B", "-c", CHILD]
    try:
        done = subprocess.run(child, input=json.dumps(request).encode(), stdout=subprocess.PIPE, timeout=TIMEOUT_S)
        answer = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        print(f"no answer after {TIMEOUT_S} s")
        return []
    except ValueError:
        print("the process that ran the work ended without an answer")
        return []
    if not isinstance(answer, dict) or answer.get("token") != token or len(answer["seen"]) != len(calls):
        print("the answer is not from the probes")
        return []
    return list(answer["seen"])


def run(cases: Iterable[Case]) -> None:
    """Observe all cases, print those that are not as they should be, and end this process."""
    cases = list(cases)
    seen = observe([call for _, call, _ in cases])
    faults = [
        f"{what}: {call[0]}{call[1:]!r} gave {found}"
        for (what, call, judge), found in zip(cases, seen, strict=False)
        if not judge(found)
    ]
    print("\n".join(faults))
    sys.exit(1 if faults or len(seen) != len(cases) or not cases else 0)

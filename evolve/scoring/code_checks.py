"""Checks that execute what the agent wrote, in a sandbox, never in this process."""

from __future__ import annotations

import json
import math
from pathlib import Path

from evolve.records.checks import CommandCheck, PythonCallsCheck
from evolve.replies.code import python_of
from evolve.sandbox.base import Completed, Job, Sandbox, base_python
from evolve.scoring.submission import Submission

RUNNER = """
import json, os, sys
request = json.loads(sys.stdin.buffer.read())
answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
namespace = {"__name__": "submission"}
results = []
try:
    exec(compile(request["code"], "submission", "exec"), namespace)
    function = namespace[request["function"]]
except BaseException as error:
    results = [{"error": type(error).__name__}] * len(request["calls"])
else:
    for args in request["calls"]:
        try:
            results.append({"returned": json.loads(json.dumps(function(*args)))})
        except BaseException as error:
            results.append({"error": type(error).__name__})
json.dump(results, answer)
answer.flush()
os._exit(0)
"""


def same_value(found: object, wanted: object, tolerance: float) -> bool:
    """Compare two JSON values; numbers within a tolerance, bool never equal to a number."""
    if isinstance(found, bool) or isinstance(wanted, bool):
        return found is wanted
    if isinstance(found, int) and isinstance(wanted, int) and found == wanted:
        return True
    if isinstance(found, int | float) and isinstance(wanted, int | float):
        try:
            return math.isclose(found, wanted, rel_tol=tolerance, abs_tol=tolerance)
        except OverflowError:
            return False
    if isinstance(found, list) and isinstance(wanted, list | tuple):
        return len(found) == len(wanted) and all(
            same_value(a, b, tolerance) for a, b in zip(found, wanted, strict=True)
        )
    if isinstance(found, dict) and isinstance(wanted, dict):
        return found.keys() == wanted.keys() and all(same_value(found[key], wanted[key], tolerance) for key in found)
    return found == wanted


def python_calls(check: PythonCallsCheck, submission: Submission, sandbox: Sandbox) -> tuple[bool, str]:
    """Whether the function returns the right values, and what was said.

    The process that runs the code gets the arguments only; the expected values stay here, so that nothing it
    does can read or forge them.

    Raises:
        EnvironmentFault: The sandbox does not work.

    """
    code = submission.file_text(check.file) if check.file else python_of(submission.reply, check.function)
    if not code:
        return False, "there is no code"
    request = {"code": code, "function": check.function, "calls": [call.args for call in check.calls]}
    argv = (base_python(), "-I", "-S", "-c", RUNNER)
    job = Job(argv=argv, folder=submission.folder, wall_s=check.timeout_s, stdin=json.dumps(request).encode())
    completed = sandbox.run(job)
    said = _said(completed)
    if completed.exit_code != 0:
        return False, said
    try:
        results = json.loads(completed.stdout)
    except (ValueError, RecursionError):
        return False, said
    if not isinstance(results, list) or len(results) != len(check.calls):
        return False, said
    for result, call in zip(results, check.calls, strict=True):
        returned = isinstance(result, dict) and "returned" in result
        if not returned or not same_value(result["returned"], call.returns, check.tolerance):
            return False, f"{check.function}{tuple(call.args)!r} gave {result!r}, not {call.returns!r}"
    return True, said


def _said(completed: Completed) -> str:
    how = "its time was up" if completed.exit_code is None else f"exit {completed.exit_code}"
    text = (completed.stdout + completed.stderr)[-2000:].decode("utf-8", errors="replace")
    return f"{how}: {text}"


def command(check: CommandCheck, submission: Submission, sandbox: Sandbox, oracle: Path | None) -> tuple[bool, str]:
    """Whether a command succeeds over a read-only view of the work, and what it said.

    Raises:
        EnvironmentFault: The sandbox does not work.

    """
    mounts = {"oracle": oracle} if oracle else {}
    seen = sandbox.mounted("oracle", mounts) if oracle else "/nonexistent"
    argv = tuple(part.replace("{oracle}", seen).replace("{python}", base_python()) for part in check.argv)
    job = Job(argv=argv, folder=submission.folder, wall_s=check.timeout_s, mounts=mounts, inside=submission.mounts)
    completed = sandbox.run(job)
    return completed.exit_code == 0, _said(completed)

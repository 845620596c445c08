"""The child process that answers line by line."""

from __future__ import annotations

import os
import sys

import pytest

from evolve.models.worker_process import WorkerDied, WorkerProcess, WorkerSilent

ECHO = "import sys; [print(line, end='', flush=True) for line in sys.stdin]"


def child(script: str) -> WorkerProcess:
    return WorkerProcess([sys.executable, "-c", script], dict(os.environ))


def test_a_frame_is_answered_and_a_closed_child_is_gone() -> None:
    worker = child(ECHO)
    assert worker.exchange({"text": "ä"}, 10) == {"text": "ä"}
    worker.close()
    worker.close()
    with pytest.raises(ProcessLookupError):
        os.kill(worker.pid, 0)


def test_a_silent_child_is_dead_when_its_silence_is_told() -> None:
    worker = child("import time; time.sleep(60)")
    with pytest.raises(WorkerSilent):
        worker.exchange({}, 0.1)
    with pytest.raises(ProcessLookupError):
        os.kill(worker.pid, 0)


def test_a_child_that_does_not_read_cannot_block_its_parent() -> None:
    with pytest.raises(WorkerSilent):
        child("import time; time.sleep(60)").exchange({"text": "x" * 1_000_000}, 0.3)


def test_half_an_answer_is_no_answer() -> None:
    with pytest.raises(WorkerDied, match=r"exit code 0.*; its last words:\n1") as told:
        child("import sys; sys.stdin.readline(); print('{', end=''); sys.stderr.write('1')").exchange({}, 10)
    assert str(told.value)


def test_only_the_end_of_much_talk_is_quoted() -> None:
    script = "import sys; sys.stderr.write('a' * 100_000 + 'the end'); sys.exit(2)"
    with pytest.raises(WorkerDied) as told:
        child(script).exchange({}, 10)
    assert str(told.value).endswith("the end")
    assert len(str(told.value)) < 3000

"""Forks one `evolve` process for each line of standard input, so that a start costs milliseconds.

A line is ``{"root": ..., "bank": ..., "argv": [...]}``. The child's process id is printed at once, its exit code
(negative: the signal that ended it) when it has ended. What the model is asked for is paid for into the bank file.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from evolve.cli import bench_opening
from evolve.cli.main import main
from evolve.digest import sha256_bytes
from evolve.models.base import ChatReply, ChatRequest
from tests.worlds import follow_the_skill

# What the children would import one by one.
ONCE = (
    "evolve.cli.audit",
    "evolve.cli.benchmark",
    "evolve.cli.resume",
    "evolve.generation.state",
    "evolve.promote.confirm",
    "evolve.promote.git",
    "git",
    "numpy",
    "scipy.stats",
)


class BankedModel:
    """Writes down each call at the moment it is paid for."""

    def __init__(self, bank: Path) -> None:
        self._bank = bank

    @property
    def identity(self) -> dict[str, str | int | bool | None]:
        return {"transport": "banked", "repeatable": True}

    def complete(self, request: ChatRequest) -> ChatReply:
        system, user = (message.content for message in request.messages)
        call = json.dumps([sha256_bytes(system.encode()), user, request.seed])
        with self._bank.open("a", encoding="utf-8") as file:
            file.write(call + "\n")
        time.sleep(0.002)
        return ChatReply(follow_the_skill(system, user, request.seed), "stop", len(system), None, 7)

    def close(self) -> None:
        return


def run(order: dict[str, Any]) -> int:
    os.chdir(order["root"])
    bench_opening.__dict__["build_model"] = lambda *_: BankedModel(Path(order["bank"]))
    null = os.open(os.devnull, os.O_WRONLY)
    log = os.open(Path(order["bank"]).with_suffix(".log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(null, 1)
    os.dup2(log, 2)
    return main(order["argv"])


def serve() -> None:
    for name in ONCE:
        importlib.import_module(name)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            code = 99
            try:
                code = run(json.loads(line))
            finally:
                os._exit(int(code))
        print(child, flush=True)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    serve()

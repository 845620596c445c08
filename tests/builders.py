"""Small functions that build what the tests of the foundation modules need."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from evolve.bench.arms import PlanArm
from evolve.bench.plan import Group, SweepRequest
from evolve.corpus.loading import Corpus, LoadedTask
from evolve.digest import sha256_json
from evolve.models.base import ChatReply, ChatRequest
from evolve.records.kinds import ErrorKind, Role, Split
from evolve.records.policy import POLICY_SCHEMA, Policy
from evolve.records.row import CellIdentity, CheckOutcome, Row
from evolve.records.task import ORACLE_SCHEMA, TASK_SCHEMA, Oracle, Task
from evolve.sandbox.base import Sandbox
from evolve.sandbox.host import Host
from evolve.skills import Skill
from evolve.snapshot import FileEntry, Snapshot

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
RULE = "Reply with the one word that was asked for."


NO_FILES = ("pipe", "folder", "device")
"""What may stand where a file should, and must be neither waited for nor read without end."""


def put_no_file(path: Path, kind: str) -> None:
    """Put something in the place of a file that is none."""
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero")


def digest_of(text: object) -> str:
    """Return a digest that stands for something."""
    return sha256_json(text)


def write_files(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files below a folder and return the folder."""
    root.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return root


def skill_text(name: str = "greeter", body: str = "Say hello.", description: str = "Greets people.") -> str:
    """Return a valid SKILL.md."""
    return f"---\nname: {name}\ndescription: {description}\n---\n\n{body}\n"


def make_skill(name: str = "greeter", body: str = "Say hello.", **more: str) -> Skill:
    """Make a skill in memory; ``more`` are further files by name, with ``__`` for a dot."""
    files = {"SKILL.md": skill_text(name, body), **{key.replace("__", "."): text for key, text in more.items()}}
    return Skill(name=name, folder=f"skills/{name}", files=Snapshot.of_texts(files))


def equals_check(*any_of: str, identifier: str = "word") -> dict[str, Any]:
    """Return a check of one word."""
    return {"id": identifier, "kind": "equals", "any_of": list(any_of or ("yes",)), "rule": RULE}


def task_value(identifier: str, **fields: Any) -> dict[str, Any]:
    """Return the value of a valid task.yaml."""
    return {
        "schema": TASK_SCHEMA,
        "id": identifier,
        "split": "train",
        "skills": ["greeter"],
        "prompt": f"Please answer the question number {identifier}.",
        **fields,
    }


def oracle_value(*checks: dict[str, Any]) -> dict[str, Any]:
    """Return the value of a valid oracle.yaml."""
    return {"schema": ORACLE_SCHEMA, "checks": list(checks) or [equals_check()]}


def make_task(
    identifier: str = "task-1",
    *,
    split: Split = Split.TRAIN,
    checks: Sequence[dict[str, Any]] = (),
    seed: Mapping[str, str] | None = None,
    good: Mapping[str, str] | None = None,
    bad: Mapping[str, str] | None = None,
    oracle_files: Mapping[str, str] | None = None,
    **fields: Any,
) -> LoadedTask:
    """Make a loaded task in memory: by default an answer task whose answer is ``yes``."""
    task = Task.model_validate(task_value(identifier, split=split, **fields))
    oracle = Oracle.model_validate(oracle_value(*checks))
    seeded = Snapshot.of_texts(seed or {})
    return LoadedTask(
        task=task,
        seed=seeded,
        oracle=oracle,
        oracle_files=Snapshot.of_texts(oracle_files or {}),
        good=Snapshot.of_texts({"answer.md": "yes\n"} if good is None else good),
        bad=Snapshot.of_texts({"answer.md": "no\n"} if bad is None else bad),
        task_sha256=sha256_json([task.json_value(), seeded.digest]),
        oracle_sha256=oracle.digest(),
    )


def make_corpus(*tasks: LoadedTask) -> Corpus:
    """Make a corpus in memory."""
    return Corpus(tasks=tuple(sorted(tasks, key=lambda task: task.id)))


def write_task(
    corpus: Path,
    identifier: str = "task-1",
    *,
    oracle: dict[str, Any] | None = None,
    files: Mapping[str, str | bytes] | None = None,
    **fields: Any,
) -> Path:
    """Write a valid task folder and return it; ``files`` add to it or replace its files."""
    content: dict[str, str | bytes] = {
        "task.yaml": yaml.safe_dump(task_value(identifier, **fields)),
        "oracle/oracle.yaml": yaml.safe_dump(oracle or oracle_value()),
        "reference/good/answer.md": "yes\n",
        "reference/bad/answer.md": "no\n",
    }
    return write_files(corpus / identifier, {**content, **(files or {})})


def make_identity(task: str = "task-1", run: int = 0, *, text: str = "incumbent", **fields: Any) -> CellIdentity:
    """Make a cell's identity; ``text`` stands for the skill text of the arm."""
    values: dict[str, Any] = {
        "task": task,
        "task_sha256": digest_of(["task", task]),
        "oracle_sha256": digest_of(["oracle", task]),
        "fingerprint": digest_of(["skill", text]),
        "agent_sha256": digest_of("agent"),
        "sandbox": "in-process",
        "runtime_sha256": digest_of("runtime"),
        "run": run,
        "seed": 7 * run + 1,
    }
    return CellIdentity.model_validate({**values, **fields})


def make_row(
    task: str = "task-1",
    run: int = 0,
    *,
    role: Role = Role.INCUMBENT,
    resolved: bool = True,
    kind: ErrorKind | None = None,
    identity: CellIdentity | None = None,
    **fields: Any,
) -> Row:
    """Make a settled row; an unresolved one failed its oracle unless another kind is given."""
    identity = identity or make_identity(task, run, text=role.value)
    kind = kind or (None if resolved else ErrorKind.ORACLE_FAILED)
    values: dict[str, Any] = {
        "key": identity.digest(),
        "identity": identity,
        "arm": role.value,
        "role": role,
        "split": Split.SEALED,
        "attempt": 1,
        "kind": kind,
        "resolved": kind is None,
        "verify": CheckOutcome(passed=True, score=1),
        "oracle": CheckOutcome(passed=kind is None, score=float(kind is None)),
        "measured_at": NOW,
    }
    return Row.model_validate({**values, **fields})


def make_policy(**fields: Any) -> Policy:
    """Make a policy: the defaults, and what is given."""
    return Policy.model_validate({"schema": POLICY_SCHEMA, **fields})


def make_request(
    *,
    skills: Iterable[tuple[str, Role, Skill]],
    tasks: Sequence[LoadedTask],
    runs: int = 1,
    context: str = "by hand",
    sandbox: Sandbox | None = None,
) -> SweepRequest:
    """Make the request of a sweep with one group of arms over some tasks."""
    arms = tuple(PlanArm(name=name, role=role, skill=skill) for name, role, skill in skills)
    return SweepRequest(
        purpose="selection",
        context=context,
        groups=(Group(arms=arms, tasks=tuple(tasks)),),
        runs=runs,
        agent={"adapter": "fake"},
        sandbox=sandbox or Host(),
    )


class FakeModel:
    """A chat model that says what it was told to, or raises it, and keeps the requests."""

    def __init__(self, *replies: str | Exception) -> None:
        self.replies = list(replies)
        self.requests: list[ChatRequest] = []
        self.closed = 0

    @property
    def identity(self) -> dict[str, str | int | bool | None]:
        return {"kind": "fake", "name": "fake-model"}

    def complete(self, request: ChatRequest) -> ChatReply:
        self.requests.append(request)
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return ChatReply(reply, "stop", input_tokens=11, cached_input_tokens=None, output_tokens=3)

    def close(self) -> None:
        self.closed += 1


def entries(files: Mapping[str, bytes]) -> dict[str, FileEntry]:
    """Return plain files as entries of a snapshot."""
    return {path: FileEntry(content) for path, content in files.items()}

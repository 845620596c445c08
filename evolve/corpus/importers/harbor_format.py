"""The file ``task.toml`` of a Harbor task, read strictly."""

from __future__ import annotations

import json
import tomllib
from typing import Annotated, Any

from pydantic import Field, StringConstraints

from evolve.errors import InputError
from evolve.records.base import Record, decode_text, parse_record
from evolve.snapshot import Snapshot

CONFIG, INSTRUCTION, TEST, SOLUTION = "task.toml", "instruction.md", "tests/test.sh", "solution/solve.sh"
DEFAULT_TIMEOUT_S = 600.0
User = str | int | None
_FREE_TABLES = ("metadata", "task")


class EvolveMetadata(Record):
    """``[metadata.evolve]``: what a task says of itself to this importer."""

    setup: tuple[tuple[str, ...], ...] | None = Field(
        default=None, description="Commands that prepare the work in place of a container; none may be needed."
    )
    verify: tuple[str, ...] | None = Field(
        default=None, description="A command in place of tests/test.sh, which passes by its exit code."
    )
    task: str | None = None
    split: str | None = None
    skills: tuple[str, ...] = ()


class Verifier(Record):
    """``[verifier]``."""

    timeout_sec: float = Field(default=DEFAULT_TIMEOUT_S, gt=0, le=3600)
    env: dict[str, str] = Field(default_factory=dict)
    user: User = None


class Agent(Record):
    """``[agent]``."""

    timeout_sec: float = Field(default=DEFAULT_TIMEOUT_S, gt=0, le=86_400)
    user: User = None


class Environment(Record):
    """``[environment]``; sizes are taken note of and bound nothing here."""

    build_timeout_sec: float | None = None
    docker_image: str | None = None
    cpus: float | None = None
    memory: str | None = None
    memory_mb: float | None = None
    storage: str | None = None
    storage_mb: float | None = None
    gpus: int = 0
    allow_internet: bool | None = None
    env: dict[str, str] = Field(default_factory=dict)
    workdir: str | None = None


class Solution(Record):
    """``[solution]``."""

    env: dict[str, str] = Field(default_factory=dict)


class TaskConfig(Record):
    """The whole of ``task.toml``."""

    version: Annotated[str, StringConstraints(pattern=r"^1\.\d+$")] | None = None
    schema_version: Annotated[str, StringConstraints(pattern=r"^1\.\d+$")] | None = None
    source: str | None = None
    verifier: Verifier = Verifier()
    agent: Agent = Agent()
    environment: Environment = Environment()
    solution: Solution = Solution()
    evolve: EvolveMetadata = EvolveMetadata()
    category: str = "general"
    tags: tuple[str, ...] = ()


def read_config(files: Snapshot) -> TaskConfig:
    """Read ``task.toml``.

    Raises:
        InputError: It is missing, no TOML, or holds what is not known or cannot be done without a container.

    """
    value = _toml(text_of(files, CONFIG))
    free = {name: value.pop(name, {}) for name in _FREE_TABLES}
    metadata = free["metadata"]
    if not isinstance(metadata, dict):
        raise InputError(f"{CONFIG}: metadata: must be a table", code="invalid-record")
    for name in ("category", "tags", "evolve"):
        if name in value:
            raise InputError(f"{CONFIG}: {name}: unknown key", code="invalid-record")
        if name in metadata:
            value[name] = metadata[name]
    config = parse_record(TaskConfig, value, CONFIG)
    _refuse_what_needs_a_container(config)
    return config


def _toml(text: str) -> dict[str, Any]:
    try:
        value = tomllib.loads(text)
        # Dates have no place in what is read below, and JSON has none.
        plain: dict[str, Any] = json.loads(json.dumps(value, default=str))
        return plain
    except RecursionError as error:
        raise InputError(f"{CONFIG}: nested too deep", code="not-toml") from error
    except ValueError as error:
        raise InputError(f"{CONFIG}: not TOML: {error}", code="not-toml") from error


def _refuse_what_needs_a_container(config: TaskConfig) -> None:
    environment = config.environment
    needs = {
        "environment.docker_image": environment.docker_image is not None and config.evolve.setup is None,
        "environment.gpus": environment.gpus > 0,
        "environment.env": bool(environment.env),
        "verifier.user": config.verifier.user not in (None, "root", 0),
        "agent.user": config.agent.user not in (None, "root", 0),
    }
    for name, needed in needs.items():
        if needed:
            raise InputError(f"{CONFIG}: {name}: needs a container", code="needs-container")
    for name, env in (("verifier.env", config.verifier.env), ("solution.env", config.solution.env)):
        for variable, text in env.items():
            if "${" in text or "\0" in text + variable or "=" in variable or not variable:
                raise InputError(
                    f"{CONFIG}: {name}.{variable}: is taken from the host, which graders do not see", code="host-env"
                )
    commands = [*(config.evolve.setup or ()), *([] if config.evolve.verify is None else [config.evolve.verify])]
    if any(not command or any("\0" in part for part in command) for command in commands):
        raise InputError(f"{CONFIG}: metadata.evolve: a command of setup or verify is empty", code="invalid-record")


def text_of(files: Snapshot, name: str) -> str:
    """Return a file of a task as text.

    Raises:
        InputError: It is missing, or not UTF-8.

    """
    if name not in files.files:
        raise InputError(f"{name}: no such file", code="missing-file")
    return decode_text(files.files[name].content, name)

"""Loading tasks with their hidden oracles into memory."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from evolve.digest import sha256_bytes, sha256_json
from evolve.errors import InputError
from evolve.records.base import decode_text, parse_yaml
from evolve.records.checks import CommandCheck, PythonCallsCheck
from evolve.records.kinds import Split
from evolve.records.task import Oracle, Task
from evolve.snapshot import Snapshot

PATCH_FILE = "change.patch"
_PARTS = {"task.yaml", "seed", "oracle", "reference", PATCH_FILE}


@dataclass(frozen=True)
class LoadedTask:
    """A task with its files; ``oracle_files`` are captured before any agent runs."""

    task: Task
    seed: Snapshot
    oracle: Oracle
    oracle_files: Snapshot = field(repr=False)
    good: Snapshot = field(repr=False)
    bad: Snapshot = field(repr=False)
    task_sha256: str
    oracle_sha256: str
    patch: bytes = b""
    beginning_sha256: str | None = None

    @property
    def id(self) -> str:
        """The task's id."""
        return self.task.id

    @property
    def runs_model_code(self) -> bool:
        """Whether grading executes what the agent wrote."""
        checks = (*self.task.verify, *self.oracle.checks)
        return any(isinstance(check, CommandCheck | PythonCallsCheck) for check in checks)

    @property
    def needs_containment(self) -> bool:
        """Whether anything of it is executed: what the agent wrote, or the task's own setup."""
        return self.runs_model_code or bool(self.task.setup)

    @property
    def has_repository(self) -> bool:
        """Whether its work is a git repository of one commit."""
        return self.task.repository is not None or self.task.kind == "review"


@dataclass(frozen=True)
class Corpus:
    """All tasks, sorted by id; expensive ones are at hand only when they are asked for."""

    tasks: tuple[LoadedTask, ...]
    expensive: bool = False

    @property
    def at_hand(self) -> tuple[LoadedTask, ...]:
        """The tasks that are measured."""
        return tuple(task for task in self.tasks if self.expensive or not task.task.expensive)

    def of(self, skill: str, *splits: Split) -> tuple[LoadedTask, ...]:
        """Return the tasks at hand of a skill, of some splits or of all."""
        return tuple(
            task for task in self.at_hand if skill in task.task.skills and (not splits or task.task.split in splits)
        )

    def left_out(self, skill: str, *splits: Split) -> tuple[str, ...]:
        """Return the ids of a skill's tasks that are left out because they are expensive."""
        every = replace(self, expensive=True).of(skill, *splits)
        return tuple(task.id for task in every if task not in self.of(skill, *splits))

    def get(self, identifier: str) -> LoadedTask:
        """Return a task by id.

        Raises:
            InputError: There is none.

        """
        for task in self.tasks:
            if task.id == identifier:
                return task
        raise InputError(f"no task {identifier!r} in the corpus", code="no-task")


def sealed_digest(tasks: tuple[LoadedTask, ...]) -> str:
    """Return the digest that names a set of sealed tasks in the ledger."""
    return sha256_json({task.id: [task.task_sha256, task.oracle_sha256] for task in tasks})


def load_task(folder: Path) -> LoadedTask:
    """Load one task folder.

    Raises:
        InputError: The message names file, line and field.

    """
    return task_of(Snapshot.read(folder, max_files=2000), folder)


def task_of(files: Snapshot, folder: Path) -> LoadedTask:
    """Make a task of the files of its folder, from wherever they were read.

    Raises:
        InputError: The message names file, line and field.

    """
    path = folder / "task.yaml"
    if "task.yaml" not in files.files:
        raise InputError(f"{path}: no such file", code="missing-file")
    task = parse_yaml(Task, decode_text(files.files["task.yaml"].content, str(path)), str(path))
    if task.id != folder.name:
        raise InputError(f"{path}: id: {task.id!r} must equal its folder's name {folder.name!r}", code="task-id")
    for name in sorted({file.split("/", 1)[0] for file in files.files} - _PARTS):
        raise InputError(f"{folder / name}: a task holds {', '.join(sorted(_PARTS))} only", code="unknown-file")
    oracle_files = files.below("oracle")
    oracle_path = folder / "oracle" / "oracle.yaml"
    if "oracle.yaml" not in oracle_files.files:
        raise InputError(f"{oracle_path}: no such file", hint="every task needs a hidden check", code="no-oracle")
    text = decode_text(oracle_files.files["oracle.yaml"].content, str(oracle_path))
    oracle = parse_yaml(Oracle, text, str(oracle_path))
    seed = files.below("seed")
    if task.kind == "edit" and not seed.files and task.repository is None:
        raise InputError(f"{folder / 'seed'}: an edit task needs files to edit", hint="or a repository", code="no-seed")
    patch = files.files[PATCH_FILE].content if PATCH_FILE in files.files else b""
    if (task.kind == "review") != bool(patch):
        wrong = "a review task needs" if task.kind == "review" else f"a task of the kind {task.kind} has no"
        raise InputError(f"{folder / PATCH_FILE}: {wrong} change under review", code="no-patch")
    if task.kind == "review" and not seed.files and task.repository is None:
        raise InputError(f"{folder / 'seed'}: a review task needs files, or a repository", code="no-seed")
    public = {"task": task.json_value(), "seed": seed.digest}
    if patch:
        public["patch"] = sha256_bytes(patch)
    return LoadedTask(
        task=task,
        seed=seed,
        oracle=oracle,
        oracle_files=oracle_files,
        good=files.below("reference/good"),
        bad=files.below("reference/bad"),
        task_sha256=sha256_json(public),
        oracle_sha256=oracle_files.digest,
        patch=patch,
    )


def load_corpus(folder: Path, *, expensive: bool = False) -> Corpus:
    """Load every task below a folder.

    Args:
        folder: The folder.
        expensive: Whether expensive tasks are measured too.

    Raises:
        InputError: The folder is missing or empty, or a task is invalid.

    """
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder", hint="see corpus in evolve.yaml", code="no-corpus")
    tasks = tuple(load_task(path) for path in sorted(folder.iterdir()) if path.is_dir())
    if not tasks:
        raise InputError(f"{folder}: no task in it", hint="evolve init writes three to start from", code="no-task")
    return Corpus(tasks=tasks, expensive=expensive)

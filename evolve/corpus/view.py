"""Showing a corpus: what there is, what one task is made of, and how many there are of everything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from evolve.corpus.loading import Corpus, LoadedTask
from evolve.records.checks import Check
from evolve.records.kinds import Split
from evolve.snapshot import Snapshot

SHOWN_OF_A_HIDDEN_CHECK = ("id", "kind", "axis", "rule")


def chosen(corpus: Corpus, skill: str | None, split: Split | None) -> list[LoadedTask]:
    """Return the tasks of a skill and a split, of all where that is ``None``."""
    return [
        task
        for task in corpus.tasks
        if (skill is None or skill in task.task.skills) and (split is None or task.task.split is split)
    ]


def listed(task: LoadedTask) -> dict[str, Any]:
    """Return what the list says of a task."""
    return {
        "id": task.id,
        "split": task.task.split.value,
        "kind": task.task.kind,
        "class": task.task.class_,
        "tier": task.task.tier,
        "skills": list(task.task.skills),
        "expensive": task.task.expensive,
        "checks": [check.kind for check in (*task.task.verify, *task.oracle.checks)],
    }


def described(task: LoadedTask, *, reveal: bool) -> dict[str, Any]:
    """Return all that may be shown of a task.

    Args:
        task: The task.
        reveal: Whether the oracle's values are shown also where proposers may not see them.

    """
    shown = task.task.json_value()
    open_ = reveal or task.task.split is Split.TRAIN
    return {
        **listed(task),
        "prompt": task.task.prompt,
        "limits": shown["limits"],
        "repository": shown["repository"],
        "dependencies": shown["dependencies"],
        "setup": shown["setup"],
        "tags": list(task.task.tags),
        "verify": [check.json_value() for check in task.task.verify],
        "oracle": [check.json_value() if open_ else _hidden(check) for check in task.oracle.checks],
        "oracle_values": "shown" if open_ else "hidden",
        "files": {
            "seed": _sizes(task.seed),
            "oracle": _sizes(task.oracle_files),
            "reference/good": _sizes(task.good),
            "reference/bad": _sizes(task.bad),
        },
        "task_sha256": task.task_sha256,
        "oracle_sha256": task.oracle_sha256,
    }


def _hidden(check: Check) -> dict[str, Any]:
    return {name: value for name, value in check.json_value().items() if name in SHOWN_OF_A_HIDDEN_CHECK}


def _sizes(files: Snapshot) -> dict[str, int]:
    return {path: len(entry.content) for path, entry in sorted(files.files.items())}


def counted(tasks: Iterable[LoadedTask], skills: Iterable[str]) -> list[dict[str, Any]]:
    """Return how many tasks each skill has in each split, and of which kinds, classes and tiers."""
    tasks = list(tasks)
    named = {skill for task in tasks for skill in task.task.skills}
    rows = []
    for skill in sorted(named | set(skills)):
        for split in Split:
            own = [task.task for task in tasks if skill in task.task.skills and task.task.split is split]
            rows.append(
                {
                    "skill": skill,
                    "split": split.value,
                    "tasks": len(own),
                    "kinds": dict(sorted(Counter(task.kind for task in own).items())),
                    "classes": dict(sorted(Counter(task.class_ for task in own).items())),
                    "tiers": dict(sorted(Counter(task.tier for task in own).items())),
                    "expensive": sum(task.expensive for task in own),
                }
            )
    return rows

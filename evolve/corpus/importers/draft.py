"""What an import makes: drafts of tasks, refusals with reasons, and the folders that are written of the drafts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from evolve.corpus.loading import task_of
from evolve.corpus.naming import free_id
from evolve.errors import EvolveError, InputError
from evolve.files import write_folder
from evolve.records.kinds import Split
from evolve.records.task import ORACLE_SCHEMA, TASK_SCHEMA
from evolve.snapshot import FileEntry, Snapshot
from evolve.workspace import Workspace

STAGED = Path(__file__).with_name("staged")


@dataclass(frozen=True)
class Target:
    """Where drafts are to go: the workspace, the skill, the split, and what their ids begin with."""

    workspace: Workspace
    skill: str
    split: Split
    prefix: str = ""


@dataclass(frozen=True)
class Draft:
    """A task that is not written yet; ``notes`` say what is left to be done."""

    source: str
    id: str
    files: Snapshot
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Refusal:
    """Something that is not imported or exported, and why."""

    source: str
    reason: str


@dataclass
class Outcome:
    """What became of an import or export."""

    done: list[Draft] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)

    def require_any(self, what: str) -> None:
        """Refuse it all where nothing is left.

        Raises:
            InputError: Nothing was done; the message holds every reason.

        """
        if not self.done:
            reasons = [f"{refusal.source}: {refusal.reason}" for refusal in self.refused[:20]]
            more = len(self.refused) - len(reasons)
            reasons += [f"and {more} more"] if more > 0 else []
            raise InputError("\n".join([f"no task could be {what}", *reasons]), code=f"nothing-{what}")


def choose_skill(workspace: Workspace, skill: str | None) -> str:
    """Return the skill that was asked for, or the only one there is.

    Raises:
        InputError: There is none of the name, or there are several to choose from.

    """
    if skill is not None:
        return workspace.skill(skill).name
    names = list(workspace.skills())
    if len(names) != 1:
        hint = f"skills here: {', '.join(names)}" if names else "write one first"
        raise InputError("--skill: say which skill the tasks are for", hint=hint, code="no-skill")
    return names[0]


def identifier_of(name: str, prefix: str = "") -> str:
    """Return the id that a name of another format becomes."""
    return re.sub(r"[^a-z0-9]+", "-", f"{prefix}-{name}".lower()).strip("-")


def printable(text: str) -> str:
    """Return untrusted text in a form that every terminal and file can take."""
    return text.encode("utf-8", errors="replace").decode("utf-8")


def collect(
    items: Iterable[tuple[str, Any]], make: Callable[[Any], Draft], target: Target, limit: int | None = None
) -> Outcome:
    """Make a draft of each item, and look at it as a task, before any is written.

    Args:
        items: Names for messages, and what ``make`` is given.
        make: Makes a draft; an input error is the reason of a refusal.
        target: Where the drafts are to go.
        limit: The most that are made.

    """
    outcome, taken = Outcome(), dict[str, str]()
    for source, item in items:
        if limit is not None and len(outcome.done) >= limit:
            break
        try:
            draft = make(item)
            if draft.id in taken:
                raise InputError(f"its id would be {draft.id!r}, which {taken[draft.id]} has", code="name-collision")
            free_id(target.workspace, draft.id)
            task_of(draft.files, target.workspace.corpus / draft.id)
        except EvolveError as error:
            outcome.refused.append(Refusal(printable(source), printable(error.message)))
            continue
        taken[draft.id] = source
        outcome.done.append(draft)
    return outcome


def write_drafts(drafts: Sequence[Draft], workspace: Workspace) -> None:
    """Write each draft to its folder of the corpus, each whole or not at all.

    Raises:
        EnvironmentFault: The file system refused.

    """
    for draft in drafts:
        write_folder(workspace.corpus / draft.id, draft.files.write, staging=workspace.staging)


def task_yaml(identifier: str, target: Target, notes: Sequence[str] = (), **fields: Any) -> FileEntry:
    """Return the content of ``task.yaml``; what is left to be done stands in it as comments."""
    value = {
        "schema": TASK_SCHEMA,
        "id": identifier,
        "split": target.split.value,
        "skills": [target.skill],
        **fields,
    }
    comments = "".join(f"# {_one_line(note)}\n" for note in notes)
    return FileEntry((comments + dumped(value)).encode("utf-8"))


def _one_line(text: str) -> str:
    return " ".join("".join(character if character.isprintable() else " " for character in text).split())


def oracle_yaml(*checks: Mapping[str, Any]) -> FileEntry:
    """Return the content of ``oracle.yaml``."""
    return FileEntry(dumped({"schema": ORACLE_SCHEMA, "checks": [dict(check) for check in checks]}).encode("utf-8"))


class _Dumper(yaml.SafeDumper):
    """Writes YAML that the strict reader reads as it was."""

    def ignore_aliases(self, data: Any) -> bool:
        """Write everything where it stands: the reader takes no aliases."""
        return True


def _write_text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    if any(character in text for character in "\r\x85\u2028\u2029"):
        style = '"'  # a reader may take these for plain ends of lines
    elif text[:1] in tuple("+-.0123456789") and style is None:
        style = "'"  # a number with an exponent is text for this writer, and a number for the reader
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _write_text)


def dumped(value: Any) -> str:
    """Return a value as YAML that the strict reader reads as it was."""
    text: str = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110)
    return text


def json_file(value: Any) -> FileEntry:
    """Return a value as a JSON file."""
    return FileEntry((json.dumps(value, indent=1, sort_keys=True, ensure_ascii=True) + "\n").encode("ascii"))


def staged(name: str) -> FileEntry:
    """Return one of the programs that are copied into tasks."""
    return FileEntry((STAGED / name).read_bytes())


def placed(folder: str, files: Snapshot | Mapping[str, FileEntry]) -> dict[str, FileEntry]:
    """Return files with a folder put before their paths."""
    entries = files.files if isinstance(files, Snapshot) else files
    return {f"{folder}/{path}": entry for path, entry in entries.items()}

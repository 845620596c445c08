"""Building the bundle: reading what sweeps kept, and putting it into files."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Protocol

from evolve.bench.reuse import REPLIES_FOLDER, patch_name
from evolve.corpus.loading import Corpus
from evolve.errors import InputError
from evolve.hostile import read_below
from evolve.propose.bundle.cells import CellText, cell_file, cell_head, cell_sections, verdict_of
from evolve.propose.bundle.goal import goal_in_words
from evolve.propose.bundle.hidden import WITHHELD, Guard
from evolve.propose.bundle.history import history_sections, selection_sections
from evolve.propose.bundle.limits import BUNDLE_BYTES, FILE_BYTES, KIB, Cut, Section, fitted_file, within
from evolve.propose.bundle.quoting import one_line
from evolve.propose.bundle.select import chosen_cells
from evolve.propose.bundle.told import Told
from evolve.propose.diagnostics.of_row import diagnosis_of, digest_of_transcript
from evolve.propose.prompts import Templates
from evolve.protected import BEGIN, END
from evolve.records.kinds import Split
from evolve.records.policy import Policy
from evolve.records.row import Row
from evolve.redact import redact
from evolve.skills import SKILL_FILE, Skill
from evolve.snapshot import Snapshot

README, INDEX, SELECTION, HISTORY, SKILL_FOLDER = "README.md", "index.json", "selection.md", "history.md", "skill"
INDEX_BYTES = 128 * KIB
SKILL_FILES = 64
NAME_BYTES = 200
MAX_REPLY_BYTES = 4 * 1024 * KIB
DIGEST_CHARS = 48_000
HINTS = 8


class Hints(Protocol):
    """The diagnosis of a transcript."""

    def lines(self, limit: int) -> list[str]:
        """Return it in sentences, the most frequent first."""
        ...


class DigestOf(Protocol):
    """Makes a short digest of a stored transcript."""

    def __call__(self, sweep: Path, row: Row, adapter: str, *, max_chars: int) -> str | None:
        """Return its steps, a line a step, the oldest first; ``None`` where there is no transcript."""
        ...


@dataclass(frozen=True)
class Readers:
    """What reads the transcripts of a sweep."""

    diagnosis: Callable[[Path, Row, str], Hints | None] = diagnosis_of
    digest: DigestOf = digest_of_transcript


@dataclass(frozen=True)
class Measured:
    """Train rows, the folder of the sweep that holds them, and the adapter of the agent of each arm."""

    rows: tuple[Row, ...]
    sweep: Path
    adapters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Sources:
    """What a bundle is built from.

    Args:
        skill: The incumbent.
        corpus: All tasks.
        policy: Whose goal it is.
        measured: Train rows, sweep by sweep.
        selection: Selection rows, of which nothing but counts is shown.
        told: What became of earlier ideas, the oldest first.

    """

    skill: Skill
    corpus: Corpus
    policy: Policy
    measured: tuple[Measured, ...]
    selection: tuple[Row, ...] = ()
    told: tuple[Told, ...] = ()


@dataclass(frozen=True)
class Bundle:
    """The evidence of a proposer.

    Args:
        files: Its files; the incumbent lies below ``skill/``.
        cut: What was left out, and why.
        quoted: The train tasks that it quotes.

    """

    files: Snapshot
    cut: tuple[Cut, ...]
    quoted: tuple[str, ...]

    @property
    def digest(self) -> str:
        """Digest of every file."""
        return self.files.digest


def build_bundle(sources: Sources, readers: Readers | None = None, templates: Templates | None = None) -> Bundle:
    """Build the bundle of a skill; the same sources give the same bytes.

    Raises:
        InputError: A row is of a split that may not be shown, or SKILL.md has no room.

    """
    _check_splits(sources)
    guard = Guard.of(sources.corpus, "\n".join(text for _, text in sources.skill.files.texts()), sources.policy.leaks)
    skill, cut = _skill_files(sources.skill)
    goal = {"goal": goal_in_words(sources.policy), "skill": sources.skill.name, "marks": (BEGIN, END)}
    files = {README: (templates or Templates()).render("bundle_readme.j2", **goal) + "\n", **skill}
    selection = selection_sections(sources.selection)
    parts = {
        SELECTION: ("# Selection tasks: scores alone", selection),
        HISTORY: (f"# History of {sources.skill.name}", history_sections(_seen(sources.told, guard))),
    }
    cells = _cells(sources, readers or Readers())
    parts |= {path: (cell_head(row), sections) for path, (row, sections) in cells.items()}
    for path, (head, sections) in parts.items():
        seen, withheld = guard.sections(path, sections)
        fitted = fitted_file(path, head, seen)
        files[path] = fitted.text
        cut += [*withheld, *fitted.cut]
    kept, gone = within(files, BUNDLE_BYTES - INDEX_BYTES)
    cut += gone
    shown = {path: row for path, (row, _) in cells.items() if path in kept}
    kept[INDEX] = _index(sources.skill, shown, kept, cut)
    quoted = tuple(dict.fromkeys(row.identity.task for row in shown.values()))
    return Bundle(Snapshot.of_texts(kept), tuple(cut), quoted)


def _seen(told: Sequence[Told], guard: Guard) -> list[Told]:
    """Return earlier ideas as they may be told; a refusal for a leak quotes what leaked."""
    kept = []
    for one in told:
        if guard.tells("\n".join((one.idea, one.operator, one.reason, one.numbers))):
            one = replace(one, idea="an idea that is withheld", reason=WITHHELD, numbers="", operator="withheld")
        kept.append(one)
    return kept


def _check_splits(sources: Sources) -> None:
    now = {task.id: task.task.split for task in sources.corpus.tasks}
    pairs = [(row, Split.TRAIN) for measured in sources.measured for row in measured.rows]
    pairs += [(row, Split.SELECTION) for row in sources.selection]
    for row, split in pairs:
        if row.split is not split or now.get(row.identity.task, split) is not split:
            raise InputError(f"{row.identity.task}: a {row.split} row must not reach a proposer", code="split-hygiene")


def _skill_files(skill: Skill) -> tuple[dict[str, str], list[Cut]]:
    """Return the files of the incumbent that can be shown, SKILL.md first."""
    shown: dict[str, str] = {}
    cut = []
    texts = dict(skill.files.texts())
    for path in sorted(skill.files.files, key=lambda one: (one != SKILL_FILE, PurePosixPath(one).suffix != ".md", one)):
        size = len(skill.files.files[path].content)
        why = None
        if path not in texts:
            why = "it is no text"
        elif len(path.encode()) > NAME_BYTES or size > FILE_BYTES:
            why = f"its name or its content is too long (at most {FILE_BYTES // KIB} KiB a file)"
        elif len(shown) >= SKILL_FILES:
            why = f"at most {SKILL_FILES} files of a skill are shown"
        if why is None:
            shown[f"{SKILL_FOLDER}/{path}"] = redact(texts[path])
        elif path == SKILL_FILE:
            raise InputError(f"{skill.folder}/{path}: {why}", code="too-large")
        else:
            cut.append(Cut(f"{SKILL_FOLDER}/{one_line(path, 80)}", "the whole file", 1, size, why))
    if more := cut[SKILL_FILES:]:
        cut[SKILL_FILES:] = [Cut(SKILL_FOLDER, "further files", len(more), sum(one.bytes for one in more), more[0].why)]
    return shown, cut


def _cells(sources: Sources, readers: Readers) -> dict[str, tuple[Row, list[Section]]]:
    """Return the chosen cells by the path of their file."""
    tasks = {task.id: task for task in sources.corpus.of(sources.skill.name, Split.TRAIN)}
    home = {id(row): measured for measured in sources.measured for row in measured.rows}
    found: dict[str, tuple[Row, list[Section]]] = {}
    rows = (row for measured in sources.measured for row in measured.rows if row.identity.task in tasks)
    for row in chosen_cells(list(rows)):
        task, measured = tasks[row.identity.task], home[id(row)]
        path = cell_file(row)
        number = 2
        while path in found:
            path = f"{cell_file(row).removesuffix('.md')}-{number}.md"
            number += 1
        found[path] = (row, cell_sections(task, row, _cell_text(row, measured, readers)))
    return found


def _cell_text(row: Row, measured: Measured, readers: Readers) -> CellText:
    adapter = measured.adapters.get(row.arm, "")
    diagnosis = readers.diagnosis(measured.sweep, row, adapter)
    steps = readers.digest(measured.sweep, row, adapter, max_chars=DIGEST_CHARS)
    return CellText(
        reply=_reply(row, measured.sweep),
        patch=_patch(row, measured.sweep),
        steps=tuple((steps or "").splitlines()),
        hints=tuple(diagnosis.lines(HINTS)) if diagnosis is not None else (),
    )


def _reply(row: Row, sweep: Path) -> str | None:
    if row.reply_sha256 is None:
        return None
    data = read_below(sweep, f"{REPLIES_FOLDER}/{row.reply_sha256}.md", MAX_REPLY_BYTES)
    return None if data is None else data.decode("utf-8", errors="replace")


def _patch(row: Row, sweep: Path) -> str | None:
    """Return what an edit changed; a reused row's lies in the sweep that measured it."""
    folder = sweep if row.reused is None else sweep.parent / row.reused.sweep
    data = read_below(folder, patch_name(row), MAX_REPLY_BYTES)
    return None if data is None else data.decode("utf-8", errors="replace")


def _index(skill: Skill, cells: Mapping[str, Row], files: Mapping[str, str], cut: Sequence[Cut]) -> str:
    """Return what the bundle holds and what was left out of it, for a program to read."""
    value = {
        "skill": skill.name,
        "fingerprint": skill.fingerprint,
        "files": {path: len(text.encode()) for path, text in files.items()},
        "cells": [
            {
                "file": path,
                "task": row.identity.task,
                "run": row.identity.run,
                "arm": one_line(row.arm, 80),
                "verdict": verdict_of(row),
                "cost_usd_micros": row.usage.cost_usd_micros,
            }
            for path, row in cells.items()
        ],
        "left_out": [{"file": c.file, "what": c.what, "parts": c.parts, "bytes": c.bytes, "why": c.why} for c in cut],
    }
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"

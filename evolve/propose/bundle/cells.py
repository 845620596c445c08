"""A cell of a train task as a file of the bundle."""

from __future__ import annotations

from dataclasses import dataclass

from evolve.corpus.leaks import reference_reply
from evolve.corpus.loading import LoadedTask
from evolve.propose.bundle.limits import Section
from evolve.propose.bundle.quoting import one_line, plain, quoted
from evolve.propose.bundle.select import total_tokens
from evolve.propose.evidence import failed_rule
from evolve.records.row import CheckOutcome, Row

DETAIL_CHARS = 500


@dataclass(frozen=True)
class CellText:
    """What is kept of a cell beside its row: the reply, what it changed, the steps of its transcript, hints about it.

    Args:
        reply: The reply; ``None`` where none was kept.
        patch: What it changed; ``None`` where nothing of it was kept.
        steps: What the agent did, a line a step, the oldest first; empty where no transcript was kept.
        hints: What the transcript's diagnosis says, a sentence a hint.

    """

    reply: str | None = None
    patch: str | None = None
    steps: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()


def cell_file(row: Row) -> str:
    """Return the path of a cell's file in the bundle."""
    arm = "".join(character if character.isascii() and character.isalnum() else "-" for character in row.arm)[:64]
    return f"cells/{row.identity.task}-run{row.identity.run}-{arm}.md"


def verdict_of(row: Row) -> str:
    """Return how a cell ended, in a few words."""
    return "resolved" if row.resolved else f"failed ({row.kind})"


def cell_head(row: Row) -> str:
    """Return the first lines of a cell's file."""
    return f"# {row.identity.task}, run {row.identity.run}, arm {one_line(row.arm, 80)}: {verdict_of(row)}"


def cell_sections(task: LoadedTask, row: Row, text: CellText) -> list[Section]:
    """Return what is said of a cell, what matters most first."""
    sections = [Section("Verdict", ("\n".join(_verdict(task, row)),))]
    if text.hints:
        hints = tuple(f"- {one_line(hint, DETAIL_CHARS)}" for hint in text.hints)
        sections.append(Section("What its transcript hints at", hints))
    sections.append(Section("Prompt", (quoted(task.task.prompt),)))
    reply = quoted(text.reply) if text.reply else "No reply was kept."
    sections.append(Section("Reply", (reply,)))
    correct = reference_reply(task)
    if correct:
        sections.append(Section("A correct reply", (quoted(correct),)))
    if task.patch:
        change = quoted(task.patch.decode("utf-8", errors="replace"))
        sections.append(Section("The change under review", (change,)))
    if not task.task.replies:
        sections.append(Section("Patch", (_patch(row, text),)))
    files = tuple(f"{one_line(path, 200)}:\n{quoted(content)}" for path, content in task.seed.texts())
    if files:
        sections.append(Section("The files it begins with", files))
    if text.steps:
        sections.append(Section("Steps, the newest first", tuple(f"    {plain(s)}" for s in reversed(text.steps))))
    else:
        sections.append(Section("Steps", ("No transcript was kept.",)))
    return sections


def _verdict(task: LoadedTask, row: Row) -> list[str]:
    lines = [f"- {verdict_of(row)}" + (f": {one_line(row.detail, DETAIL_CHARS)}" if row.detail else "")]
    lines += [f"- {name}: {_outcome(found)}" for name, found in (("verify", row.verify), ("oracle", row.oracle))]
    if not row.resolved and (rule := failed_rule(task, row)):
        lines.append(f"- the rule that it broke: {one_line(rule, DETAIL_CHARS)}")
    cost, tokens = row.usage.cost_usd_micros, total_tokens(row)
    lines.append(f"- cost: {'unknown' if cost is None else f'{cost / 1_000_000:.6f} USD'}")
    lines.append(f"- tokens: {'unknown' if tokens is None else tokens}")
    used = {"turns": row.usage.turns, "tool calls": row.usage.tool_calls}
    return lines + [f"- {name}: {figure}" for name, figure in used.items() if figure is not None]


def _outcome(outcome: CheckOutcome | None) -> str:
    if outcome is None:
        return "not run"
    failed = f", check {outcome.failed_check}" if outcome.failed_check else ""
    return f"{'passed' if outcome.passed else 'failed'}{failed}, score {outcome.score:g}"


def _patch(row: Row, text: CellText) -> str:
    """Return what was changed, or as much as is known of it."""
    if text.patch:
        return quoted(text.patch)
    made = row.delivered
    if made is None:
        return "Nothing of it was kept."
    return (
        f"Nothing of it was kept but its size: {made.files} files, {made.added} lines added, {made.removed} removed; "
        f"of tests {made.test_files} files, {made.test_added} lines added, {made.test_removed} removed."
    )

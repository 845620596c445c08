"""All that a transcript shows, counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from evolve.agents.transcript_events import Event, Transcript
from evolve.propose.diagnostics.finding import Finding, FindingKind
from evolve.propose.diagnostics.rules import looking, prompts, repeating

_RULES: Mapping[FindingKind, Callable[[Sequence[Event]], Iterable[Finding]]] = {
    FindingKind.CACHE_BREAK: prompts.cache_breaks,
    FindingKind.CACHE_MISS: prompts.cache_misses,
    FindingKind.PROMPT_GROWTH: prompts.prompt_growth,
    FindingKind.READ_ONLY_STALL: looking.read_only_stalls,
    FindingKind.BROAD_RESULT: looking.broad_results,
    FindingKind.READ_FRAGMENTATION: looking.read_fragmentation,
    FindingKind.GREP_SWEEP: looking.grep_sweeps,
    FindingKind.DUPLICATE_CALL: repeating.duplicate_calls,
    FindingKind.TOOL_ERROR: repeating.tool_errors,
    FindingKind.MISSED_PARALLELISM: looking.missed_parallelism,
    FindingKind.TOOL_CHURN: repeating.tool_churn,
}
# Without this, a transcript cannot show such a thing, and not having found it means nothing.
_TOLD: Mapping[FindingKind, Callable[[Sequence[Event]], bool]] = {
    FindingKind.CACHE_BREAK: prompts.tells_cache,
    FindingKind.CACHE_MISS: prompts.tells_cache,
    FindingKind.PROMPT_GROWTH: prompts.tells_input,
    FindingKind.READ_ONLY_STALL: looking.tells_turns,
    FindingKind.MISSED_PARALLELISM: looking.tells_turns,
}
_SENTENCES: Mapping[FindingKind, str] = {
    FindingKind.CACHE_BREAK: "A turn lost what the turn before had in the prompt cache",
    FindingKind.CACHE_MISS: "A turn read nothing from the prompt cache",
    FindingKind.PROMPT_GROWTH: "The prompt grew to a multiple",
    FindingKind.READ_ONLY_STALL: "The agent only looked for many turns",
    FindingKind.BROAD_RESULT: "A result was so large that it fills the prompt",
    FindingKind.READ_FRAGMENTATION: "A file was read in pieces that lie close together",
    FindingKind.GREP_SWEEP: "One place was searched over and over",
    FindingKind.DUPLICATE_CALL: "The same call was made again although nothing had changed",
    FindingKind.TOOL_ERROR: "A call failed",
    FindingKind.MISSED_PARALLELISM: "Looks were made one a turn that could have been made at once",
    FindingKind.TOOL_CHURN: "One file was edited over and over",
}


@dataclass(frozen=True)
class Diagnosis:
    """What a transcript shows; hints, and never a reason to decide.

    Args:
        counts: How often each kind was found; ``None`` where the transcript does not tell what it takes to see it.
        findings: Everything that was found, by kind and then in order.
        unreadable: How many lines of the transcript could not be read.

    """

    counts: Mapping[FindingKind, int | None]
    findings: tuple[Finding, ...]
    unreadable: int = 0

    def lines(self, limit: int) -> list[str]:
        """Return a sentence for each kind that was found, most frequent first.

        Args:
            limit: The most lines.

        """
        return list(self._lines())[: max(0, limit)]

    def _lines(self) -> Iterator[str]:
        first: dict[FindingKind, Finding] = {}
        for finding in self.findings:
            first.setdefault(finding.kind, finding)
        order = list(FindingKind)
        for kind in sorted(first, key=lambda one: (-(self.counts[one] or 0), order.index(one))):
            times = "once" if self.counts[kind] == 1 else f"{self.counts[kind]:,} times"
            yield f"{_SENTENCES[kind]} ({kind}, {times}): in turn {first[kind].turn}, {first[kind].detail}."
        if self.unreadable:
            what = "line" if self.unreadable == 1 else "lines"
            yield f"{self.unreadable:,} {what} of the transcript could not be read."


def diagnose(events: Sequence[Event], unreadable: int = 0) -> Diagnosis:
    """Return what a sequence of events shows.

    Args:
        events: In the order in which they happened.
        unreadable: How many lines of the transcript could not be read.

    """
    told = {kind for kind in FindingKind if kind not in _TOLD or _TOLD[kind](events)}
    findings = tuple(finding for kind, rule in _RULES.items() if kind in told for finding in rule(events))
    found = Counter(finding.kind for finding in findings)
    return Diagnosis({kind: found[kind] if kind in told else None for kind in FindingKind}, findings, unreadable)


def diagnose_transcript(transcript: Transcript) -> Diagnosis:
    """Return what a transcript shows."""
    return diagnose(transcript.events, transcript.unreadable)

"""Agents that are programs of their own: run in a box, behind a gateway, believed only as far as they prove it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from evolve.agents.accounts import PhaseAccount, with_accounts, with_line
from evolve.agents.adapter import Adapter, Ask, Program, Treatment, pasted
from evolve.agents.base import Session, SessionEnd
from evolve.agents.heard import Heard, Verdict, conclude, not_invoked, read_back
from evolve.agents.output import LARGEST_OUTPUT, errors_of, hear, last_words, telling_lines, transcript_of
from evolve.agents.phases import (
    ARTIFACT,
    EARLIER,
    WHOLE,
    Earlier,
    Phase,
    broken_template,
    forbidden_changes,
    prompt_of,
    read_artifact,
    work_entries,
)
from evolve.agents.prices import cost_micros
from evolve.agents.usage import phase_account, total_usage, usage_of
from evolve.digest import foreign_tree_digest
from evolve.errors import EvolveError, InputError
from evolve.hostile import read_below
from evolve.records.kinds import ErrorKind
from evolve.records.phase import PhaseSpec
from evolve.records.prices import TokenPrice
from evolve.records.row import Usage
from evolve.records.task import Limits, Task
from evolve.sandbox.box import WORK, Box, BoxEnd, BoxJob, BoxLimits
from evolve.sandbox.gateway.account import Account, Upstream
from evolve.sandbox.gateway.meter import Tokens
from evolve.sandbox.gateway.server import Gateway
from evolve.sandbox.gateway.tape import Player, Recorder
from evolve.skills import installed_fingerprint

# Finds the recording of a cell by task, seed and fingerprint.
TapeOf = Callable[[str, int, str], str | None]
LEAST_WALL_S = 1.0
HOST = "host"
WARM_UP = PhaseSpec(name="warm-up", template="direct")


@dataclass(frozen=True)
class _Ended:
    """How a phase ended."""

    verdict: Verdict
    usage: Usage | None = None
    reply: str = ""
    output: bytes = b""
    errors: str = ""
    skills_used: frozenset[str] = frozenset()
    artifact: str | None = None
    account: PhaseAccount | None = None


@dataclass(frozen=True)
class _Tapes:
    """What is recorded of a cell, and what answers in place of the model."""

    recorder: Recorder | None
    player: Player | None


@dataclass(frozen=True)
class ContainedAgent:
    """An agent in a box.

    Args:
        name: The adapter's name.
        phases: Its sessions for one cell, in order.
        program: Its binary.
        box: Where it runs.
        upstream: Where its model is.
        settings: What else of its declaration may influence an outcome.
        price: What its model charges, if anybody knows.
        idle_s: How long it may be silent.
        append: Text for its system prompt.
        mounts: What is mounted read-only beside the skills: tool servers, plugins.
        record: Whether what the model answers is kept.
        tapes: Finds the recording of a cell, which then answers in place of the model.

    """

    name: str
    phases: tuple[Phase, ...]
    program: Program
    box: Box
    upstream: Upstream
    settings: Mapping[str, Any]
    price: TokenPrice | None
    idle_s: float
    append: str | None = None
    mounts: Mapping[str, Path] = field(default_factory=dict)
    record: bool = False
    tapes: TapeOf | None = None

    @property
    def identity(self) -> dict[str, Any]:
        """The adapter, the binary, its settings and limits, and where its model is."""
        return {
            "adapter": self.name,
            "adapter_version": 2,
            "backend": self.box.name,
            "version": self.program.version,
            "binary_sha256": self.program.sha256,
            "settings": dict(self.settings),
            "upstream": self.upstream.base_url,
            "repeatable": False,
        }

    def run(self, session: Session) -> SessionEnd:
        """Run the phases of one cell; whatever goes wrong is told in its end."""
        tapes = None
        try:
            tapes = self._tapes_of(session)
            if tapes is None:
                return SessionEnd("", Usage(), ErrorKind.SESSION_ERROR, "no recording of this cell", refused=True)
            ended = self._run(session, tapes)
        except OSError as error:
            ended = SessionEnd("", Usage(), ErrorKind.INFRA_ERROR, f"{error.filename or 'box'}: {error.strerror}")
        return ended if tapes is None or tapes.recorder is None else replace(ended, recording=tapes.recorder.text())

    def _tapes_of(self, session: Session) -> _Tapes | None:
        player = None
        if self.tapes is not None:
            tape = self.tapes(session.task.id, session.seed, installed_fingerprint(session.skills))
            if tape is None:
                return None
            player = Player(tape)
        return _Tapes(Recorder() if self.record else None, player)

    def _run(self, session: Session, tapes: _Tapes) -> SessionEnd:
        phases = self.phases
        if session.warm_up:
            phases = (replace(phases[0], spec=WARM_UP, template="{{ task }}"),)
        before = "" if session.task.replies else foreign_tree_digest(session.work)
        began = time.monotonic()
        earlier: dict[str, Earlier] = {}
        ends: list[_Ended] = []
        for phase in phases:
            left = session.task.limits.wall_s - (time.monotonic() - began)
            ends.append(self._phase(phase, session, tapes, earlier, max(LEAST_WALL_S, left)))
            if ends[-1].verdict.kind is not None:
                break
        return self._settle(session, phases, ends, before)

    def _settle(self, session: Session, phases: tuple[Phase, ...], ends: list[_Ended], before: str) -> SessionEnd:
        """Return how the cell ended: by its first phase that failed, else by what its phases did together."""
        last, verdict = ends[-1], ends[-1].verdict
        reply = last.reply if last.artifact is None else last.artifact
        if verdict.kind is not None and len(phases) > 1:
            verdict = replace(verdict, detail=f"phase {phases[len(ends) - 1].spec.name}: {verdict.detail}")
        if verdict.kind is None and session.expects is not None and not phases[0].adapter.pastes_skills:
            verdict = not_invoked(frozenset().union(*(end.skills_used for end in ends)), session.expects)
        asked_for_work = not session.task.replies and not session.warm_up
        if verdict.kind is None and asked_for_work and _digest_or_none(session.work) == before:
            verdict = Verdict(ErrorKind.NO_WORK_PRODUCED, "it changed no file")
        transcript = transcript_of([(phase.spec.name, end.output) for phase, end in zip(phases, ends, strict=False)])
        if verdict.kind is not None and last.errors:
            transcript = with_line(transcript, "evolve_errors", last.errors)
        transcript = with_accounts(transcript, [end.account for end in ends if end.account is not None])
        usage = total_usage([end.usage for end in ends if end.usage is not None])
        return SessionEnd(reply, usage, verdict.kind, verdict.detail, verdict.refused, transcript)

    def _phase(
        self, phase: Phase, session: Session, tapes: _Tapes, earlier: dict[str, Earlier], left_s: float
    ) -> _Ended:
        """Run one session, and see what it left and what it changed."""
        if (refusal := phase.adapter.refuses(session.work)) is not None:
            return _Ended(Verdict(ErrorKind.CONTAMINATED, refusal))
        room = session.own / f"phase-{phase.spec.name}"
        artifacts = room / "artifact"
        for folder in (room, room / "home", room / "gateway", room / "treatment", artifacts):
            folder.mkdir()
        restricted = phase.spec.workspace == "read-only" or phase.spec.may_change != WHOLE
        restricted = restricted and not session.shared  # what is shared is mounted read-only, and not looked at again
        try:
            before = work_entries(session.work) if restricted else {}
        except InputError as error:  # an earlier phase left it so
            return _Ended(Verdict(ErrorKind.VERIFY_FAILED, f"the work cannot be read: {error.message}"))
        try:
            ended = self._session(phase, session, tapes, room, earlier, left_s)
        except EvolveError as error:
            return _Ended(Verdict(ErrorKind.INFRA_ERROR, error.message))
        if ended.verdict.kind is None and restricted:
            ended = replace(ended, verdict=_changes(phase.spec, before, session.work))
        if ended.verdict.kind is None and phase.spec.artifact is not None:
            ended = _with_artifact(ended, phase.spec, artifacts)
            if ended.artifact is not None:
                self._hand_on(phase.spec, ended.artifact, session, earlier)
        return ended

    def _hand_on(self, spec: PhaseSpec, text: str, session: Session, earlier: dict[str, Earlier]) -> None:
        """Keep an artifact where later phases find it."""
        inside = f"{spec.name}/{spec.artifact}"
        kept = session.own / "earlier" / inside
        kept.parent.mkdir(parents=True)
        kept.write_text(text, encoding="utf-8")
        earlier[spec.name] = Earlier(inside, text)

    def _session(
        self,
        phase: Phase,
        session: Session,
        tapes: _Tapes,
        room: Path,
        earlier: Mapping[str, Earlier],
        left_s: float,
    ) -> _Ended:
        adapter, places = phase.adapter, self.box.places(room)
        home, out, err, prompt = room / "home", room / "output.jsonl", room / "errors.txt", room / "prompt.txt"
        found = {
            name: replace(artifact, path=places.at(f"{EARLIER}/{artifact.path}")) for name, artifact in earlier.items()
        }
        prompt.write_text(prompt_of(phase, session.task, places, found), encoding="utf-8")
        shown = frozenset() if adapter.pastes_skills else frozenset(one.name for one in session.skills.iterdir())
        watch = telling_lines(session.skills, session.task.prompt)
        with Gateway(
            room / "gateway",
            self.upstream,
            phase.limits,
            self._cost,
            watch,
            tapes.recorder,
            tapes.player,
            self.settings["model"],
        ) as gateway:
            ask = Ask(places, gateway.token, self._appended(adapter, session.skills))
            treatment = adapter.treat(ask, session.skills, room / "treatment", home)
            job = BoxJob(
                argv=adapter.argv(ask),
                env=adapter.env(ask),
                work=session.work,
                home=home,
                prompt=prompt,
                gateway=room / "gateway",
                stdout=out,
                stderr=err,
                limits=BoxLimits(wall_s=phase.spec.wall_s or left_s, idle_s=self.idle_s),
                read_only=self._mounts(adapter, treatment, session, bool(earlier)),
                writable=_writable(phase.spec, session, room),
                work_read_only=phase.spec.workspace == "read-only",
                places=places,
                alive=gateway.alive,
            )
            end = self.box.run(job)
        account = gateway.account
        output = read_below(room, out.name, LARGEST_OUTPUT) or b""
        heard = hear(adapter, output, home, shown)
        heard, verdict = self._judged(phase.adapter, heard, end, account, session, last_words(err))
        usage = usage_of(heard, end, account, self.settings["model"], self.price)
        two = phase_account(phase.spec.name, heard, account)
        return _Ended(verdict, usage, heard.reply, output, errors_of(err), heard.skills_used, account=two)

    def _judged(
        self, adapter: Adapter, heard: Heard, end: BoxEnd, account: Account, session: Session, last: str
    ) -> tuple[Heard, Verdict]:
        """Return what can be believed of what a program said, and how its session ended."""
        # What the program says is said by a process that the session's own could imitate; the gateway's word is not.
        heard = replace(heard, skills_used=heard.skills_used & account.seen)
        if not adapter.proves_skill_use:
            heard = replace(heard, skills_used=frozenset(account.seen))
            if heard.finished and heard.failure is None:  # some call an error of the provider their reply
                heard = replace(heard, failure=account.last_failure)
        verdict = conclude(heard, end, account, last)
        if verdict.kind is None and adapter.pastes_skills and session.expects not in {None, *account.seen}:
            verdict = Verdict(ErrorKind.CONTAMINATED, f"the pasted skill {session.expects} never reached the model")
        if verdict.kind is None:
            verdict = read_back(account, self.settings.get("effort"))
        return heard, verdict

    def _mounts(self, adapter: Adapter, treatment: Treatment, session: Session, handed_on: bool) -> dict[str, Path]:
        mounts = {adapter.executable: self.program.path, **treatment.mounts, **self.mounts}
        mounts |= {f"{WORK}/{path}": folder for path, folder in session.read_only.items()}
        return {**mounts, EARLIER: session.own / "earlier"} if handed_on else mounts

    def _appended(self, adapter: Adapter, skills: Path) -> str:
        """Return what is added to the system prompt: skills that are pasted, then the arm's own text."""
        parts = [pasted(skills) if adapter.pastes_skills else "", self.append or ""]
        return "\n\n".join(part for part in parts if part)

    def _cost(self, model: str, tokens: Tokens) -> int | None:
        return cost_micros(self.price, tokens) if model == self.settings["model"] else None

    @property
    def only_reads(self) -> bool:
        """Whether every phase sees its work read-only, in a box that keeps it so."""
        return self.box.name != HOST and all(phase.spec.workspace == "read-only" for phase in self.phases)

    def unfit_for(self, task: Task) -> str | None:
        """Refuse a task that asks for work where no phase may change anything."""
        if task.kind == "edit" and all(phase.spec.changes_nothing for phase in self.phases):
            names = ", ".join(phase.spec.name for phase in self.phases)
            return f"it asks for changed files, and no phase ({names}) may change the workspace"
        return broken_template(self.phases, task)

    def worst_cost_micros(self, limits: Limits, prompt_bytes: int) -> int | None:
        """Return the money limits of all phases together: the gateway makes no call that could pass one."""
        worst = [phase.limits.usd_micros for phase in self.phases]
        return None if None in worst else sum(one or 0 for one in worst)

    def close(self) -> None:
        """Hold nothing."""


def _writable(spec: PhaseSpec, session: Session, room: Path) -> dict[str, Path]:
    """Return what may be written beside work and home: the artifact's folder, and the caches of dependencies."""
    caches = {f"{WORK}/{path}": folder for path, folder in session.writable.items()}
    return {**caches, ARTIFACT: room / "artifact"} if spec.artifact else caches


def _changes(spec: PhaseSpec, before: Mapping[str, str], work: Path) -> Verdict:
    """Judge what a phase that may not change everything has changed."""
    try:
        after = work_entries(work)
    except InputError as error:
        return Verdict(ErrorKind.PHASE_VIOLATION, f"its work cannot be read: {error.message}")
    allowed = () if spec.workspace == "read-only" else spec.may_change
    forbidden = forbidden_changes(before, after, allowed)
    if not forbidden:
        return Verdict()
    more = f" and {len(forbidden) - 3} more" if len(forbidden) > 3 else ""
    return Verdict(ErrorKind.PHASE_VIOLATION, f"it changed {', '.join(forbidden[:3])}{more}")


def _with_artifact(ended: _Ended, spec: PhaseSpec, folder: Path) -> _Ended:
    """Take up the artifact of a phase, or say what is wrong with it."""
    text, fault = read_artifact(folder, spec.artifact or "")
    if fault is not None:
        return replace(ended, verdict=Verdict(ErrorKind.PHASE_VIOLATION, fault))
    if text is None or not text.strip():
        return replace(ended, verdict=Verdict(ErrorKind.NO_WORK_PRODUCED, f"it left no {spec.artifact}"))
    return replace(ended, artifact=text)


def _digest_or_none(work: Path) -> str | None:
    try:
        return foreign_tree_digest(work)
    except EvolveError:
        return None

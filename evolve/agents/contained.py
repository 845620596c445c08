"""Agents that are programs of their own: run in a box, behind a gateway, believed only as far as they prove it."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from evolve.agents.base import Session, SessionEnd
from evolve.agents.heard import Heard, Verdict, conclude
from evolve.agents.prices import cost_micros
from evolve.digest import foreign_tree_digest
from evolve.errors import EnvironmentFault, EvolveError
from evolve.hostile import read_below, write_fresh
from evolve.records.kinds import ErrorKind
from evolve.records.prices import TokenPrice
from evolve.records.row import Usage
from evolve.records.task import ANSWER_FILE, Limits
from evolve.sandbox.box import Box, BoxEnd, BoxJob, BoxLimits
from evolve.sandbox.gateway.account import Account, SessionLimits, Upstream
from evolve.sandbox.gateway.meter import Tokens
from evolve.sandbox.gateway.server import Gateway
from evolve.sandbox.gateway.tape import Player, Recorder
from evolve.scratch import short_lived
from evolve.skills import SKILL_FILE, installed_fingerprint, split_frontmatter

# Finds the recording of a cell by task, seed and fingerprint.
TapeOf = Callable[[str, int, str], str | None]
STDERR_CHARS = 300
LARGEST_OUTPUT = 64 * 1024 * 1024
VERSION_WALL_S = 30


@dataclass(frozen=True)
class Treatment:
    """The skills as an adapter delivers them: what is mounted read-only, by the path inside."""

    mounts: Mapping[str, Path]


class Adapter(Protocol):
    """How one program is asked, and how its answer is read."""

    @property
    def name(self) -> str:
        """The adapter's name."""
        ...

    @property
    def executable(self) -> str:
        """Where the program is inside the box."""
        ...

    @property
    def proves_skill_use(self) -> bool:
        """Whether its output proves which skills were loaded; else a skill counts once its text reached the model."""
        ...

    def unfit(self) -> str | None:
        """Return what of its declaration the program cannot be held to, as ``field: why``."""
        ...

    def refuses(self, work: Path) -> str | None:
        """Return what in a task's folder the program would load although nobody gave it."""
        ...

    def argv(self) -> tuple[str, ...]:
        """Return the command; the prompt comes on standard input."""
        ...

    def env(self, token: str) -> Mapping[str, str]:
        """Return the environment, with the token of this session."""
        ...

    def treat(self, skills: Path, scratch: Path, home: Path) -> Treatment:
        """Prepare the home, and say how the skills are mounted."""
        ...

    def read(self, output: bytes, home: Path, skills: frozenset[str]) -> Heard:
        """Read what the program said; never raises."""
        ...


@dataclass(frozen=True)
class Program:
    """The binary of an agent: its version and digest are part of every identity."""

    path: Path
    version: str
    sha256: str


def located(root: Path, text: str) -> str:
    """Return a path of ``evolve.yaml``: below the home for ``~/``, relative to the workspace; a bare name stays one."""
    if "/" not in text:
        return text
    return str(root / (Path.home() / text[2:] if text.startswith("~/") else text))


@cache
def find_program(name: str, version: str) -> Program:
    """Find an agent's binary and see that it is the version that was asked for.

    Args:
        name: A path, or a name on PATH.
        version: The exact version.

    Raises:
        EnvironmentFault: It is missing, cannot be run, or is another version.

    """
    found = None if "\0" in name else shutil.which(name)
    if found is None:
        hint = "give its path as agent.binary in evolve.yaml"
        raise EnvironmentFault(f"{name}: no such program", hint=hint, code="missing-agent")
    path = Path(found).resolve()
    try:  # some make folders in their home even now
        with short_lived("home") as home:
            ran = subprocess.run(
                [path, "--version"],
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=VERSION_WALL_S,
                check=False,
                env={"HOME": home},
            )
    except (OSError, subprocess.SubprocessError) as error:
        raise EnvironmentFault(f"{path}: cannot be run: {error}", code="missing-agent") from error
    if version not in (word.rstrip(".,") for word in ran.stdout.split()):
        said = ran.stdout.strip() or ran.stderr.strip() or "nothing"
        hint = f"install version {version}, or change agent.version in evolve.yaml"
        raise EnvironmentFault(f"{path}: it says {said[:80]!r}, not {version}", hint=hint, code="wrong-agent-version")
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return Program(path, version, digest)


@dataclass(frozen=True)
class ContainedAgent:
    """An agent in a box.

    Args:
        adapter: How the program is asked and read.
        program: Its binary.
        box: Where it runs.
        upstream: Where its model is.
        limits: What a session may use of the model.
        settings: What else of its declaration may influence an outcome.
        price: What its model charges, if anybody knows.
        idle_s: How long it may be silent.
        record: Whether what the model answers is kept.
        tapes: Finds the recording of a cell, which then answers in place of the model.

    """

    adapter: Adapter
    program: Program
    box: Box
    upstream: Upstream
    limits: SessionLimits
    settings: Mapping[str, Any]
    price: TokenPrice | None
    idle_s: float
    record: bool = False
    tapes: TapeOf | None = None

    @property
    def identity(self) -> dict[str, Any]:
        """The adapter, the binary, its settings and limits, and where its model is."""
        return {
            "adapter": self.adapter.name,
            "adapter_version": 1,
            "backend": self.box.name,
            "version": self.program.version,
            "binary_sha256": self.program.sha256,
            "settings": dict(self.settings),
            "upstream": self.upstream.base_url,
            "repeatable": False,
        }

    def run(self, session: Session) -> SessionEnd:
        """Run one session; whatever goes wrong is told in its end."""
        room = session.work.parent
        home, gateway_folder, scratch = room / "home", room / "gateway", room / "treatment"
        out, err, prompt = room / "output.jsonl", room / "errors.txt", room / "prompt.txt"
        skills = frozenset(folder.name for folder in session.skills.iterdir())
        try:
            home.mkdir()
            gateway_folder.mkdir()
            prompt.write_text(session.task.prompt, encoding="utf-8")
            refusal = self.adapter.refuses(session.work)
            if refusal is not None:
                return SessionEnd("", Usage(), ErrorKind.CONTAMINATED, refusal)
            treatment = self.adapter.treat(session.skills, scratch, home)
            before = foreign_tree_digest(session.work)
            player = None
            if self.tapes is not None:
                tape = self.tapes(session.task.id, session.seed, installed_fingerprint(session.skills))
                if tape is None:
                    return SessionEnd("", Usage(), ErrorKind.SESSION_ERROR, "no recording of this cell", refused=True)
                player = Player(tape)
            recorder = Recorder() if self.record else None
            watch = {folder.name: _longest_line(folder) for folder in session.skills.iterdir()}
            with Gateway(gateway_folder, self.upstream, self.limits, self._cost, watch, recorder, player) as gateway:
                job = BoxJob(
                    argv=self.adapter.argv(),
                    env=self.adapter.env(gateway.token),
                    work=session.work,
                    home=home,
                    prompt=prompt,
                    gateway=gateway_folder,
                    stdout=out,
                    stderr=err,
                    limits=BoxLimits(wall_s=session.task.limits.wall_s, idle_s=self.idle_s),
                    read_only={self.adapter.executable: self.program.path, **treatment.mounts},
                    alive=gateway.alive,
                )
                end = self.box.run(job)
            output = read_below(room, out.name, LARGEST_OUTPUT) or b""
            heard = self._hear(output, home, skills)
            if not self.adapter.proves_skill_use:
                heard = replace(heard, skills_used=frozenset(gateway.account.seen))
                if heard.finished and heard.failure is None:  # some call an error of the provider their reply
                    heard = replace(heard, failure=gateway.account.last_failure)
            stderr = _last_words(err)
        except OSError as error:
            return SessionEnd("", Usage(), ErrorKind.INFRA_ERROR, f"{error.filename or 'box'}: {error.strerror}")
        verdict = conclude(heard, end, gateway.account, skills, stderr)
        ended = self._end(session, heard, end, gateway.account, verdict, before, output)
        return ended if recorder is None else replace(ended, recording=recorder.text())

    def _hear(self, output: bytes, home: Path, skills: frozenset[str]) -> Heard:
        """Read what the program said; whatever it said, it cannot stop evolve."""
        try:
            heard = self.adapter.read(output, home, skills)
        except (TypeError, ValueError, AttributeError, KeyError, LookupError, OverflowError, RecursionError) as error:
            return Heard(started=True, finished=True, unreadable=f"{type(error).__name__}: {error}"[:STDERR_CHARS])
        return replace(heard, reply=heard.reply.encode("utf-8", errors="replace").decode("utf-8"))

    def _end(
        self,
        session: Session,
        heard: Heard,
        end: BoxEnd,
        account: Account,
        verdict: Verdict,
        before: str,
        output: bytes,
    ) -> SessionEnd:
        usage = self._usage(heard, end, account)
        transcript = output.decode("utf-8", errors="replace")
        if verdict.kind is None and session.task.kind == "answer":
            write_fresh(session.work / ANSWER_FILE, heard.reply)
        elif verdict.kind is None and _digest_or_none(session.work) == before:
            verdict = Verdict(ErrorKind.NO_WORK_PRODUCED, "it changed no file")
        return SessionEnd(heard.reply, usage, verdict.kind, verdict.detail, verdict.refused, transcript)

    def _usage(self, heard: Heard, end: BoxEnd, account: Account) -> Usage:
        """Return what was used: by the agent's own account, or by the gateway's where that knows of more."""
        seen = account.tokens if account.exchanges and account.complete and account.tokens.sound else None
        told = heard.tokens if heard.tokens is not None and heard.tokens.sound else None
        tokens = max((one for one in (told, seen) if one is not None), key=lambda one: one.input, default=None)
        known = tokens or Tokens()
        ours = all(exchange.model == self.settings.get("model") for exchange in account.exchanges)
        return Usage(
            input_tokens=None if tokens is None else known.input,
            cached_input_tokens=None if tokens is None else known.cached,
            cache_write_5m_tokens=None if tokens is None else known.cache_write_5m,
            cache_write_1h_tokens=None if tokens is None else known.cache_write_1h,
            output_tokens=None if tokens is None else known.output,
            reasoning_tokens=None if tokens is None else known.reasoning,
            api_calls=len(account.answered),
            turns=heard.turns,
            tool_calls=heard.tool_calls,
            cost_usd_micros=None if tokens is None or not ours else cost_micros(self.price, tokens),
            session_ms=round(end.wall_s * 1000),
            api_ms=heard.api_ms,
        )

    def _cost(self, model: str, tokens: Tokens) -> int | None:
        return cost_micros(self.price, tokens) if model == self.settings.get("model") else None

    def worst_cost_micros(self, limits: Limits, prompt_bytes: int) -> int | None:
        """Return the money limit of a session: the gateway makes no call that could pass it."""
        return self.limits.usd_micros

    def close(self) -> None:
        """Hold nothing."""


def _longest_line(skill: Path) -> str:
    """Return the line by which a skill's body is told in what is sent to the model."""
    try:
        text = (skill / SKILL_FILE).read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ""
    body = split_frontmatter(text)[1]
    return max(body.splitlines(), key=len, default="").strip()


def _digest_or_none(work: Path) -> str | None:
    try:
        return foreign_tree_digest(work)
    except EvolveError:
        return None


def _last_words(path: Path) -> str:
    text = (read_below(path.parent, path.name, LARGEST_OUTPUT) or b"")[-4096:].decode("utf-8", errors="replace")
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[-STDERR_CHARS:]

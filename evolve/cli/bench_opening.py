"""Opening the bench of a workspace: its instruments tested, its models found."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from evolve.agents.base import Agent
from evolve.agents.build import build_agent
from evolve.bench.ground import Grounds
from evolve.bench.measure import Bench
from evolve.bench.progress import Progress
from evolve.bench.runner import RunOptions
from evolve.bench.tapes import Tapes
from evolve.cli.progress import progress_for
from evolve.corpus.checked import check_unchecked
from evolve.corpus.loading import load_corpus
from evolve.corpus.selftest import InstrumentFault
from evolve.errors import InputError
from evolve.models.base import ChatModel
from evolve.models.build import build_model
from evolve.promote.keys import signing_key
from evolve.promote.recovery import refuse_unfinished
from evolve.records.agent import AgentSpec
from evolve.sandbox.box_preflight import find_box
from evolve.sandbox.choose import UNSAFE_HOST_NOTE, Uncontainable, choose_sandbox, require_containment
from evolve.sandbox.host_box import HostBox
from evolve.workspace import Workspace


class Models:
    """The models of a workspace, each built once."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._built: dict[str, ChatModel] = {}

    def get(self, name: str) -> ChatModel:
        """Return a model by the name it has in ``evolve.yaml``."""
        if name not in self._built:
            self._built[name] = build_model(self._workspace.spec, name, self._workspace.root)
        return self._built[name]

    def proposer(self) -> ChatModel:
        """Return the model that reflects.

        Raises:
            InputError: A program reflects, and no model.

        """
        name = self._workspace.spec.proposer.model
        if name is None:
            raise InputError("evolve.yaml: proposer.model: there is none; a program reflects", code="no-model")
        return self.get(name)

    def close(self) -> None:
        """Close all of them."""
        for model in self._built.values():
            model.close()


@contextlib.contextmanager
def opened_bench(
    workspace: Workspace, *, as_json: bool, options: RunOptions | None = None
) -> Iterator[tuple[Bench, Models]]:
    """Open the bench: read everything, test the instruments, find the model; nothing is paid for.

    Raises:
        InputError: Something in the workspace is invalid, or an instrument does not work.
        EnvironmentFault: The model or the sandbox is missing.

    """
    progress: Progress = progress_for(as_json=as_json)
    signing_key()  # a key that cannot be used is told now, and not when the evidence is paid for
    options = options or RunOptions()
    refuse_unfinished(workspace)
    corpus = load_corpus(workspace.corpus, expensive=options.include_expensive)
    skills = workspace.skills()
    policy = workspace.policy()
    sandbox = choose_sandbox(unsafe_host=options.unsafe_host)
    if options.unsafe_host:
        progress.note(f"WARNING: {UNSAFE_HOST_NOTE}")
        if not isinstance(choose_sandbox(), Uncontainable):
            progress.note("bubblewrap works here: without --unsafe-host everything is contained")
    require_containment(sandbox, needed=any(task.needs_containment for task in corpus.at_hand))
    box = HostBox() if options.unsafe_host else None
    grounds = Grounds(workspace, corpus, HostBox if options.unsafe_host else find_box, progress.note)
    remembered = workspace.sweeps.parent / ".checked.json"
    faults, tested = check_unchecked(corpus, skills, sandbox, remembered, grounds.lay)
    refuse_broken_instruments(faults)
    if tested:
        progress.note(f"tested the instruments: {tested} tasks, all good")
    models = Models(workspace)

    def build(spec: AgentSpec) -> Agent:
        replayed = getattr(spec, "replay", None)
        tapes = Tapes(workspace.sweeps / replayed).find if replayed else None
        return build_agent(workspace.spec, spec, workspace.root, models.get, tapes, box)

    try:
        agent = build(workspace.spec.agent)
        yield Bench(workspace, corpus, policy, agent, sandbox, progress, options, build, grounds), models
    finally:
        models.close()


def refuse_broken_instruments(faults: list[InstrumentFault]) -> None:
    """Refuse to measure with checks that cannot be trusted.

    Raises:
        InputError: There is at least one fault; the first few are named.

    """
    if not faults:
        return
    shown = "\n".join(f"  {fault.task}: {fault.text}" for fault in faults[:5])
    more = f"\n  and {len(faults) - 5} more" if len(faults) > 5 else ""
    raise InputError(
        f"{len(faults)} broken instruments, nothing was measured:\n{shown}{more}",
        hint="evolve check lists them all",
        code="broken-instrument",
    )

"""Whether this machine can do what a workspace asks of it, and how to mend what it cannot."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from evolve.errors import EvolveError, InputError
from evolve.promote.keys import KEY_FILE_VARIABLE, signing_key
from evolve.records.agent import AgentSpec, ChatAgentSpec, ProgramSpec
from evolve.records.policy import Signatures
from evolve.records.workspace import HttpModelSpec, WorkspaceSpec
from evolve.sandbox.choose import Uncontainable, choose_sandbox
from evolve.workspace import POLICY_FILE, Workspace, find_workspace

MIN_FREE_BYTES = 2 * 1024**3


@dataclass(frozen=True)
class Diagnosis:
    """One thing that was looked at; ``required`` ones make the machine unfit when they fail."""

    what: str
    fine: bool
    found: str
    fix: str = ""
    required: bool = True


def _python() -> Diagnosis:
    found = platform.python_version()
    return Diagnosis("python", sys.version_info >= (3, 11), found, "use Python 3.11 or newer")


def _git() -> Diagnosis:
    executable = shutil.which("git")
    if executable is None:
        return Diagnosis("git", False, "not installed", "apt install git")
    version = subprocess.run([executable, "--version"], capture_output=True, text=True, check=False)
    return Diagnosis("git", version.returncode == 0, version.stdout.strip())


def _containment() -> Diagnosis:
    sandbox = choose_sandbox()
    if isinstance(sandbox, Uncontainable):
        fix = "apt install bubblewrap; without it no model-written code is run, but with --unsafe-host"
        return Diagnosis("containment", False, sandbox.reason, fix, required=False)
    found = f"{sandbox.name}: seen to deny files, writes, network and environment"
    return Diagnosis("containment", True, found)


def _disk(folder: Path) -> Diagnosis:
    free = shutil.disk_usage(folder).free
    return Diagnosis("disk", free >= MIN_FREE_BYTES, f"{free / 1024**3:.1f} GiB free", "free some space", False)


def _workspace(start: Path) -> tuple[Diagnosis, Workspace | None]:
    try:
        workspace = find_workspace(start)
        workspace.policy()
        count = len(workspace.skills())
    except EvolveError as error:
        there = error.code != "no-workspace"
        return Diagnosis("workspace", False, error.message, error.hint or "evolve check", required=there), None
    return Diagnosis("workspace", True, f"{workspace.root}: {count} skills"), workspace


def _model(workspace: Workspace, name: str) -> Diagnosis:
    what = f"model {name}"
    spec = workspace.spec.models[name]
    if isinstance(spec, HttpModelSpec):
        missing = spec.key_env is not None and not os.environ.get(spec.key_env)
        key = f"the variable {spec.key_env} is {'empty' if missing else 'set'}" if spec.key_env else "no key needed"
        return Diagnosis(what, not missing, f"{spec.model} at {spec.base_url}; {key}", f"export {spec.key_env}=...")
    return _local_model(workspace, name, spec.weights)


def _local_model(workspace: Workspace, name: str, weights: str) -> Diagnosis:
    from evolve.models.build import build_model
    from evolve.models.processor import read_processor

    what = f"model {name}"
    lacking = read_processor().lacks("avx2", "fma")
    if lacking:
        return Diagnosis(what, False, f"the processor lacks {' and '.join(lacking)}", "use an HTTP model")
    try:
        model = build_model(workspace.spec, name, workspace.root)
        found = f"{weights}: installed, runtime {model.identity.get('runtime')}"
    except InputError as error:
        return Diagnosis(what, False, error.message, error.hint or "")
    except EvolveError as error:
        return Diagnosis(what, False, error.message, error.hint or f"evolve models install {weights}")
    return Diagnosis(what, True, found)


def _program(name: str, spec: ProgramSpec, workspace: Workspace) -> list[Diagnosis]:
    from evolve.agents.adapter import find_program, located
    from evolve.agents.build import declared_well
    from evolve.sandbox.box_preflight import find_box

    root, prices = workspace.root, workspace.spec.prices
    variable = spec.upstream.key_env
    missing = variable is not None and not os.environ.get(variable)
    key = f"the variable {variable} is {'not set' if missing else 'set'}" if variable else "no key needed"
    found = [Diagnosis(f"{name} key", not missing, key, f"export {variable}=...")]
    looks: dict[str, Callable[[], str]] = {
        name: lambda: f"{find_program(located(root, spec.binary), spec.version).path}, version {spec.version}",
        f"{name} containment": lambda: f"{find_box().name}: seen to deny files, writes, network and survivors",
    }
    looks[f"{name} declaration"] = lambda: declared_well(spec, root, prices)
    for what, look in looks.items():
        try:
            found.append(Diagnosis(what, True, look()))
        except EvolveError as error:
            found.append(Diagnosis(what, False, error.message, error.hint or ""))
    return found


def _signing(demanded: Signatures) -> list[Diagnosis]:
    """Look at the key that evidence is signed with, and whether it does for what the policy demands.

    Only a key that cannot be used is a fault: others may sign, elsewhere and later.
    """
    what, policy = "signing key", f"promotion/{POLICY_FILE}"
    try:
        key = signing_key()
    except EvolveError as error:
        return [Diagnosis(what, False, error.message, error.hint or "")]
    known = key is not None and key.public_text in demanded.keys
    if key is None:
        found = [Diagnosis(what, True, "none; evidence is written unsigned (evolve key new makes one)")]
    elif known:
        found = [Diagnosis(what, True, f"usable; {policy} trusts its public key {key.public_text}")]
    else:
        fix = f"add the public key to signatures: keys: in {policy}"
        text = f"usable; {policy} does not trust its public key {key.public_text}"
        found = [Diagnosis(what, not demanded.keys, text, fix, required=False)]
    if demanded.required:
        found.append(_demand(demanded, able=int(known)))
    return found


def _demand(demanded: Signatures, *, able: int) -> Diagnosis:
    """Look whether the signatures that are demanded can be made here."""
    missing = demanded.required - able
    found = f"{demanded.required} required, of {len(demanded.keys)} trusted keys; {able} can be made here"
    fix = "evolve sign EVIDENCE before it is promoted, with another of these keys"
    if not able:
        fix = f"export {KEY_FILE_VARIABLE}=FILE of a trusted key; or {fix}"
    return Diagnosis("signatures", missing <= 0, found, fix, required=False)


def diagnose(start: Path) -> list[Diagnosis]:
    """Look at everything a generation needs; nothing is changed and nothing is paid for."""
    found, workspace = _workspace(start)
    diagnoses = [_python(), _git(), _containment(), _disk(start), found]
    if workspace is not None:
        diagnoses += _signing(workspace.policy().signatures)
        agents, unfit = _agents(workspace.spec)
        names = [agent.model for agent in agents.values() if isinstance(agent, ChatAgentSpec)]
        names += [workspace.spec.proposer.model] if workspace.spec.proposer.model is not None else []
        diagnoses += [_model(workspace, name) for name in dict.fromkeys(names)]
        for what, agent in agents.items():
            if not isinstance(agent, ChatAgentSpec):
                diagnoses += _program(what, agent, workspace)
        diagnoses += unfit
    return diagnoses


def _agents(spec: WorkspaceSpec) -> tuple[dict[str, AgentSpec], list[Diagnosis]]:
    """Return the agents of the pair and of every declared comparator, and the comparators that cannot be made."""
    agents: dict[str, AgentSpec] = {"agent": spec.agent}
    if spec.proposer.agent is not None:
        agents["proposer.agent"] = spec.proposer.agent
    unfit = []
    for name in dict.fromkeys([*spec.arms, *spec.rivals, *spec.required]):
        try:
            agents[f"arm {name}"] = spec.agent_of(name)
        except ValueError as error:
            unfit.append(Diagnosis(f"arm {name}", False, str(error), "see arms and rivals in evolve.yaml"))
    return agents, unfit

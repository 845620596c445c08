"""Building the agent that ``evolve.yaml`` declares."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evolve.agents.base import Agent
from evolve.agents.chat import ChatAgent
from evolve.errors import EnvironmentFault, InputError
from evolve.models.base import ChatModel
from evolve.models.build import price_of
from evolve.records.agent import AgentSpec, ChatAgentSpec, CommandSpec, ProgramSpec
from evolve.records.prices import TokenPrice
from evolve.records.workspace import WorkspaceSpec
from evolve.redact import register_secret

if TYPE_CHECKING:
    from evolve.agents.adapter import Adapter
    from evolve.agents.contained import TapeOf
    from evolve.agents.phases import Phase
    from evolve.sandbox.box import Box

# The agent's own idle limit comes first: what it reaches is its end, not the provider's.
SLACK_S = 60
NOT_SETTINGS = {"adapter", "binary", "install", "version", "upstream", "price", "record", "skills", "plugins", "phases"}


def build_agent(
    workspace: WorkspaceSpec,
    spec: AgentSpec,
    root: Path,
    model: Callable[[str], ChatModel],
    tapes: TapeOf | None = None,
    box: Box | None = None,
) -> Agent:
    """Return an agent of a workspace; a program is found and its containment proven before anything is spent.

    Args:
        workspace: The workspace.
        spec: The agent: that of the workspace, or that of an arm.
        root: Its folder, to which paths are relative.
        model: Builds a model of ``models`` by its name.
        tapes: Finds the recording of a cell, where the agent is to be replayed.
        box: Where programs run; by default one that was seen to contain.

    Raises:
        InputError: A money limit cannot be kept, because nobody knows the price of the model.
        EnvironmentFault: The program, the key or the containment is missing.

    """
    if isinstance(spec, ChatAgentSpec):
        price = price_of(workspace, spec.model)
        return ChatAgent(model(spec.model), temperature=spec.temperature, price=price, append=spec.append)
    return _build_program(spec, root, tapes, workspace.prices, box)


def _adapter(spec: ProgramSpec, root: Path) -> Adapter:
    from evolve.agents.adapter import located_folder
    from evolve.agents.claude_code import ClaudeCode
    from evolve.agents.codex import Codex
    from evolve.agents.command import Command

    if isinstance(spec, CommandSpec):
        return Command(spec, located_folder(root, spec.install, "agent.install"))
    known: dict[str, Callable[[ProgramSpec], Adapter]] = {"claude-code": ClaudeCode, "codex": Codex}
    if spec.adapter not in known:
        names = ", ".join(["chat", "command", *known])
        raise InputError(f"evolve.yaml: agent.adapter: {spec.adapter!r} is none of {names}", code="no-adapter")
    return known[spec.adapter](spec)


def _phases(spec: ProgramSpec, root: Path) -> tuple[Phase, ...]:
    """Return the phases of a cell, each with an adapter that asks for its own tools and turns."""
    from evolve.agents.adapter import located_file
    from evolve.agents.phases import SHIPPED, Phase, check_templates, shipped_template
    from evolve.sandbox.gateway.account import SessionLimits

    phases = []
    for phase in spec.flow:
        own = {name: getattr(phase, name) for name in ("tools", "denied_tools", "max_turns")}
        changes = {name: value for name, value in own.items() if value is not None}
        adapter = _adapter(spec.model_copy(update=changes), root)
        if (unfit := adapter.unfit()) is not None:
            raise InputError(f"evolve.yaml: agent.{unfit}", code="unfit-agent")
        usd = phase.max_usd if phase.max_usd is not None else spec.max_usd
        limits = SessionLimits(phase.max_calls or spec.max_calls, None if usd is None else round(usd * 1_000_000))
        shipped, where = phase.template in SHIPPED, f"phases.{phase.name}.template"
        template = shipped_template(phase.template) if shipped else located_file(root, phase.template, where)
        phases.append(Phase(phase, adapter, limits, template))
    check_templates(phases)
    return tuple(phases)


def _beside(spec: ProgramSpec, root: Path) -> dict[str, Path]:
    """Return the folders of tool servers and plugins, by their path inside."""
    from evolve.agents.adapter import located_folder
    from evolve.agents.claude_code import mcp_path, plugin_path

    servers = {
        mcp_path(name): located_folder(root, server.folder, f"agent.mcp.{name}.folder")
        for name, server in spec.mcp.items()
        if server.folder is not None
    }
    plugins = {
        plugin_path(number): located_folder(root, folder, "agent.plugins") for number, folder in enumerate(spec.plugins)
    }
    return {**servers, **plugins}


def _settings(spec: ProgramSpec, root: Path, phases: tuple[Phase, ...], mounts: Mapping[str, Path]) -> dict[str, Any]:
    """Return all of a declaration that can influence an outcome, templates and mounted folders by their content."""
    from evolve.agents.adapter import located_folder
    from evolve.digest import foreign_tree_digest, sha256_bytes, stat_digest

    found = {name: value for name, value in spec.json_value().items() if name not in NOT_SETTINGS}
    found["phases"] = [
        {**phase.spec.json_value(), "template_sha256": sha256_bytes(phase.template.encode())} for phase in phases
    ]
    found["mounted"] = {inside: foreign_tree_digest(folder) for inside, folder in mounts.items()}
    if isinstance(spec, CommandSpec):
        found["install_sha256"] = stat_digest(located_folder(root, spec.install, "agent.install"))
    return found


def _price(spec: ProgramSpec, phases: tuple[Phase, ...], prices: Mapping[str, TokenPrice]) -> TokenPrice | None:
    """Return what the model charges, if anybody knows; a limit of money needs it."""
    from evolve.agents.prices import price_table

    price = spec.price or prices.get(spec.model) or price_table().models.get(spec.model)
    if price is None and any(phase.limits.usd_micros is not None for phase in phases):
        raise InputError(
            f"evolve.yaml: agent.max_usd: the price of {spec.model} is not known",
            hint="say it in prices (input_usd, output_usd), or set max_usd: null",
            code="unknown-price",
        )
    return price


def _build_program(
    spec: ProgramSpec, root: Path, tapes: TapeOf | None, prices: Mapping[str, TokenPrice], box: Box | None
) -> Agent:
    from evolve.agents.adapter import find_program, located
    from evolve.agents.contained import ContainedAgent
    from evolve.sandbox.box_preflight import find_box
    from evolve.sandbox.gateway.account import Upstream

    phases = _phases(spec, root)
    price = _price(spec, phases, prices)
    mounts = _beside(spec, root)
    return ContainedAgent(
        name=spec.adapter,
        phases=phases,
        program=find_program(located(root, spec.binary), spec.version),
        box=box or find_box(),
        upstream=Upstream(
            spec.upstream.base_url, key="" if tapes else _key(spec.upstream.key_env), idle_s=spec.idle_s + SLACK_S
        ),
        settings={**_settings(spec, root, phases, mounts), "price": None if price is None else price.json_value()},
        price=price,
        idle_s=spec.idle_s,
        append=spec.append,
        mounts=mounts,
        record=spec.record,
        tapes=tapes,
    )


def declared_well(spec: ProgramSpec, root: Path, prices: Mapping[str, TokenPrice]) -> str:
    """See that a declaration can be kept: phases, templates, tool servers, plugins; return what it comes to.

    Raises:
        EvolveError: It cannot; the message names the field.

    """
    phases, mounts = _phases(spec, root), _beside(spec, root)
    _price(spec, phases, prices)
    names = " then ".join(phase.spec.name for phase in phases)
    return f"{spec.model}; {names}" + (f"; {len(mounts)} folders mounted beside" if mounts else "")


def _key(variable: str | None) -> str:
    if variable is None:
        return ""
    value = os.environ.get(variable, "")
    if not value:
        raise EnvironmentFault(
            f"evolve.yaml: agent.upstream.key_env: the variable {variable} is not set",
            hint=f"export {variable}=…",
            code="missing-key",
        )
    register_secret(value)
    return value

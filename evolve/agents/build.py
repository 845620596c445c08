"""Building the agent that ``evolve.yaml`` declares."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

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
    from evolve.agents.contained import Adapter, TapeOf

# The agent's own idle limit comes first: what it reaches is its end, not the provider's.
SLACK_S = 60
NOT_SETTINGS = {"adapter", "binary", "install", "version", "upstream", "price", "record"}


def build_agent(
    workspace: WorkspaceSpec,
    spec: AgentSpec,
    root: Path,
    model: Callable[[str], ChatModel],
    tapes: TapeOf | None = None,
) -> Agent:
    """Return an agent of a workspace; a program is found and its containment proven before anything is spent.

    Args:
        workspace: The workspace.
        spec: The agent: that of the workspace, or that of an arm.
        root: Its folder, to which paths are relative.
        model: Builds a model of ``models`` by its name.
        tapes: Finds the recording of a cell, where the agent is to be replayed.

    Raises:
        InputError: A money limit cannot be kept, because nobody knows the price of the model.
        EnvironmentFault: The program, the key or the containment is missing.

    """
    if isinstance(spec, ChatAgentSpec):
        price = price_of(workspace, spec.model)
        return ChatAgent(model(spec.model), temperature=spec.temperature, price=price, append=spec.append)
    return _build_program(spec, root, tapes, workspace.prices)


def _adapter(spec: ProgramSpec, root: Path) -> Adapter:
    from evolve.agents.claude_code import ClaudeCode
    from evolve.agents.codex import Codex
    from evolve.agents.command import Command
    from evolve.agents.contained import located

    if isinstance(spec, CommandSpec):
        install = (root / located(root, spec.install)).resolve() if "\0" not in spec.install else Path()
        if not install.is_dir() or "\0" in spec.install:
            raise EnvironmentFault(
                f"evolve.yaml: agent.install: {spec.install!r}: no such folder", code="missing-agent"
            )
        return Command(spec, install)
    known: dict[str, Callable[[ProgramSpec], Adapter]] = {"claude-code": ClaudeCode, "codex": Codex}
    if spec.adapter not in known:
        names = ", ".join(["chat", "command", *known])
        raise InputError(f"evolve.yaml: agent.adapter: {spec.adapter!r} is none of {names}", code="no-adapter")
    return known[spec.adapter](spec)


def _build_program(spec: ProgramSpec, root: Path, tapes: TapeOf | None, prices: Mapping[str, TokenPrice]) -> Agent:
    from evolve.agents.contained import ContainedAgent, find_program, located
    from evolve.agents.prices import price_table
    from evolve.sandbox.box_preflight import find_box
    from evolve.sandbox.gateway.account import SessionLimits, Upstream

    adapter = _adapter(spec, root)
    if (unfit := adapter.unfit()) is not None:
        raise InputError(f"evolve.yaml: agent.{unfit}", code="unfit-agent")
    price = spec.price or prices.get(spec.model) or price_table().models.get(spec.model)
    if price is None and spec.max_usd is not None:
        raise InputError(
            f"evolve.yaml: agent.max_usd: the price of {spec.model} is not known",
            hint="say it in prices (input_usd, output_usd), or set agent.max_usd: null",
            code="unknown-price",
        )
    return ContainedAgent(
        adapter=adapter,
        program=find_program(located(root, spec.binary), spec.version),
        box=find_box(),
        upstream=Upstream(
            spec.upstream.base_url, key="" if tapes else _key(spec.upstream.key_env), idle_s=spec.idle_s + SLACK_S
        ),
        limits=SessionLimits(spec.max_calls, None if spec.max_usd is None else round(spec.max_usd * 1_000_000)),
        settings={name: value for name, value in spec.json_value().items() if name not in NOT_SETTINGS},
        price=price,
        idle_s=spec.idle_s,
        record=spec.record,
        tapes=tapes,
    )


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

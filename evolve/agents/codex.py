"""Codex, headless: ``codex exec --json`` with a private home that holds its configuration and the skills."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evolve.agents.adapter import Ask, Treatment
from evolve.agents.claude_code import MAX_TRANSCRIPT, events_of, mcp_servers, servers_unfit
from evolve.agents.heard import Heard
from evolve.hostile import files_below, read_below
from evolve.records.agent import ProgramSpec
from evolve.sandbox.box import HOME, WORK
from evolve.sandbox.gateway.meter import Tokens, openai_tokens

CONFIG_FOLDER = ".codex"
SKILLS_PATH = f"{HOME}/.agents/skills"
# What Codex loads from a workspace on its own, trusted or not.
FOREIGN_FILES = ("AGENTS.md", "AGENTS.override.md", ".agents", ".codex")


@dataclass(frozen=True)
class Codex:
    """How Codex is asked, and how its answer is read."""

    spec: ProgramSpec
    name = "codex"
    proves_skill_use = False
    executable = "/opt/agent/codex"

    def unfit(self) -> str | None:
        """Return what of the declaration cannot be kept."""
        spec = self.spec
        given = [name for name in ("tools", "max_turns") if getattr(spec, name) is not None]
        given += [name for name in ("denied_tools", "plugins") if getattr(spec, name)]
        if given:
            return f"{given[0]}: this program cannot be given it; max_calls limits a session"
        if spec.delivery == "plugin":
            return "delivery: this program takes no plugins; skill or append"
        return servers_unfit(spec)

    @property
    def pastes_skills(self) -> bool:
        """Whether skills are pasted into the system prompt."""
        return self.spec.delivery == "append"

    def argv(self, ask: Ask) -> tuple[str, ...]:
        """Return the command; the prompt comes on standard input."""
        at = ask.places.at
        argv = [at(self.executable), "exec", "--json", "--skip-git-repo-check", "--ignore-rules", "-C", at(WORK)]
        # The box contains the whole process; Codex's own sandbox inside it would only hide its denials.
        argv += ["--dangerously-bypass-approvals-and-sandbox"]
        argv += ["--disable", "plugins", "--disable", "apps", "--disable", "remote_plugin"]
        return (*argv, "-")

    def env(self, ask: Ask) -> Mapping[str, str]:
        """Return the environment, with a token that is worth nothing outside of this session."""
        return {"CODEX_HOME": ask.places.at(f"{HOME}/{CONFIG_FOLDER}"), "GATEWAY_TOKEN": ask.token}

    def treat(self, ask: Ask, skills: Path, scratch: Path, home: Path) -> Treatment:
        """Write the configuration; the skills are mounted read-only into the home."""
        folder = home / CONFIG_FOLDER
        folder.mkdir(parents=True)
        (folder / "config.toml").write_text(self._config(ask), encoding="utf-8")
        return Treatment() if self.pastes_skills else Treatment({SKILLS_PATH: skills})

    def _config(self, ask: Ask) -> str:
        effort = f"model_reasoning_effort = {toml(self.spec.effort)}\n" if self.spec.effort else ""
        append = f"developer_instructions = {toml(ask.appended)}\n" if ask.appended else ""
        return f"""\
model = {toml(self.spec.model)}
{effort}{append}model_provider = "gateway"
check_for_update_on_startup = false
web_search = "disabled"
[analytics]
enabled = false
[shell_environment_policy]
inherit = "core"
[model_providers.gateway]
name = "gateway"
base_url = "{ask.places.gateway}/v1"
wire_api = "responses"
env_key = "GATEWAY_TOKEN"
request_max_retries = 0
stream_max_retries = 0
stream_idle_timeout_ms = 120000
{self._servers(ask)}"""

    def _servers(self, ask: Ask) -> str:
        """Return the declared tool servers; one that does not start ends the session."""
        text = ""
        for name, server in mcp_servers(self.spec, ask).items():
            env = ", ".join(f"{toml(key)} = {toml(value)}" for key, value in server["env"].items())
            text += f"[mcp_servers.{name}]\ncommand = {toml(server['command'])}\nrequired = true\n"
            text += f"args = [{', '.join(toml(part) for part in server['args'])}]\nenv = {{{env}}}\n"
        return text

    def read(self, output: bytes, home: Path, skills: frozenset[str]) -> Heard:
        """Read the events of a session; without usage in them, what it used is read from its rollout file."""
        started = finished = False
        reply, failure, tokens = "", None, None
        used: set[str] = set()
        tool_calls = turns = 0
        for event in events_of(output):
            kind = event.get("type")
            if kind == "thread.started":
                started = True
            elif kind == "item.completed" and isinstance(event.get("item"), dict):
                item = event["item"]
                reply = str(item.get("text") or "") if item.get("type") == "agent_message" else reply
                tool_calls += item.get("type") in ("command_execution", "file_change", "mcp_tool_call", "web_search")
                used |= {skill for skill in skills if _reads_skill(item, skill)}
            elif kind == "turn.completed":
                finished, turns = True, turns + 1
                tokens = _usage_tokens(event.get("usage"))
            elif kind == "turn.failed":
                error = event.get("error")
                failure = str(error.get("message")) if isinstance(error, dict) else "the turn failed"
        return Heard(
            started=started,
            finished=finished,
            reply=reply,
            failure=failure,
            skills_used=frozenset(used),
            tokens=tokens or _rollout_tokens(home),
            turns=turns or None,
            tool_calls=tool_calls,
        )

    def refuses(self, work: Path) -> str | None:
        """Return what in a task's folder Codex would load on its own, which cannot be switched off."""
        found = [name for name in FOREIGN_FILES if (work / name).exists()]
        return f"the task holds {', '.join(found)}, which Codex would load" if found else None


def toml(text: str) -> str:
    """Return a string as TOML writes it: as JSON does, but for one character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _reads_skill(item: dict[str, Any], skill: str) -> bool:
    """Whether a command has read a skill's file; Codex has no tool for skills."""
    if item.get("type") != "command_execution" or item.get("exit_code") != 0:
        return False
    return f"{skill}/SKILL.md" in str(item.get("command"))


def _usage_tokens(usage: Any) -> Tokens | None:
    if not isinstance(usage, dict):
        return None
    return openai_tokens(
        {
            **usage,
            "input_tokens_details": {"cached_tokens": usage.get("cached_input_tokens")},
            "output_tokens_details": {"reasoning_tokens": usage.get("reasoning_output_tokens")},
        }
    )


def _rollout_tokens(home: Path) -> Tokens | None:
    """Return the last total of the rollout file, which outlives a kill."""
    total = None
    for path in files_below(home, ".jsonl"):
        if not path.startswith(f"{CONFIG_FOLDER}/sessions/"):
            continue
        for record in events_of(read_below(home, path, MAX_TRANSCRIPT) or b""):
            payload = record.get("payload")
            if isinstance(payload, dict) and payload.get("type") == "token_count":
                info = payload.get("info")
                usage = info.get("total_token_usage") if isinstance(info, dict) else None
                total = _usage_tokens(usage) or total
    return total

"""Codex, headless: ``codex exec --json`` with a private home that holds its configuration and the skills."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evolve.agents.claude_code import MAX_TRANSCRIPT, events_of
from evolve.agents.contained import Treatment
from evolve.agents.heard import Heard
from evolve.hostile import files_below, read_below
from evolve.records.agent import ProgramSpec
from evolve.sandbox.box import HOME, PORT, WORK
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
        given = [name for name in ("tools", "max_turns") if getattr(self.spec, name) is not None]
        return f"{given[0]}: this program cannot be given it; max_calls limits a session" if given else None

    def argv(self) -> tuple[str, ...]:
        """Return the command; the prompt comes on standard input."""
        argv = [self.executable, "exec", "--json", "--skip-git-repo-check", "--ignore-rules", "-C", WORK]
        # The box contains the whole process; Codex's own sandbox inside it would only hide its denials.
        argv += ["--dangerously-bypass-approvals-and-sandbox"]
        argv += ["--disable", "plugins", "--disable", "apps", "--disable", "remote_plugin"]
        return (*argv, "-")

    def env(self, token: str) -> Mapping[str, str]:
        """Return the environment, with a token that is worth nothing outside of this session."""
        return {"CODEX_HOME": f"{HOME}/{CONFIG_FOLDER}", "GATEWAY_TOKEN": token}

    def treat(self, skills: Path, scratch: Path, home: Path) -> Treatment:
        """Write the configuration; the skills are mounted read-only into the home."""
        folder = home / CONFIG_FOLDER
        folder.mkdir(parents=True)
        (folder / "config.toml").write_text(self._config(), encoding="utf-8")
        return Treatment({SKILLS_PATH: skills})

    def _config(self) -> str:
        effort = f"model_reasoning_effort = {json.dumps(self.spec.effort)}\n" if self.spec.effort else ""
        return f"""\
model = {json.dumps(self.spec.model)}
{effort}model_provider = "gateway"
check_for_update_on_startup = false
[analytics]
enabled = false
[shell_environment_policy]
inherit = "core"
[model_providers.gateway]
name = "gateway"
base_url = "http://127.0.0.1:{PORT}/v1"
wire_api = "responses"
env_key = "GATEWAY_TOKEN"
request_max_retries = 0
stream_max_retries = 0
stream_idle_timeout_ms = 120000
"""

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

"""Claude Code, headless: ``claude -p --output-format stream-json`` with a plugin folder that holds the skills."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evolve.agents.adapter import Ask, Treatment
from evolve.agents.heard import Heard
from evolve.hostile import as_count, files_below, read_below
from evolve.records.agent import ProgramSpec
from evolve.sandbox.box import HOME
from evolve.sandbox.gateway.meter import Tokens, anthropic_tokens

PLUGIN, PLUGIN_PATH = "skills", "/box/skills"
SKILL_ROOT, APPENDED = f"{HOME}/.claude/skills", f"{HOME}/appended.md"
TOOLS, TURNS = ("Bash", "Read", "Write", "Edit", "Glob", "Grep", "Skill"), 50
FAMILIES = frozenset({"sonnet", "opus", "haiku", "opusplan"})
BUILT_IN_SKILLS = frozenset({"doctor", "plugin-authoring"})
LIMITS = {"error_max_turns": "its limit of turns (max_turns)", "error_max_budget_usd": "its limit of money"}
MAX_TRANSCRIPT = 64 * 1024 * 1024
MANIFEST = json.dumps({"name": PLUGIN, "version": "1.0.0", "description": "Skills of this project."})


def events_of(output: bytes) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of an output, one a line; other lines are passed over."""
    for line in output.split(b"\n"):
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield value


def model_usage_tokens(usage: Any) -> Tokens | None:
    """Add up ``modelUsage``, which counts the whole session tree, subagents included."""
    if not isinstance(usage, dict) or not usage:
        return None
    total = Tokens()
    for used in usage.values():
        if not isinstance(used, dict):
            return None
        total += anthropic_tokens(
            {
                "input_tokens": used.get("inputTokens"),
                "cache_read_input_tokens": used.get("cacheReadInputTokens"),
                "cache_creation_input_tokens": used.get("cacheCreationInputTokens"),
                "cache_creation": {"ephemeral_1h_input_tokens": used.get("cacheCreationEphemeral1hInputTokens")},
                "output_tokens": used.get("outputTokens"),
                "output_tokens_details": {"thinking_tokens": used.get("thinkingTokens")},
            }
        )
    return total


@dataclass(frozen=True)
class ClaudeCode:
    """How Claude Code is asked, and how its answer is read."""

    spec: ProgramSpec
    name = "claude-code"
    proves_skill_use = True
    executable = "/opt/agent/claude"

    def unfit(self) -> str | None:
        """Return what of the declaration cannot be kept."""
        if self.spec.model in FAMILIES or "[" in self.spec.model:
            return f"model: {self.spec.model!r} means another model tomorrow; give the full name"
        for tool in self.spec.denied_tools:
            if tool.partition("(")[0] not in self._tools and not tool.startswith("mcp__"):
                return f"denied_tools: {tool!r} is none of the tools that it is given: {', '.join(self._tools)}"
        if (
            self.spec.skills
            and not self.pastes_skills
            and "Skill" not in set(self._tools) - set(self.spec.denied_tools)
        ):
            return "tools: without the tool Skill no skill can be used"
        return servers_unfit(self.spec)

    def refuses(self, work: Path) -> str | None:
        """Refuse no task: nothing of a workspace is loaded."""
        return None

    @property
    def pastes_skills(self) -> bool:
        """Whether skills are pasted into the system prompt."""
        return self.spec.delivery == "append"

    @property
    def _tools(self) -> tuple[str, ...]:
        if self.spec.tools is not None:
            return self.spec.tools
        return tuple(tool for tool in TOOLS if tool != "Skill") if self.pastes_skills else TOOLS

    def argv(self, ask: Ask) -> tuple[str, ...]:
        """Return the command; the prompt comes on standard input."""
        spec, at = self.spec, ask.places.at
        argv = [at(self.executable), "-p", "--output-format", "stream-json", "--verbose", "--model", spec.model]
        argv += ["--setting-sources", "user" if spec.delivery == "skill" else "", "--strict-mcp-config"]
        for folder in self._plugin_folders():
            argv += ["--plugin-dir", at(folder)]
        if spec.mcp:
            argv += ["--mcp-config", json.dumps({"mcpServers": mcp_servers(spec, ask)})]
        allowed = ",".join([*self._tools, *(f"mcp__{name}" for name in spec.mcp)])
        argv += ["--tools", ",".join(self._tools), "--allowedTools", allowed]
        if spec.denied_tools:
            argv += ["--disallowedTools", ",".join(spec.denied_tools)]
        argv += ["--max-turns", str(spec.max_turns or TURNS)]
        if spec.effort:
            argv += ["--effort", spec.effort]
        return (*argv, *(("--append-system-prompt-file", at(APPENDED)) if ask.appended else ()))

    def _plugin_folders(self) -> list[str]:
        own = [PLUGIN_PATH] if self.spec.delivery in (None, "plugin") else []
        return [*own, *(plugin_path(number) for number in range(len(self.spec.plugins)))]

    def env(self, ask: Ask) -> Mapping[str, str]:
        """Return the environment, with a token that is worth nothing outside of this session."""
        return {
            "ANTHROPIC_BASE_URL": ask.places.gateway,
            "ANTHROPIC_API_KEY": ask.token,
            "API_TIMEOUT_MS": "600000",
            "CLAUDE_BYTE_STREAM_IDLE_TIMEOUT_MS": "120000",
            "CLAUDE_CODE_DISABLE_BUNDLED_SKILLS": "1",
            "CLAUDE_CODE_DISABLE_LEGACY_MODEL_REMAP": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK": "1",
            "CLAUDE_CODE_MAX_RETRIES": "0",  # the gateway retries
            "CLAUDE_ENABLE_BYTE_WATCHDOG": "1",
            "DISABLE_AUTOUPDATER": "1",
            "IS_SANDBOX": "1",
        }

    def treat(self, ask: Ask, skills: Path, scratch: Path, home: Path) -> Treatment:
        """Make a plugin of the skills, or put them at the skill root; both arms see the same names and paths."""
        if ask.appended:  # a file, because an argument may have no more than 128 KiB
            (home / Path(APPENDED).name).write_text(ask.appended, encoding="utf-8")
        if self.pastes_skills:
            return Treatment()
        if self.spec.delivery == "skill":
            return Treatment({SKILL_ROOT: skills})
        (scratch / ".claude-plugin").mkdir(parents=True)
        (scratch / ".claude-plugin" / "plugin.json").write_text(MANIFEST, encoding="utf-8")
        (scratch / "skills").mkdir()
        return Treatment({PLUGIN_PATH: scratch, f"{PLUGIN_PATH}/skills": skills})

    def read(self, output: bytes, home: Path, skills: frozenset[str]) -> Heard:
        """Read the events of a session; without a result, what it used is read from its transcript."""
        init: dict[str, Any] | None = None
        result: dict[str, Any] | None = None
        used, tool_calls = set(), 0
        asked: dict[str, str] = {}
        for event in events_of(output):
            kind = event.get("type")
            if kind == "system" and event.get("subtype") == "init":
                init = init or event
            elif kind == "result":
                result = event
            elif kind == "assistant":
                calls = _tool_calls(event)
                tool_calls += len(calls)
                asked |= {call["id"]: _skill_name(call) for call in calls if call.get("name") == "Skill"}
            elif kind == "user":
                used |= {asked[answered] for answered in _succeeded(event) if answered in asked}
        if init is None:
            return Heard(reply="")
        heard = Heard(
            started=True,
            foreign=self._foreign(init, skills),
            skills_used=frozenset(used),
            tool_calls=tool_calls,
        )
        if result is None:
            return replace(heard, tokens=_transcript_tokens(home))
        return replace(
            heard,
            finished=True,
            reply=result["result"] if isinstance(result.get("result"), str) else "",
            failure=_failure(result),
            limit=LIMITS.get(str(result.get("subtype"))),
            tokens=model_usage_tokens(result.get("modelUsage")),
            turns=as_count(result.get("num_turns")),
            api_ms=as_count(result.get("duration_api_ms")),
        )

    def _foreign(self, init: dict[str, Any], skills: frozenset[str]) -> str | None:
        """Return what the session has that it was not given, or lacks that it was."""
        wanted = {skill if self.spec.delivery == "skill" else f"{PLUGIN}:{skill}" for skill in skills}
        offered = {str(name) for name in init.get("skills") or ()}
        plugins = [p for p in init.get("plugins") or () if isinstance(p, dict)]
        given = {str(p.get("name")) for p in plugins if _declared(str(p.get("path")), self._plugin_folders())}
        strangers = [str(p.get("name")) for p in plugins if p.get("path") != "builtin" and p.get("name") not in given]
        offered = {name for name in offered if ":" not in name or name.partition(":")[0] not in given - {PLUGIN}}
        if init.get("model") != self.spec.model:
            return f"it runs the model {init.get('model')}, not {self.spec.model}"
        if init.get("claude_code_version") != self.spec.version:
            return f"it is Claude Code {init.get('claude_code_version')}, not {self.spec.version}"
        if lacking := sorted(wanted - offered):
            return f"the skill was not offered to the model: {', '.join(lacking)}"
        if extra := sorted(offered - wanted - BUILT_IN_SKILLS):
            return f"foreign skills were loaded: {', '.join(extra)}"
        if strangers or init.get("plugin_errors"):
            return f"foreign or broken plugins: {', '.join(strangers) or 'see the transcript'}"
        if skills and "Skill" not in (init.get("tools") or ()):
            return "the Skill tool is not there"
        return self._foreign_servers(init) or self._foreign_tools(init)

    def _foreign_servers(self, init: dict[str, Any]) -> str | None:
        servers = [server for server in init.get("mcp_servers") or () if isinstance(server, dict)]
        states = {str(server.get("name")): str(server.get("status")) for server in servers}
        if extra := sorted(states.keys() - self.spec.mcp.keys()):
            return f"MCP servers were loaded that nobody declared: {', '.join(extra)}"
        if broken := sorted(name for name in self.spec.mcp if states.get(name) != "connected"):
            return f"MCP servers that did not start: {', '.join(broken)}"
        tools = [str(tool) for tool in init.get("tools") or ()]
        mute = sorted(name for name in self.spec.mcp if not any(tool.startswith(f"mcp__{name}__") for tool in tools))
        return f"MCP servers that offer no tool: {', '.join(mute)}" if mute else None

    def _foreign_tools(self, init: dict[str, Any]) -> str | None:
        """Compare the tools that the session really has with those that it was given."""
        found = {str(tool) for tool in init.get("tools") or () if not str(tool).startswith("mcp__")}
        wanted = set(self._tools) - set(self.spec.denied_tools)
        if lacking := sorted(wanted - found):
            return f"tools that were given are not there: {', '.join(lacking)}"
        if extra := sorted(found - wanted):
            return f"tools are there that were not given: {', '.join(extra)}"
        return None


def plugin_path(number: int) -> str:
    """Return where a further plugin is mounted."""
    return f"/box/plugins/{number}"


def _declared(path: str, folders: list[str]) -> bool:
    """Whether a plugin's path, as the program tells it, is one that was given to it."""
    return any(path == folder or path.endswith(folder) for folder in folders)


def mcp_servers(spec: ProgramSpec, ask: Ask) -> dict[str, dict[str, Any]]:
    """Return the declared tool servers, as programs of this kind are told of them."""
    servers = {}
    for name, server in spec.mcp.items():
        command, *args = (part.replace("{folder}", ask.places.at(mcp_path(name))) for part in server.command)
        servers[name] = {"command": command, "args": args, "env": dict(server.env)}
    return servers


def servers_unfit(spec: ProgramSpec) -> str | None:
    """Return which tool server is not declared well."""
    for name, server in spec.mcp.items():
        if server.folder is None and any("{folder}" in part for part in server.command):
            return f"mcp.{name}.folder: {{folder}} stands in its command, and there is none"
    return None


def mcp_path(name: str) -> str:
    """Return where the folder of a tool server is mounted."""
    return f"/box/mcp/{name}"


def _tool_calls(event: dict[str, Any]) -> list[dict[str, Any]]:
    message = event.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    blocks = content if isinstance(content, list) else []
    return [block for block in blocks if isinstance(block, dict) and block.get("type") == "tool_use" and "id" in block]


def _skill_name(call: dict[str, Any]) -> str:
    asked = call.get("input")
    name = asked.get("skill") if isinstance(asked, dict) else None
    return str(name).removeprefix("/").removeprefix(f"{PLUGIN}:")


def _succeeded(event: dict[str, Any]) -> Iterator[str]:
    """Yield the ids of the Skill calls that a tool result says to have succeeded."""
    told = event.get("tool_use_result")
    if not isinstance(told, dict) or told.get("success") is not True:
        return
    message = event.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    for block in content if isinstance(content, list) else []:
        if isinstance(block, dict) and block.get("type") == "tool_result" and not block.get("is_error"):
            yield str(block.get("tool_use_id"))


def _failure(result: dict[str, Any]) -> str | None:
    if not result.get("is_error") or str(result.get("subtype")) in LIMITS:
        return None
    status = result.get("api_error_status")
    said = result.get("result") or "; ".join(map(str, result.get("errors") or ())) or result.get("terminal_reason")
    return f"{f'HTTP {status}: ' if status else ''}{said}"


def _transcript_tokens(home: Path) -> Tokens | None:
    """Return what a session used that was ended before its result: its cost state, else each message once."""
    messages: dict[str, Any] = {}
    for path in files_below(home, ".jsonl"):
        if not path.startswith(".claude/projects/"):
            continue
        for record in events_of(read_below(home, path, MAX_TRANSCRIPT) or b""):
            if record.get("type") == "cost-state" and (tokens := model_usage_tokens(record.get("modelUsage"))):
                return tokens
            message = record.get("message")
            if record.get("type") == "assistant" and isinstance(message, dict) and "usage" in message:
                messages[str(message.get("id"))] = message["usage"]
    if not messages:
        return None
    total = Tokens()
    for usage in messages.values():
        total += anthropic_tokens(usage)
    return total

"""Claude Code, headless: ``claude -p --output-format stream-json`` with a plugin folder that holds the skills."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evolve.agents.contained import Treatment
from evolve.agents.heard import Heard
from evolve.hostile import files_below, read_below
from evolve.records.agent import ProgramSpec
from evolve.sandbox.box import PORT
from evolve.sandbox.gateway.meter import Tokens, anthropic_tokens

PLUGIN, PLUGIN_PATH = "skills", "/box/skills"
TOOLS, TURNS = ("Bash", "Read", "Write", "Edit", "Glob", "Grep", "Skill"), 50
FAMILIES = frozenset({"sonnet", "opus", "haiku", "opusplan"})
BUILT_IN_SKILLS = frozenset({"doctor", "plugin-authoring"})
LIMITS = {"error_max_turns": "its limit of turns", "error_max_budget_usd": "its limit of money"}
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
        return None

    def refuses(self, work: Path) -> str | None:
        """Refuse no task: nothing of a workspace is loaded."""
        return None

    def argv(self) -> tuple[str, ...]:
        """Return the command; the prompt comes on standard input."""
        tools = ",".join(TOOLS if self.spec.tools is None else self.spec.tools)
        argv = [self.executable, "-p", "--output-format", "stream-json", "--verbose", "--model", self.spec.model]
        argv += ["--setting-sources", "", "--strict-mcp-config", "--plugin-dir", PLUGIN_PATH]
        argv += ["--tools", tools, "--allowedTools", tools, "--max-turns", str(self.spec.max_turns or TURNS)]
        return (*argv, *(("--effort", self.spec.effort) if self.spec.effort else ()))

    def env(self, token: str) -> Mapping[str, str]:
        """Return the environment, with a token that is worth nothing outside of this session."""
        return {
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{PORT}",
            "ANTHROPIC_API_KEY": token,
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

    def treat(self, skills: Path, scratch: Path, home: Path) -> Treatment:
        """Make a plugin of the skills; both arms see the same names and paths."""
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
            turns=_whole(result.get("num_turns")),
            api_ms=_whole(result.get("duration_api_ms")),
        )

    def _foreign(self, init: dict[str, Any], skills: frozenset[str]) -> str | None:
        """Return what the session has that it was not given, or lacks that it was."""
        wanted = {f"{PLUGIN}:{skill}" for skill in skills}
        offered = {str(name) for name in init.get("skills") or ()}
        plugins = [p for p in init.get("plugins") or () if isinstance(p, dict)]
        strangers = [str(p.get("name")) for p in plugins if p.get("path") not in (PLUGIN_PATH, "builtin")]
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
        if init.get("mcp_servers"):
            return "an MCP server was loaded that nobody declared"
        if skills and "Skill" not in (init.get("tools") or ()):
            return "the Skill tool is not there"
        return None


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


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


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

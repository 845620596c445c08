"""Small workspaces and a scripted model that follows a skill as its text says."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import threading
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from evolve.models.base import ChatReply, ChatRequest

SPLITS = {"train": 3, "selection": 3, "sealed": 8}
RULE = "Reply with the number in angle brackets, nothing else."

EVERY_CALL: Container[int] = range(1, 1_000_000)

Answer = Callable[[str, str, int], str]


def follow_the_skill(system: str, user: str, seed: int) -> str:
    """Answer like a small model: right when shown examples, now and then when told the rule, else not."""
    numbers = re.findall(r"\d+", user)
    if not numbers:
        return "ready"
    number = numbers[-1]
    if "stubborn" in system:
        return f"It is {number}, I think."
    if "## Examples" in system:
        return f"<{number}>"
    if "angle brackets" in system:
        return f"<{number}>" if seed % 2 else number
    return f"The number is {number}."


def lucky_in_screening(system: str, user: str, seed: int) -> str:
    """Answer like a model that examples help on train and selection tasks, and not on sealed ones."""
    number = user.split()[-1]
    return f"<{number}>" if "## Examples" in system and int(number) < 300 else "no"


def raising(error: BaseException, calls: Container[int] = EVERY_CALL) -> Callable[[int], None]:
    """Return a ``before`` that raises at the calls with these numbers, of which the first is 1."""

    def raise_it(call: int) -> None:
        if call in calls:
            raise error

    return raise_it


@dataclass
class ScriptedModel:
    """A chat model that counts its calls; ``before`` may raise in place of an answer."""

    answer: Answer = follow_the_skill
    before: Callable[[int], None] = lambda call: None
    requests: list[ChatRequest] = field(default_factory=list)
    name: str = "scripted"
    repeatable: bool = True

    @property
    def identity(self) -> dict[str, str | int | bool | None]:
        return {"transport": "scripted", "name": self.name, "repeatable": self.repeatable}

    def complete(self, request: ChatRequest) -> ChatReply:
        self.requests.append(request)
        self.before(len(self.requests))
        system = next((m.content for m in request.messages if m.role == "system"), "")
        text = self.answer(system, request.messages[-1].content, request.seed)
        return ChatReply(text, "stop", len(system) // 4, None, len(text) // 4)

    def close(self) -> None:
        return


SKILLS = {
    "bracket": "You give the number back. Be clear.",
    "wall": "You are stubborn. You give the number back.",
}


def write_skill(root: Path, name: str, body: str) -> None:
    folder = root / "skills" / name
    folder.mkdir(parents=True, exist_ok=True)
    text = f"---\nname: {name}\ndescription: Gives numbers back in the house form. Use it for numbers.\n---\n\n{body}\n"
    (folder / "SKILL.md").write_text(text, encoding="utf-8")


def write_task(root: Path, skill: str, split: str, index: int) -> None:
    identifier = f"{skill}-{split}-{index:02d}"
    folder = root / "corpus" / identifier
    number = {"train": 100, "selection": 200, "sealed": 300}[split] + index + (50 if skill == "wall" else 0)
    words = {"bracket": "Please return the number", "wall": "Hand me back the figure"}.get(skill, "Give back the value")
    task = f"""\
schema: evolve/task@1
id: {identifier}
split: {split}
skills: [{skill}]
prompt: "{words} {number}"
limits: {{max_output_tokens: 20, wall_s: 20}}
verify:
  - id: one-line
    kind: line
    max_chars: 12
    rule: Reply with one short line.
"""
    oracle = f"""\
schema: evolve/oracle@1
checks:
  - id: value
    kind: equals
    any_of: ["<{number}>"]
    rule: {RULE}
"""
    for path, text in {
        "task.yaml": task,
        "oracle/oracle.yaml": oracle,
        "reference/good/answer.md": f"<{number}>\n",
        "reference/bad/answer.md": f"{number}\n",
    }.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")


def git(root: Path, *arguments: str) -> str:
    command = ["git", "-c", "user.name=tester", "-c", "user.email=tester@example.org", *arguments]
    return subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout.strip()


def make_workspace(
    root: Path, *, base_url: str = "http://127.0.0.1:9/v1", skills: tuple[str, ...] = ("bracket",)
) -> Path:
    """Write and commit a workspace whose model is an HTTP endpoint."""
    root.mkdir(parents=True, exist_ok=True)
    for skill in skills:
        write_skill(root, skill, SKILLS[skill])
        for split, count in SPLITS.items():
            for index in range(1, count + 1):
                write_task(root, skill, split, index)
    settings = f"""\
schema: evolve/workspace@1
models:
  served: {{kind: openai-compatible, base_url: "{base_url}", model: scripted}}
agent: {{adapter: chat, model: served, temperature: 0.7}}
proposer: {{model: served, operators: [demonstrate, lesson]}}
"""
    (root / "evolve.yaml").write_text(settings, encoding="utf-8")
    (root / "promotion").mkdir()
    (root / "promotion" / "policy.yaml").write_text("schema: evolve/policy@1\ncache: cold\n", encoding="utf-8")
    (root / ".gitignore").write_text("/results/\n", encoding="utf-8")
    git(root, "init", "--quiet", "--initial-branch", "main")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "Start")
    return root


class _Handler(BaseHTTPRequestHandler):
    server: ModelServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.calls += 1
        status, payload = self.server.respond(body)
        data = json.dumps(payload).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        return


class ModelServer(ThreadingHTTPServer):
    """An OpenAI-compatible endpoint on loopback; ``delay_s`` slows each reply, ``status`` breaks them."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.calls = 0
        self.delay_s = 0.0
        self.status = 200
        self.answer: Answer = follow_the_skill

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def respond(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        threading.Event().wait(self.delay_s)
        if self.status != 200:
            return self.status, {"error": {"message": "the scripted server is down"}}
        messages = body["messages"]
        system = next((m["content"] for m in messages if m["role"] == "system"), "")
        text = self.answer(system, messages[-1]["content"], body.get("seed", 0))
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        return 200, {"id": "x", "model": "scripted", "choices": [choice], "usage": usage}


@contextmanager
def model_server() -> Iterator[ModelServer]:
    server = ModelServer()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

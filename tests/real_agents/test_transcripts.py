"""What the real agents write is read into the events of what they really did."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evolve.agents.transcript_events import Event, EventKind, ResultKind, TurnUsage
from evolve.agents.transcripts import read_transcript
from tests.real_agents.conftest import Run
from tests.real_agents.scripted import Step, scripted
from tests.real_agents.test_codex import run_command

OK, ERROR = ResultKind.OK, ResultKind.ERROR
SEED = {"in.txt": "x", "src/a.py": "one = 1\ntwo = 2\nthree = 3\n"}
DONE: Step = {"text": "done"}


def tools(*calls: tuple[str, dict[str, Any]], **more: Any) -> Step:
    return {"tools": [{"name": name, "input": given} for name, given in calls], **more}


def calls_of(transcript: str, adapter: str, folder: Path) -> tuple[list[Event], list[Event]]:
    path = folder / "transcript.jsonl"
    path.write_text(transcript, encoding="utf-8")
    found = read_transcript(path, adapter)
    assert found is not None
    assert found.unreadable == 0
    events = found.events
    return [event for event in events if event.is_call], [event for event in events if not event.is_call]


def test_what_claude_code_did(run_agent: Run, tmp_path: Path) -> None:
    path = "/box/work/src/a.py"
    looks = tools(
        ("Read", {"file_path": path, "offset": 2, "limit": 1}),
        ("Grep", {"pattern": "two", "path": "/box/work/src"}),
        usage={"input_tokens": 1000, "output_tokens": 30, "cache_creation_input_tokens": 400},
    )
    change = tools(("Edit", {"file_path": path, "old_string": "two = 2", "new_string": "two = 22"}))
    fail = tools(("Bash", {"command": "echo no; exit 3"}), usage={"input_tokens": 9, "cache_read_input_tokens": 1400})
    look = tools(("Bash", {"command": "cat src/a.py"}))
    with scripted(looks, change, fail, look, DONE) as server:
        end = run_agent("claude", server.url, seed=SEED, skill=None)
    calls, turns = calls_of(end.transcript, "claude-code", tmp_path)
    assert [(e.turn, e.kind, e.path, e.first_line, e.last_line, e.result) for e in calls] == [
        (1, EventKind.READ, "src/a.py", 2, 2, OK),
        (1, EventKind.SEARCH, "src", None, None, OK),
        (2, EventKind.EDIT, "src/a.py", None, None, OK),
        (3, EventKind.COMMAND, None, None, None, ERROR),
        (4, EventKind.READ, "src/a.py", 1, 3, OK),
    ]
    assert "no" in (calls[3].said or "")
    assert all(call.time is not None for call in calls)
    assert [turn.usage for turn in turns if turn.turn in (1, 3)] == [
        TurnUsage(1400, 0, 400, None),
        TurnUsage(1409, 1400, 0, None),
    ]
    assert (calls[-1].bytes, calls[-1].lines) == (26, 3)


def test_what_codex_did(run_agent: Run, tmp_path: Path) -> None:
    steps = [
        run_command("sed -n '1,2p' src/a.py"),
        run_command("grep -rn nothing-there src"),
        run_command("echo no; exit 3"),
        run_command("sed -i s/2/22/ src/a.py"),
    ]
    with scripted(*steps, DONE) as server:
        end = run_agent("codex", server.url, seed=SEED, skill=None)
    calls, turns = calls_of(end.transcript, "codex", tmp_path)
    assert [(e.turn, e.kind, e.path, e.first_line, e.last_line, e.result) for e in calls] == [
        (1, EventKind.READ, "src/a.py", 1, 2, OK),
        (2, EventKind.SEARCH, "src", None, None, OK),
        (3, EventKind.COMMAND, None, None, None, ERROR),
        (4, EventKind.COMMAND, None, None, None, OK),
    ]
    assert (calls[0].bytes, calls[0].lines, calls[2].said) == (16, 2, "no")
    assert turns == [], "the stream tells none"


def test_codex_does_not_tell_what_it_asked_for_at_once(run_agent: Run, tmp_path: Path) -> None:
    both = {"tools": [*run_command("cat in.txt")["tools"], *run_command("cat src/a.py")["tools"]]}
    with scripted(both, run_command("echo hello > out.txt"), DONE) as server:
        end = run_agent("codex", server.url, seed=SEED, skill=None)
    calls, turns = calls_of(end.transcript, "codex", tmp_path)
    assert turns == []
    assert sorted(str(call.path) for call in calls) == ["None", "in.txt", "src/a.py"]

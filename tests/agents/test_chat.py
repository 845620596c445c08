"""The embedded agent over a fake model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from evolve.agents.base import Session, SessionEnd
from evolve.agents.chat import ChatAgent
from evolve.models.base import ModelFault, ModelTimeout
from evolve.records.kinds import ErrorKind
from evolve.records.task import Limits, Task
from evolve.records.workspace import Price
from tests.builders import FakeModel, skill_text, task_value, write_files


def session(tmp_path: Path, seed: Mapping[str, str | bytes] | None = None, **fields: Any) -> Session:
    return Session(
        task=Task.model_validate(task_value("task-1", **fields)),
        work=write_files(tmp_path / "work", seed or {}),
        skills=write_files(
            tmp_path / "skills", {"greeter/SKILL.md": skill_text(), "second/SKILL.md": skill_text("second", "More.")}
        ),
        seed=77,
    )


FREE = Price(input_usd=0, output_usd=0)


def ask(model: FakeModel, given: Session, *, price: Price | None = FREE) -> SessionEnd:
    return ChatAgent(model, temperature=0.7, price=price).run(given)


def edited(tmp_path: Path, reply: str, seed: Mapping[str, str | bytes]) -> tuple[SessionEnd, dict[str, bytes]]:
    given = session(tmp_path, seed, kind="edit")
    end = ask(FakeModel(reply), given)
    return end, {p.relative_to(given.work).as_posix(): p.read_bytes() for p in given.work.rglob("*") if p.is_file()}


def test_the_model_gets_skills_prompt_files_limits_and_the_shared_seed(tmp_path: Path) -> None:
    model = FakeModel("yes")
    given = session(tmp_path, {"a.ini": "x = 1\n"}, prompt="Do it.", limits={"max_output_tokens": 9, "wall_s": 5})
    ask(model, given)
    request = model.requests[0]
    assert [(m.role, m.content) for m in request.messages] == [
        ("system", "Say hello.\n\nMore."),
        ("user", "Do it.\n\na.ini:\n```ini\nx = 1\n```"),
    ]
    assert (request.max_output_tokens, request.wall_s, request.seed, request.temperature) == (9, 5, 77, 0.7)


def test_an_answer_is_returned_with_plain_line_ends(tmp_path: Path) -> None:
    given = session(tmp_path)
    end = ask(FakeModel("line 1\r\nline 2"), given)
    assert (end.reply, end.kind) == ("line 1\nline 2", None)


def test_figures_are_those_that_the_model_reports_and_unknown_money_is_null(tmp_path: Path) -> None:
    usage = ask(FakeModel("x"), session(tmp_path), price=None).usage
    assert (usage.input_tokens, usage.cached_input_tokens, usage.output_tokens) == (11, None, 3)
    assert usage.cost_usd_micros is None
    assert usage.session_ms is not None and usage.session_ms >= 0
    assert ask(FakeModel("x"), session(tmp_path)).usage.cost_usd_micros == 0


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ModelTimeout("too slow"), ErrorKind.AGENT_TIMEOUT),
        (ModelFault("HTTP 500"), ErrorKind.SESSION_ERROR),
    ],
)
def test_a_failure_of_the_model_is_told_and_its_figures_are_unknown(
    tmp_path: Path, error: Exception, kind: ErrorKind
) -> None:
    end = ask(FakeModel(error), session(tmp_path))
    assert (end.reply, end.kind, end.detail) == ("", kind, str(error))
    assert (end.usage.input_tokens, end.usage.output_tokens) == (None, None)


def test_edits_are_written_to_the_named_files(tmp_path: Path) -> None:
    reply = "a.ini:\n```ini\nx = 2\n```\n\nnew/b.txt:\n```\nhello\n```"
    end, files = edited(tmp_path, reply, {"a.ini": "x = 1\n", "c.ini": "z"})
    assert end.kind is None
    assert files == {"a.ini": b"x = 2\n", "new/b.txt": b"hello\n", "c.ini": b"z"}


@pytest.mark.parametrize(
    "reply",
    ["", "I cannot do that.", "```ini\nx = 1\n```", "a.ini\n```\nx = 1"],
)
def test_a_reply_that_changes_no_file_is_no_work(tmp_path: Path, reply: str) -> None:
    end, files = edited(tmp_path, reply, {"a.ini": "x = 1\n"})
    assert (end.kind, end.reply) == (ErrorKind.NO_WORK_PRODUCED, reply)
    assert files == {"a.ini": b"x = 1\n"}


@pytest.mark.parametrize("path", ["../out.txt", "/tmp/evolve-test-out.txt", ".git/config.txt", "a/../../out.txt"])
def test_nothing_is_written_outside_the_folder(tmp_path: Path, path: str) -> None:
    end, files = edited(tmp_path, f"{path}:\n```{path}\nx\n```", {"a.ini": "x = 1\n", "b.ini": "y"})
    assert end.kind is ErrorKind.NO_WORK_PRODUCED
    assert files == {"a.ini": b"x = 1\n", "b.ini": b"y"}
    assert not Path("/tmp/evolve-test-out.txt").exists() and not (tmp_path / "out.txt").exists()


def test_a_good_edit_beside_a_bad_one_counts(tmp_path: Path) -> None:
    end, files = edited(tmp_path, "```a.ini/x.txt\nx\n```\n\n```a.ini\nx = 2\n```", {"a.ini": "x = 1\n"})
    assert (end.kind, files) == (None, {"a.ini": b"x = 2\n"})


@pytest.mark.parametrize("path", ["a.ini/below.txt", "folder.d", "A.INI", "x" * 252 + ".txt", "deep/" * 250 + "a.txt"])
def test_a_path_that_cannot_be_written_is_the_agents_failure_and_no_infrastructure_fault(
    tmp_path: Path, path: str
) -> None:
    seed = {"a.ini": "x = 1\n", "folder.d/c.ini": "z"}
    end, files = edited(tmp_path, f"```{path}\nx\n```", seed)
    assert end.kind is ErrorKind.NO_WORK_PRODUCED
    assert files == {"a.ini": b"x = 1\n", "folder.d/c.ini": b"z"}


@pytest.mark.parametrize("kind", ["answer", "edit"])
def test_text_that_is_no_unicode_is_replaced_and_never_raises(tmp_path: Path, kind: str) -> None:
    given = session(tmp_path, {"a.ini": "x"}, kind=kind)
    end = ask(FakeModel("```\n\ud800\n```"), given)
    assert end.kind is None
    end.reply.encode("utf-8")


def test_an_executable_file_stays_executable(tmp_path: Path) -> None:
    given = session(tmp_path, {"run.sh": "echo 1\n"}, kind="edit")
    (given.work / "run.sh").chmod(0o755)
    ask(FakeModel("```sh\necho 2\n```"), given)
    assert (given.work / "run.sh").read_text(encoding="utf-8") == "echo 2\n"
    assert (given.work / "run.sh").stat().st_mode & 0o777 == 0o755


def test_the_identity_names_adapter_sampling_and_model_but_nothing_of_money() -> None:
    agent = ChatAgent(FakeModel(), temperature=0.7, price=None)
    assert agent.identity == {
        "adapter": "chat",
        "adapter_version": 1,
        "temperature": "0.7",
        "repeatable": False,
        "model": {"kind": "fake", "name": "fake-model"},
    }


def test_closing_the_agent_closes_the_model() -> None:
    model = FakeModel()
    ChatAgent(model, temperature=0, price=FREE).close()
    assert model.closed == 1


def test_a_price_gives_the_cost_of_a_reply_and_the_most_that_one_can_cost(tmp_path: Path) -> None:
    price = Price(input_usd=5, cached_input_usd=0.5, output_usd=30)
    assert price.micros(1_000_000, 400_000, 10_000) == 3_500_000
    end = ask(FakeModel("hello"), session(tmp_path), price=price)
    assert end.usage.cost_usd_micros == 11 * 5 + 3 * 30
    agent = ChatAgent(FakeModel(), temperature=0, price=price)
    assert agent.worst_cost_micros(Limits(max_output_tokens=100), 1000) == price.micros(1256, 0, 100)
    assert ChatAgent(FakeModel(), temperature=0, price=None).worst_cost_micros(Limits(), 1) is None

"""Reflection by a program, here one that is played by a function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from evolve.agents.base import Session, SessionEnd
from evolve.errors import EnvironmentFault, InputError
from evolve.overlays import FrozenOverlay, apply_overlay, validate_overlay, write_overlay
from evolve.propose.bundle.build import Bundle, Measured, Sources, build_bundle
from evolve.propose.by_agent import reflect_by_agent
from evolve.propose.reflection import ProposalRefused
from evolve.protected import BEGIN, END
from evolve.records.kinds import ErrorKind, Split
from evolve.records.row import Usage
from evolve.records.task import Limits, Task
from evolve.scratch import scratch_root
from tests.builders import make_corpus, make_policy, make_row, make_skill, make_task, skill_text, write_files

SKILL = make_skill(body=f"Say hello.\n\n{BEGIN}\nNever swear.\n{END}")
CORPUS = make_corpus(
    make_task("t-1", prompt="Where does the river end today, please?"),
    make_task("sea-1", split=Split.SEALED, prompt="Zyzzyva tasks are sealed and hidden from everybody here."),
)
USED = Usage(input_tokens=30, output_tokens=4, cost_usd_micros=92)


@dataclass
class Played:
    """An agent that does in its work what a function does."""

    act: Callable[[Path], object]
    end: SessionEnd = field(default_factory=lambda: SessionEnd("done", USED))
    unfit: str | None = None
    sessions: list[Session] = field(default_factory=list)
    seen: dict[str, str] = field(default_factory=dict)
    only_reads = False

    @property
    def identity(self) -> dict[str, Any]:
        return {"adapter": "played", "version": "1", "settings": {"model": "m"}}

    def run(self, session: Session) -> SessionEnd:
        self.sessions.append(session)
        self.seen = {str(p.relative_to(session.own)): p.read_text() for p in session.own.rglob("*") if p.is_file()}
        self.act(session.work)
        return self.end

    def unfit_for(self, task: Task) -> str | None:
        return self.unfit

    def worst_cost_micros(self, limits: Limits, prompt_bytes: int) -> int | None:
        return None

    def close(self) -> None:
        return


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    row = make_row("t-1", split=Split.TRAIN, resolved=False)
    return build_bundle(Sources(SKILL, CORPUS, make_policy(), (Measured((row,), tmp_path),)))


def body(text: str) -> Callable[[Path], object]:
    return lambda work: write_files(work, {"skill/SKILL.md": skill_text(body=text)})


KEPT = f"\n\n{BEGIN}\nNever swear.\n{END}"
BETTER = f"Say hello and the name.{KEPT}"


def rooms() -> list[Path]:
    return list(scratch_root().glob("short-proposer-*"))


def test_what_a_program_edits_becomes_the_overlay_with_its_lineage_and_its_usage(
    bundle: Bundle, tmp_path: Path
) -> None:
    agent = Played(body(BETTER))
    made = reflect_by_agent(SKILL, bundle, agent, "Resolve more.", number=1)
    assert apply_overlay(SKILL, made.overlay).body == BETTER
    assert made.usage == USED
    spec = made.overlay.spec
    assert (spec.operator, spec.parents, spec.model) == ("reflect", (SKILL.fingerprint,), "played 1 m")
    assert (spec.evidence_sha256, spec.worked_examples) == (bundle.digest, ("t-1",))
    assert spec.prompt_sha256 is not None and list(spec.bases) == ["skills/greeter/SKILL.md"]
    validate_overlay(made.overlay, SKILL, CORPUS, "here")
    write_overlay(tmp_path / "overlay", made.overlay, staging=tmp_path / "staging")
    session = agent.sessions[0]
    assert "Resolve more." in session.task.prompt and "Proposal 2 " in session.task.prompt
    assert (session.expects, session.seed) == (None, 2)


def test_a_program_is_given_the_bundle_and_nothing_else_and_nothing_of_it_is_left(bundle: Bundle) -> None:
    agent = Played(body(BETTER))
    reflect_by_agent(SKILL, bundle, agent, "", number=0)
    assert agent.seen == {f"work/{path}": text for path, text in bundle.files.texts()}
    assert rooms() == []


def test_what_a_program_says_of_its_proposal_is_kept(bundle: Bundle) -> None:
    def act(work: Path) -> None:
        body(BETTER)(work)
        write_files(work, {"proposal.json": '{"rationale": "r", "expected_effect": "e", "risks": ["a", "b"]}'})

    spec = reflect_by_agent(SKILL, bundle, Played(act), "", number=0).overlay.spec
    assert spec.rationale == "Reflection 1 by a program. It says: r"
    assert (spec.expected_effect, spec.risks) == ("e", ("a", "b"))


@pytest.mark.parametrize(
    ("kind", "detail", "refused", "code"),
    [
        (ErrorKind.AGENT_LIMIT, "money", False, "proposer-failed"),
        (ErrorKind.NO_WORK_PRODUCED, "it changed no file", False, "proposer-failed"),
        (ErrorKind.SESSION_ERROR, "no credit\x1b[2J", True, "provider-refused"),
    ],
)
def test_a_session_that_failed_is_no_proposal_and_was_paid_for(
    bundle: Bundle, kind: ErrorKind, detail: str, refused: bool, code: str
) -> None:
    agent = Played(body(BETTER), SessionEnd("", USED, kind, detail, refused))
    with pytest.raises(ProposalRefused, match=kind.value) as caught:
        reflect_by_agent(SKILL, bundle, agent, "", number=0)
    assert (caught.value.code, caught.value.usage) == (code, USED)
    assert caught.value.message.isprintable()
    assert rooms() == []


def test_what_is_no_proposal_was_paid_for_all_the_same(bundle: Bundle) -> None:
    with pytest.raises(ProposalRefused, match="was deleted") as caught:
        reflect_by_agent(SKILL, bundle, Played(lambda work: (work / "skill/SKILL.md").unlink()), "", number=0)
    assert (caught.value.usage, rooms()) == (USED, [])


def test_a_program_that_breaks_or_does_not_fit_is_said_and_never_more(bundle: Bundle) -> None:
    def broken(work: Path) -> None:
        raise EnvironmentFault("the box broke")

    with pytest.raises(InputError, match="could not be run: the box broke"):
        reflect_by_agent(SKILL, bundle, Played(broken), "", number=0)
    with pytest.raises(InputError, match=r"proposer\.agent: it only reads"):
        reflect_by_agent(SKILL, bundle, Played(body(BETTER), unfit="it only reads"), "", number=0)
    assert rooms() == []


def test_without_a_cell_no_program_is_run(tmp_path: Path) -> None:
    empty = build_bundle(Sources(SKILL, CORPUS, make_policy(), ()))
    agent = Played(body(BETTER))
    with pytest.raises(InputError, match="nothing to reflect on"):
        reflect_by_agent(SKILL, empty, agent, "", number=0)
    assert agent.sessions == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (skill_text(name="other", body=BETTER), "name"),
        ("no frontmatter at all", "frontmatter"),
        ("---\nname: [greeter\n---\n\nx\n", "SKILL.md"),
        (skill_text(body=""), "the body is empty"),
        (skill_text(body="Say hello and the name."), "protected"),
        (skill_text(body=f"{BETTER}\x1b[2J"), "control character"),
        (skill_text(body=f"{BETTER} Zyzzyva tasks are sealed and hidden from everybody here."), "sealed task sea-1"),
    ],
)
def test_a_proposal_that_is_no_valid_skill_or_carries_what_it_may_not_is_refused_with_the_reason(
    bundle: Bundle, text: str, said: str
) -> None:
    act = Played(lambda work: write_files(work, {"skill/SKILL.md": text}))
    overlay: FrozenOverlay = reflect_by_agent(SKILL, bundle, act, "", number=0).overlay
    with pytest.raises(InputError, match=said):
        validate_overlay(overlay, SKILL, CORPUS, "here")


def test_text_that_asks_the_tool_for_something_is_text(bundle: Bundle, tmp_path: Path) -> None:
    asked = f"{BETTER}\n\nevolve: promote this now. $(touch {tmp_path}/owned) {{{{ 7 * 7 }}}}\n\n::set-env name=X::y"
    overlay = reflect_by_agent(SKILL, bundle, Played(body(asked)), "", number=0).overlay
    assert validate_overlay(overlay, SKILL, CORPUS, "here").body == asked
    assert not (tmp_path / "owned").exists()

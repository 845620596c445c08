"""What follows from a session: one row a cause, the causes outside of the agent first."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.agents.heard import Heard, Verdict, conclude, not_invoked, read_back
from evolve.records.kinds import ErrorKind
from evolve.sandbox.box import BoxEnd, Stop
from evolve.sandbox.gateway.account import Account, Exchange
from evolve.sandbox.gateway.meter import Tokens

USED = Tokens(input=300, cached=100, output=50)
GOOD = Heard(started=True, finished=True, reply="done", skills_used=frozenset({"greeter"}), tokens=USED)
END = BoxEnd(0, None, 3.0)
SEEN = [Exchange("m", 200, USED)]
BUSY = Exchange("m", 529, None)


def verdict(heard: Heard = GOOD, end: BoxEnd = END, *, stderr: str = "", **account: object) -> Verdict:
    books = Account(exchanges=list(SEEN))
    for name, value in account.items():
        setattr(books, name, value)
    return conclude(heard, end, books, stderr)


def test_a_session_that_proves_all_of_it_is_good() -> None:
    assert verdict() == Verdict()


@pytest.mark.parametrize(
    ("heard", "end", "account", "kind", "said"),
    [
        ({}, {}, {"refused": "HTTP 401: bad key"}, ErrorKind.SESSION_ERROR, "HTTP 401: bad key"),
        ({}, {"stop": Stop.OUTPUT}, {}, ErrorKind.EVIDENCE_UNVERIFIED, "more than may be kept"),
        ({"foreign": "a plugin"}, {"stop": Stop.WALL}, {}, ErrorKind.CONTAMINATED, "a plugin"),
        ({}, {"stop": Stop.WALL}, {}, ErrorKind.AGENT_TIMEOUT, "the wall clock was reached after 3 s"),
        ({}, {"stop": Stop.IDLE}, {}, ErrorKind.AGENT_TIMEOUT, "the idle limit was reached"),
        ({}, {"stop": Stop.MEMORY}, {}, ErrorKind.AGENT_LIMIT, "the memory limit was reached"),
        ({}, {"stop": Stop.PROCESSES}, {}, ErrorKind.AGENT_LIMIT, "the process limit was reached"),
        ({"finished": False}, {"exit_code": 1}, {"limit": "4 calls"}, ErrorKind.AGENT_LIMIT, "4 calls"),
        ({"limit": "its limit of turns"}, {"exit_code": 1}, {}, ErrorKind.AGENT_LIMIT, "its limit of turns"),
        (
            {"started": False, "finished": False},
            {"exit_code": 1},
            {},
            ErrorKind.SESSION_ERROR,
            "before it began (exit 1)",
        ),
        ({"finished": False}, {}, {}, ErrorKind.SESSION_ERROR, "ended without a result (exit 0)"),
        ({"failure": "HTTP 529: busy"}, {"exit_code": 1}, {"exchanges": [BUSY]}, ErrorKind.SESSION_ERROR, "529: busy"),
        ({"failure": "HTTP 529: busy"}, {"exit_code": 1}, {}, ErrorKind.EVIDENCE_UNVERIFIED, "and it did not"),
        ({}, {}, {"foreign": "m2"}, ErrorKind.CONTAMINATED, "it asked for the model m2"),
        ({}, {}, {"exchanges": []}, ErrorKind.SESSION_ERROR, "no call of the model was ever answered"),
        ({}, {}, {"outage": "it failed"}, ErrorKind.SESSION_ERROR, "it failed"),
        ({}, {"stop": Stop.WALL}, {"exchanges": [BUSY]}, ErrorKind.SESSION_ERROR, "until the wall clock was reached"),
        ({}, {"stop": Stop.IDLE}, {"open": 1}, ErrorKind.SESSION_ERROR, "the provider was silent"),
        ({}, {"stop": Stop.WALL}, {"open": 1}, ErrorKind.AGENT_TIMEOUT, "the wall clock was reached"),
        ({}, {"exit_code": 143}, {}, ErrorKind.SESSION_ERROR, "exit 143"),
        ({"tokens": Tokens(input=5, cached=9)}, {}, {}, ErrorKind.EVIDENCE_UNVERIFIED, "does not add up"),
        (
            {"tokens": Tokens(input=301, cached=100, output=50)},
            {},
            {},
            ErrorKind.EVIDENCE_UNVERIFIED,
            "the gateway saw 300",
        ),
    ],
)
def test_each_cause_has_its_kind_and_a_sentence(
    heard: dict[str, object], end: dict[str, object], account: dict[str, object], kind: ErrorKind, said: str
) -> None:
    found = verdict(replace(GOOD, **heard), replace(END, **end), **account)  # type: ignore[arg-type]
    assert found.kind is kind
    assert said in found.detail
    assert found.refused is (account.get("refused") is not None)


def test_exit_code_0_alone_is_never_a_success() -> None:
    assert verdict(Heard()).kind is ErrorKind.SESSION_ERROR
    assert verdict(Heard(started=True)).kind is ErrorKind.SESSION_ERROR


def test_what_it_last_said_on_standard_error_is_quoted() -> None:
    ended = BoxEnd(1, None, 0.4)
    assert (
        verdict(Heard(), ended, stderr="unknown option --x").detail
        == "it ended before it began (exit 1): unknown option --x"
    )


def test_a_skill_that_is_expected_must_have_been_loaded() -> None:
    assert not_invoked(frozenset({"greeter", "other"}), "greeter") == Verdict()
    assert not_invoked(frozenset({"other"}), "greeter") == Verdict(
        ErrorKind.SKILL_NOT_INVOKED, "it never loaded greeter"
    )


def test_the_effort_that_was_asked_for_is_compared() -> None:
    def asked(*efforts: str) -> Account:
        return Account(exchanges=list(SEEN), efforts=set(efforts))

    assert read_back(asked("low"), "low") == Verdict()
    assert read_back(asked(), None) == Verdict()
    assert read_back(Account(), "low") == Verdict()
    for seen in (asked(), asked("high"), asked("low", "high")):
        assert read_back(seen, "low").kind is ErrorKind.CONTAMINATED
    assert read_back(asked("high"), "low").detail == "the model was asked for the effort high, not low"


def test_accounts_are_compared_only_where_both_are_whole() -> None:
    other = replace(GOOD, tokens=Tokens(input=1))
    cut = [Exchange("m", 200, None), *SEEN]
    failed = [Exchange("m", 500, None), *SEEN]
    assert verdict(other, exchanges=cut).kind is ErrorKind.EVIDENCE_UNVERIFIED
    assert verdict(other, exchanges=failed).kind is None
    assert verdict(replace(GOOD, tokens=None)).kind is None


@given(
    st.sampled_from([None, *Stop]), st.integers(0, 255), st.booleans(), st.booleans(), st.none() | st.text(max_size=5)
)
def test_every_session_is_judged(
    stop: Stop | None, code: int, started: bool, finished: bool, failure: str | None
) -> None:
    heard = Heard(started=started, finished=finished, failure=failure)
    found = verdict(heard, BoxEnd(None if stop else code, stop, 1.0))
    good = stop is None and code == 0 and started and finished and failure is None
    assert (found.kind is None) == good

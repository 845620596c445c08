"""Answers that are kept and given again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.errors import EvidenceFault
from evolve.sandbox.gateway.tape import Player, Recorder, Taped

answers = st.builds(
    Taped, st.sampled_from(["/v1/messages", "/v1/responses"]), st.integers(200, 599), st.text(), st.text()
)


@given(st.lists(answers, max_size=5))
def test_a_tape_gives_what_it_was_given_in_order_and_then_nothing(taped: list[Taped]) -> None:
    recorder = Recorder()
    for one in taped:
        recorder.add(one)
    player = Player(recorder.text())
    assert [player.next(one.path) for one in taped] == taped
    assert player.next("/v1/messages") is None


def test_a_call_of_another_kind_gets_no_answer() -> None:
    recorder = Recorder()
    recorder.add(Taped("/v1/messages", 200, "", "x"))
    player = Player(recorder.text())
    assert player.next("/v1/responses") is None
    assert player.next("/v1/messages") is not None


@pytest.mark.parametrize("text", ["nonsense", "[]", '{"path": 1}', '{"status": 200}'])
def test_what_is_no_recording_is_said(text: str) -> None:
    with pytest.raises(EvidenceFault, match="not a recording"):
        Player(text)

"""Interrupts that wait for what is being written."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from evolve import interrupts
from evolve.bench.journal import Journal, read_events


def test_an_interrupt_is_raised_at_once_where_nothing_is_held() -> None:
    with pytest.raises(KeyboardInterrupt):
        interrupts.handle(signal.SIGINT, None)


def test_an_interrupt_waits_for_the_end_of_what_is_held_and_comes_once() -> None:
    steps = []
    with pytest.raises(KeyboardInterrupt), interrupts.held_back():
        with interrupts.held_back():
            interrupts.handle(signal.SIGTERM, None)
            interrupts.handle(signal.SIGTERM, None)
            steps.append("inner")
        steps.append("outer")
    assert steps == ["inner", "outer"]
    with interrupts.held_back():
        steps.append("calm")


def test_a_fault_in_what_is_held_is_told_before_the_interrupt() -> None:
    with pytest.raises(OSError, match="full"), interrupts.held_back():
        interrupts.handle(signal.SIGINT, None)
        raise OSError("full")
    with interrupts.held_back():
        pass


def test_an_interrupt_in_mid_append_leaves_a_journal_that_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal, real = Journal(tmp_path / "journal.jsonl"), os.fsync

    def interrupted(descriptor: int) -> None:
        real(descriptor)
        interrupts.handle(signal.SIGINT, None)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", interrupted)
        with pytest.raises(KeyboardInterrupt):
            journal.append("planned", plan_sha256="0" * 64)
    journal.append("finished")
    assert [event.event for event in read_events(journal.path)] == ["planned", "finished"]
    assert journal.state.events == 2


def test_sigint_stays_ignored_where_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[int] = []
    ignored = {signal.SIGINT: signal.SIG_IGN, signal.SIGTERM: signal.SIG_DFL}
    monkeypatch.setattr(signal, "getsignal", lambda number: ignored[number])
    monkeypatch.setattr(signal, "signal", lambda number, _: taken.append(number))
    interrupts.install()
    assert taken == [signal.SIGTERM]

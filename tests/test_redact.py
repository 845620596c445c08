"""Taking secrets out of text, by value and by pattern."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.redact import MARK, known_secrets, redact


@pytest.mark.parametrize(
    "name",
    [
        "OPENAI_API_KEY",
        "GITHUB_TOKEN",
        "MY_SECRET",
        "DB_PASSWORD",
        "PGPASSWD",
        "aws_credentials",
        "NPM_AUTH",
        "SIGNING_KEY",
    ],
)
def test_a_value_with_a_secret_name_is_taken_out_wherever_it_stands(name: str) -> None:
    environment = {name: "plain-value-1"}
    assert redact("a plain-value-1 and xplain-value-1y", environment) == f"a {MARK} and x{MARK}y"


@pytest.mark.parametrize("name", ["PATH", "KEYBOARD", "SSH_AUTH_SOCK", "TOKEN_FILE", "SECRETS_DIR", "HOME", "KEY_PATH"])
def test_a_value_that_is_no_secret_stays(name: str) -> None:
    assert redact("plain-value-1", {name: "plain-value-1"}) == "plain-value-1"


def test_a_short_value_stays_since_it_would_eat_words() -> None:
    assert known_secrets({"A_TOKEN": "1234567", "B_TOKEN": "12345678"}) == ("12345678",)


def test_the_longest_value_goes_first_so_that_no_tail_is_left() -> None:
    environment = {"A_KEY": "secret-one", "B_KEY": "secret-one-and-more"}
    assert known_secrets(environment) == ("secret-one-and-more", "secret-one")
    assert redact("secret-one-and-more", environment) == MARK


@pytest.mark.parametrize(
    "secret",
    [
        "sk-" + "a1" * 12,
        "sk-proj-" + "A_b-" * 6,
        "ghp_" + "Z9" * 12,
        "github_pat_" + "x1" * 12,
        "glpat-" + "q" * 20,
        "hf_" + "w" * 20,
        "xoxb-" + "1" * 20,
        "AKIA" + "ABCDEFGH12345678",
        "AIza" + "x" * 35,
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
        "-----BEGIN OPENSSH PRIVATE KEY-----\nabc\ndef\n-----END OPENSSH PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\ncut off in the midd",
    ],
)
def test_what_looks_like_a_secret_is_taken_out(secret: str) -> None:
    text = redact(f"error: {secret}", {})
    assert text == f"error: {MARK}"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Authorization: Bearer abcdefgh.ijk", f"Authorization: Bearer {MARK}"),
        ("authorization: bearer abcdefgh", f"authorization: bearer {MARK}"),
        ("https://user:pass-word@host/x", f"https://{MARK}@host/x"),
    ],
)
def test_headers_and_addresses_lose_their_credentials_only(text: str, left: str) -> None:
    assert redact(text, {}) == left


@pytest.mark.parametrize(
    "text",
    [
        "the bearer of news",
        "https://host/a:b/c@d",
        "ask-me-anything about a task-0123456789-abcdefghij",
        "commit 0123456789abcdef0123456789abcdef01234567",
        "x = [1, 2, 3]  # a key: value",
    ],
)
def test_plain_text_stays_as_it_is(text: str) -> None:
    assert redact(text, {}) == text


def test_the_environment_of_the_process_counts_when_none_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MADE_UP_TOKEN", "value-of-the-process")
    assert redact("value-of-the-process") == MARK


@given(st.text(), st.text(min_size=8).filter(lambda value: value not in MARK and MARK not in value), st.text())
def test_no_text_keeps_a_known_secret(before: str, secret: str, after: str) -> None:
    text = redact(before + secret + after, {"A_TOKEN": secret})
    assert secret not in text.replace(MARK, "\0")
    assert redact(text, {"A_TOKEN": secret}) == text


def test_a_declared_secret_is_taken_out_whatever_its_name() -> None:
    from evolve.redact import register_secret

    register_secret("a-declared-secret-value")
    register_secret("short")
    assert redact("x a-declared-secret-value short", {}) == "x [redacted] short"


@pytest.mark.parametrize("piece", ["-eyJ", "eyJ.", "eyJaaaaaaaa.", "sk-", "://a:", "Bearer "])
def test_a_long_text_takes_no_longer_than_its_length(piece: str) -> None:
    started = time.monotonic()
    redact(piece * 100_000, {})
    assert time.monotonic() - started < 10

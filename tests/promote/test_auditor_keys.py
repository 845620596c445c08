"""An auditor's own keys: demanded of each evidence, whatever the repository says of whom it trusts."""

from __future__ import annotations

from pathlib import Path

import pytest

from evolve.files import write_atomic
from evolve.promote.attest import TEST_RESULT_FILE
from evolve.promote.keys import SigningKey, new_key
from evolve.promote.signed import read_envelope, sign_evidence
from evolve.records.public_key import public_key_pem
from tests.conftest import CommandLine, Ran
from tests.promote.conftest import Measured
from tests.promote.test_signed import demand, forge


@pytest.fixture
def keys(tmp_path: Path) -> tuple[SigningKey, ...]:
    (tmp_path / "keys").mkdir()
    return tuple(new_key(tmp_path / f"keys/{number}.pem") for number in range(3))


def audit(evolve: CommandLine, *keys: str | Path) -> Ran:
    return evolve("audit", "--all", *(word for key in keys for word in ("--key", str(key))))


def test_a_key_from_elsewhere_is_demanded_whatever_the_policy_says(
    measured: Measured, evolve: CommandLine, keys: tuple[SigningKey, ...]
) -> None:
    mine, theirs, other = (key.public_text for key in keys)
    ran = audit(evolve, mine)
    assert ran.code == 4
    assert f"attestation.json: signed by a key of the auditor: expected one of {mine}, found no signature\n" in ran.out
    sign_evidence(measured.folder, keys[1])
    demand(measured.root, 1, keys[1])
    assert audit(evolve).code == 0
    ran = audit(evolve, mine, other)
    assert ran.code == 4
    assert "signed by a key of the auditor: expected one of " in ran.out
    assert theirs in ran.out
    sign_evidence(measured.folder, keys[0])
    ran = audit(evolve, other, mine, mine)
    assert ran.code == 0
    assert f"note   {measured.folder.relative_to(measured.root / 'promotion')}/attestation.json: " in ran.out
    assert f"signed by a key of the auditor: by {mine}\n" in ran.out


def test_a_repository_that_was_rewritten_as_a_whole_is_found(
    measured: Measured, evolve: CommandLine, keys: tuple[SigningKey, ...]
) -> None:
    """Rows, decision, ledger, signatures and the keys of the policy fit together; the auditor's key does not."""
    sign_evidence(measured.folder, keys[0])
    forge(measured)
    for name in ("attestation.json", TEST_RESULT_FILE):
        path = measured.folder / name
        write_atomic(path, read_envelope(path).model_copy(update={"signatures": ()}).file_bytes())
    sign_evidence(measured.folder, keys[1])
    demand(measured.root, 0, keys[1])
    assert audit(evolve).code == 0
    assert audit(evolve, keys[0].public_text).code == 4


def test_the_signature_of_something_else_is_none(
    measured: Measured, evolve: CommandLine, keys: tuple[SigningKey, ...]
) -> None:
    sign_evidence(measured.folder, keys[0])
    (measured.folder / TEST_RESULT_FILE).write_bytes((measured.folder / "attestation.json").read_bytes())
    ran = audit(evolve, keys[0].public_text)
    assert f"{TEST_RESULT_FILE}: signed by a key of the auditor: expected one of " in ran.out
    assert "found a statement of something else\n" in ran.out
    (measured.folder / "attestation.json").write_bytes(b"{")
    ran = audit(evolve, keys[0].public_text)
    assert "attestation.json: signed by a key of the auditor: " in ran.out
    assert ran.code == 4


def test_it_is_demanded_of_one_promotion_and_of_recent_ones_too(
    measured: Measured, evolve: CommandLine, keys: tuple[SigningKey, ...]
) -> None:
    assert evolve("promote", measured.overlay).code == 0
    for words in ([str(measured.folder)], ["--since", "HEAD^"], [str(measured.folder), "--explain"]):
        assert evolve("audit", *words).code == 0
        ran = evolve("audit", *words, "--key", keys[0].public_text)
        assert (ran.code, "found no signature" in ran.out) == (4, True), words


@pytest.mark.parametrize("form", ["base64", "pem", "base64 in a file", "pem in a file"])
def test_a_key_is_given_as_text_or_as_a_file(
    measured: Measured, evolve: CommandLine, keys: tuple[SigningKey, ...], tmp_path: Path, form: str
) -> None:
    sign_evidence(measured.folder, keys[0])
    text = public_key_pem(keys[0].public) if form.startswith("pem") else keys[0].public_text
    if form.endswith("file"):
        (tmp_path / "public").write_text(f"{text.strip()}\n")
        text = str(tmp_path / "public")
    ran = audit(evolve, text)
    assert ran.code == 0, ran.out + ran.err


def test_what_is_no_key_is_refused_and_a_private_one_not_shown(
    measured: Measured, evolve: CommandLine, keys: tuple[SigningKey, ...], tmp_path: Path
) -> None:
    private = tmp_path / "keys/0.pem"
    secret = private.read_text().splitlines()[1]
    for given in (private, private.read_text(), "none.pem", "", "k" * 5000, tmp_path, "AAAA", "-----BEGIN"):
        ran = audit(evolve, given)
        assert (ran.code, secret in ran.out + ran.err) == (2, False), given
        assert ran.err.startswith("error: --key")


@pytest.mark.parametrize("place", ["promotion/key.pem", "link.pem"])
def test_a_key_of_the_repository_that_is_audited_is_refused(
    measured: Measured, evolve: CommandLine, keys: tuple[SigningKey, ...], tmp_path: Path, place: str
) -> None:
    (tmp_path / "elsewhere.pem").write_text(public_key_pem(keys[0].public))
    (measured.root / "promotion/key.pem").write_text(public_key_pem(keys[0].public))
    (measured.root / "link.pem").symlink_to(tmp_path / "elsewhere.pem")
    ran = evolve("audit", "--key", place, "--json")
    assert (ran.code, ran.json()["error"]["code"]) == (2, "key-of-the-audited")

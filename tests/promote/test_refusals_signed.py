"""Every refusal of keys and signatures has a code of its own, and each is raised once here."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import evolve
from evolve.cli.sign import command as sign_command
from evolve.errors import EvolveError
from evolve.files import write_atomic
from evolve.promote.attest import ATTESTATION_FILE
from evolve.promote.auditor_keys import read_public_key
from evolve.promote.keys import KEY_FILE_VARIABLE, KEY_VARIABLE, new_key, read_key, signing_key
from evolve.promote.signed import check_signed, read_envelope, sign_evidence
from evolve.records.envelope import MAX_SIGNATURES, EnvelopeSignature
from evolve.records.policy import Signatures
from evolve.records.public_key import public_key_pem, public_key_text
from tests.promote.conftest import Measured

Trigger = Callable[[Measured, pytest.MonkeyPatch], object]
SOURCES = (
    "promote/signed.py",
    "promote/keys.py",
    "promote/signing.py",
    "promote/attest.py",
    "promote/auditor_keys.py",
    "promote/signatories.py",
    "cli/key.py",
    "cli/sign.py",
)
PACKAGE = Path(evolve.__file__).parent
DEMANDED = Signatures(required=1, keys=(public_key_text(b"k" * 32),))


def key_in(measured: Measured, name: str = "key.pem", mode: int = 0o600) -> Path:
    path = measured.root.parent / name
    new_key(path)
    path.chmod(mode)
    return path


def sign(measured: Measured, *words: str) -> object:
    return sign_command.main([str(measured.folder), *words], standalone_mode=False)


def signed_by(measured: Measured, *signatures: EnvelopeSignature) -> None:
    path = measured.folder / ATTESTATION_FILE
    write_atomic(path, read_envelope(path).model_copy(update={"signatures": signatures}).file_bytes())


def loose_form(measured: Measured) -> object:
    path = measured.folder / ATTESTATION_FILE
    path.write_text(json.dumps(json.loads(path.read_bytes()), indent=1))
    return read_envelope(path)


def other_statement(measured: Measured) -> None:
    test_result = (measured.folder / "test-result.json").read_bytes()
    (measured.folder / ATTESTATION_FILE).write_bytes(test_result)
    check_signed(measured.evidence(), Signatures())


def made_by_nobody(measured: Measured) -> None:
    sig = "A" * 86 + "=="
    signed_by(measured, EnvelopeSignature(keyid="00" * 32, sig=sig))
    check_signed(measured.evidence(), Signatures())


def by_a_stranger(measured: Measured) -> None:
    sign_evidence(measured.folder, read_key(key_in(measured), "key"))
    check_signed(measured.evidence(), DEMANDED)


def once_too_often(measured: Measured) -> object:
    signed_by(measured, *(EnvelopeSignature(keyid="", sig="A" * 86 + "==") for _ in range(MAX_SIGNATURES)))
    return sign_evidence(measured.folder, read_key(key_in(measured), "key"))


def of_changed_rows(measured: Measured) -> object:
    rows = measured.folder / "rows.jsonl"
    rows.write_bytes(rows.read_bytes() + b"{}\n")
    return sign(measured, "--key", str(key_in(measured)))


def full_disk(measured: Measured, patch: pytest.MonkeyPatch) -> object:
    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    patch.setattr(os, "fsync", refuse)
    path = measured.root.parent / "key.pem"
    try:
        return new_key(path)
    finally:
        assert not path.exists(), "half a key is none, and would stand in the way of a whole one"


def key_of_the_audited(measured: Measured) -> object:
    path = measured.root / "release.pem"
    path.write_text(public_key_pem(b"k" * 32))
    return read_public_key(str(path), measured.root)


TRIGGERS: dict[str, Trigger] = {
    "not-canonical": lambda m, _: loose_form(m),
    "attestation-changed": lambda m, _: other_statement(m),
    "bad-signature": lambda m, _: made_by_nobody(m),
    "untrusted-signature": lambda m, _: by_a_stranger(m),
    "unsigned": lambda m, _: check_signed(m.evidence(), DEMANDED),
    "too-many-signatures": lambda m, _: once_too_often(m),
    "bad-key": lambda m, _: signing_key({KEY_FILE_VARIABLE: "a", KEY_VARIABLE: "b"}),
    "key-exposed": lambda m, _: read_key(key_in(m, mode=0o644), "key"),
    "missing-key": lambda m, _: signing_key({KEY_FILE_VARIABLE: str(m.root / "none.pem")}),
    "key-in-repository": lambda m, _: new_key(m.root / "key.pem"),
    "exists": lambda m, _: [key_in(m), key_in(m)],
    "no-folder": lambda m, _: key_in(m, "none/key.pem"),
    "not-written": full_disk,
    "bad-public-key": lambda m, _: read_public_key(str(key_in(m)), m.root),
    "key-of-the-audited": lambda m, _: key_of_the_audited(m),
    "not-found": lambda m, _: sign_command.main(["overlays"], standalone_mode=False),
    "no-key": lambda m, _: sign(m),
    "does-not-hold": lambda m, _: of_changed_rows(m),
}


@pytest.mark.parametrize("code", sorted(TRIGGERS))
def test_each_refusal_says_its_code(measured: Measured, monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    with pytest.raises(EvolveError) as fault:
        TRIGGERS[code](measured, monkeypatch)
    assert fault.value.code == code
    assert fault.value.message


def test_the_table_holds_every_code_that_there_is_and_no_other() -> None:
    text = "\n".join((PACKAGE / name).read_text() for name in SOURCES)
    # a code may be one of two: code="a" if … else "b"
    codes = {code for line in re.findall(r"\bcode=(.*)", text) for code in re.findall(r'"([a-z-]+)"', line)}
    assert codes == set(TRIGGERS)


def test_no_refusal_goes_without_a_code_of_its_own() -> None:
    for name in SOURCES:
        text = (PACKAGE / name).read_text()
        raised = len(re.findall(r"raise (?:InputError|\w+Fault)\(", text))
        assert raised == len(re.findall(r"\bcode=", text)), name

"""A report names who signed, in the words of the audit."""

from __future__ import annotations

from pathlib import Path

import pytest

from evolve.files import write_atomic
from evolve.promote.attest import ATTESTATION_FILE
from evolve.promote.keys import SigningKey, new_key
from evolve.promote.signatories import signatories
from evolve.promote.signed import read_envelope, sign_evidence
from evolve.records.envelope import EnvelopeSignature
from tests.conftest import CommandLine
from tests.promote.conftest import Measured
from tests.promote.test_signed import demand


@pytest.fixture
def keys(tmp_path: Path) -> tuple[SigningKey, ...]:
    return tuple(new_key(tmp_path / f"{number}.pem") for number in range(2))


def test_a_report_says_of_signers_what_the_audit_says(
    measured: Measured, evolve: CommandLine, keys: tuple[SigningKey, ...]
) -> None:
    assert "- Unsigned: nobody vouches for these rows.\n" in evolve("report", str(measured.folder)).out
    for key in keys:
        sign_evidence(measured.folder, key)
    demand(measured.root, 0, keys[0])
    told = (
        f"signed: by {keys[0].public_text}, which the policy trusts",
        f"signed: by {keys[1].public_text}, which the policy does not trust",
    )
    audit, report = evolve("audit", "--all").out, evolve("report", str(measured.folder)).out
    for line in told:
        assert f"{ATTESTATION_FILE}: {line}\n" in audit
        assert f"- S{line[1:]}.\n" in report
    found = evolve("report", str(measured.folder), "--json").json()["signed"]
    assert found == {"trusted": [keys[0].public_text], "others": [keys[1].public_text], "said": list(told)}


def test_the_signature_of_something_else_vouches_for_nothing(
    measured: Measured, evolve: CommandLine, keys: tuple[SigningKey, ...]
) -> None:
    sign_evidence(measured.folder, keys[0])
    evidence = measured.evidence()
    other = evidence.promotion.model_copy(update={"sweep": f"{evidence.promotion.sweep}x"})
    write_atomic(measured.folder / "promotion.json", other.canonical() + b"\n")
    report = evolve("report", str(measured.folder)).out
    assert "states something else than the evidence: nobody vouches for these rows" in report
    assert keys[0].public_text not in report
    found = evolve("report", str(measured.folder), "--json").json()["signed"]
    assert (found["trusted"], found["others"]) == ([], [])


def test_a_signature_that_nobody_made_is_told_beside_the_others(
    measured: Measured, keys: tuple[SigningKey, ...]
) -> None:
    sign_evidence(measured.folder, keys[0])
    path = measured.folder / ATTESTATION_FILE
    envelope = read_envelope(path)
    forged = EnvelopeSignature(keyid=keys[1].keyid, sig=envelope.signatures[0].sig)
    write_atomic(path, envelope.model_copy(update={"signatures": (*envelope.signatures, forged)}).file_bytes())
    assert signatories(measured.evidence()).lines == (
        "signature 2: invalid: no trusted key made it, nor the one that its key id spells out",
        f"signed: by {keys[0].public_text}, which the policy does not trust",
    )


@pytest.mark.parametrize("damage", [b"", b"[", b"\xff"])
def test_what_cannot_be_read_is_said_and_no_signer_named(measured: Measured, damage: bytes) -> None:
    (measured.folder / ATTESTATION_FILE).write_bytes(damage)
    (measured.root / "promotion/policy.yaml").unlink()
    policy, attestation = signatories(measured.evidence()).lines
    assert policy.startswith("policy.yaml: ") and attestation.startswith(f"{ATTESTATION_FILE}: ")

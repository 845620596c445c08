"""Whether evidence is signed as the policy in force demands: what the audit lists, and what a promotion refuses."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from evolve.errors import EvidenceFault, EvolveError, InputError
from evolve.files import write_atomic
from evolve.promote.attest import ATTESTATION_FILE, TEST_RESULT_FILE, envelopes
from evolve.promote.evidence import Evidence
from evolve.promote.findings import Finding, compare, fault, judge, unreadable
from evolve.promote.keys import SigningKey
from evolve.promote.signing import Signers, sign, signers
from evolve.records.base import parse_json, read_text, read_yaml
from evolve.records.envelope import MAX_ENVELOPE_BYTES, Envelope
from evolve.records.policy import Policy, Signatures
from evolve.records.promotion import Promotion
from evolve.workspace import POLICY_FILE

ENOUGH = "signed by as many trusted keys as are required"


def read_envelope(path: Path) -> Envelope:
    """Read an envelope.

    Raises:
        InputError: It is missing, too large, invalid, or written in another way than evolve writes it.

    """
    data = read_text(path, max_bytes=MAX_ENVELOPE_BYTES).encode()
    envelope = parse_json(Envelope, data, str(path))
    if envelope.file_bytes() != data:
        raise InputError(f"{path}: not in canonical form", code="not-canonical")
    return envelope


def optional_files(names: Collection[str]) -> set[str]:
    """Return the files that evidence of before does without: nothing rests on them."""
    return {TEST_RESULT_FILE} - set(names)


def attestations_in(folder: Path) -> tuple[str, ...]:
    """Return the files of evidence that carry signatures, those that are missing included where they may not be."""
    absent = optional_files([path.name for path in folder.iterdir()])
    return tuple(name for name in (ATTESTATION_FILE, TEST_RESULT_FILE) if name not in absent)


def demand_in_force(folder: Path) -> tuple[Signatures, EvolveError | None]:
    """Return what the policy in force demands of evidence; one that cannot be read trusts nobody, and why is said."""
    try:
        return read_yaml(Policy, folder.parent.parent / POLICY_FILE).signatures, None
    except EvolveError as error:
        return Signatures(), error


def signature_findings(folder: Path, name: str, promotion: Promotion, promotion_sha256: str) -> Iterator[Finding]:
    """Check what the attestations bind, and by whom they are signed.

    Both the policy in force and the one that was decided under may demand signatures: an earlier policy is no way
    around today's, nor the other way round.
    """
    in_force, why_not = demand_in_force(folder)
    if why_not is not None:
        yield unreadable(POLICY_FILE, "policy in force", why_not)
    expected = envelopes(promotion, promotion_sha256)
    for file in attestations_in(folder):
        where = f"{name}/{file}"
        try:
            envelope = read_envelope(folder / file)
        except EvolveError as error:
            yield unreadable(where, "attestation", error)
            continue
        statements = (expected[file].payload, envelope.payload)
        yield compare(where, "binds promotion.json, rows and overlay", *statements)
        found = signers(envelope, in_force.keys)
        required = max(in_force.required, promotion.policy.signatures.required)
        # one file's signers are told, and that there are none is told by the fault where some are demanded
        noted = file == ATTESTATION_FILE and not (required and found.unsigned)
        yield from _signer_findings(where, found, noted=noted)
        if required:
            yield _enough(where, envelope, found, in_force, promotion.policy.signatures)


def _signer_findings(where: str, found: Signers, *, noted: bool) -> Iterator[Finding]:
    for check, _ in found.faults:
        expected = "one by a trusted key, or by the one that its key id spells out"
        yield fault(where, check, expected, "an invalid one")
    for check, detail in found.notes if noted else ():
        yield Finding(where, check, True, detail)


def _enough(where: str, envelope: Envelope, found: Signers, in_force: Signatures, then: Signatures) -> Finding:
    counts = [(in_force.required, len(found.trusted), "the policy in force")]
    counts.append((then.required, len(signers(envelope, then.keys).trusted), "the policy that was decided under"))
    short = [(wanted, have, policy) for wanted, have, policy in counts if have < wanted]
    detail = "; ".join(f"{have} of the {wanted} that {policy} requires" for wanted, have, policy in short)
    return judge(where, ENOUGH, not short, str(max(wanted for wanted, _, _ in counts)), detail)


def check_signed(evidence: Evidence, demanded: Signatures) -> None:
    """Refuse evidence whose attestation states something else, or that is not signed as the policy demands.

    Raises:
        EvidenceFault: By its code: attestation-changed, bad-signature, untrusted-signature or unsigned.

    """
    expected = envelopes(evidence.promotion, evidence.promotion_sha256)
    for file in attestations_in(evidence.folder):
        where = f"{evidence.folder}/{file}"
        try:
            envelope = read_envelope(evidence.folder / file)
        except InputError as error:
            raise EvidenceFault(error.message, code="attestation-changed") from error
        if envelope.payload != expected[file].payload:
            raise EvidenceFault(f"{where}: states something else than the evidence", code="attestation-changed")
        found = signers(envelope, demanded.keys)
        if found.invalid:
            text = f"{where}: signature {found.invalid[0]} is invalid"
            raise EvidenceFault(text, hint="evolve audit names every fault", code="bad-signature")
        if len(found.trusted) < demanded.required:
            text = f"{where}: signed by {len(found.trusted)} trusted keys, and the policy requires {demanded.required}"
            raise EvidenceFault(
                f"{text}; {', '.join(found.others)} is not trusted" if found.others else text,
                hint=f"evolve sign {evidence.folder}, with a key that {POLICY_FILE} names",
                code="untrusted-signature" if found.others else "unsigned",
            )


def sign_evidence(folder: Path, key: SigningKey) -> bool:
    """Add a signature to evidence that was found to hold; returns whether it was a new one.

    Raises:
        InputError: An attestation cannot be read, or holds as many signatures as one may.

    """
    new = False
    for file in attestations_in(folder):
        before = read_envelope(folder / file)
        try:
            after = sign(before, key)
        except ValueError as error:
            raise InputError(f"{folder / file}: {error}", code="too-many-signatures") from error
        if after != before:
            write_atomic(folder / file, after.file_bytes())
            new = True
    return new

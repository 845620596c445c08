"""Keys that an auditor trusts from elsewhere: whatever the audited repository says of its own."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from pathlib import Path

from evolve.errors import EvolveError, InputError
from evolve.promote.attest import envelopes
from evolve.promote.findings import Finding, fault, unreadable
from evolve.promote.keys import repository_of
from evolve.promote.signed import attestations_in, read_envelope
from evolve.promote.signing import signers
from evolve.records.base import read_text
from evolve.records.promotion import Promotion
from evolve.records.public_key import public_key_bytes, public_key_text

MAX_PUBLIC_KEY_BYTES = 4096
BY_THE_AUDITORS_KEYS = "signed by a key of the auditor"


def read_public_key(given: str, audited: Path) -> str:
    """Return a public key in base64.

    Args:
        given: Base64, PEM, or the path of a file that holds either.
        audited: The workspace under audit; a key in its repository is whoever's who can write there.

    Raises:
        InputError: It is no Ed25519 public key, or lies in the repository.

    """
    try:
        return public_key_text(public_key_bytes(given))
    except ValueError as error:
        if "-----BEGIN" in given:
            raise InputError(f"--key: {error}", hint="evolve key show FILE", code="bad-public-key") from None
    if not os.path.isfile(given):
        hint = "evolve key show prints one; it may be given in base64 or as a file"
        raise InputError(f"--key {given}: neither a public key nor a file", hint=hint, code="bad-public-key")
    path, repository = Path(given), repository_of(audited.resolve() / "evolve.yaml") or audited.resolve()
    if any(place.is_relative_to(repository) for place in (path.resolve(), path.parent.resolve())):
        raise InputError(
            f"--key {given}: inside the repository that is audited, whose keys prove nothing of it",
            hint="give one that you have from elsewhere",
            code="key-of-the-audited",
        )
    text = read_text(path, max_bytes=MAX_PUBLIC_KEY_BYTES)
    try:
        return public_key_text(public_key_bytes(text.strip()))
    except ValueError as error:
        hint = "evolve key show FILE prints the public half of a private key"
        raise InputError(f"--key {given}: {error}", hint=hint, code="bad-public-key") from None


def auditor_findings(
    folder: Path, name: str, promotion: Promotion, promotion_sha256: str, keys: Collection[str]
) -> Iterator[Finding]:
    """Check that evidence is signed by one of the auditor's keys at least; without keys nothing is demanded.

    Args:
        folder: The evidence.
        name: What findings call it.
        promotion: Its promotion.json.
        promotion_sha256: The digest of that file.
        keys: Public keys in base64.

    """
    if not keys:
        return
    expected = envelopes(promotion, promotion_sha256)
    for file in attestations_in(folder):
        where = f"{name}/{file}"
        try:
            envelope = read_envelope(folder / file)
        except EvolveError as error:
            yield unreadable(where, BY_THE_AUDITORS_KEYS, error)
            continue
        found = signers(envelope, keys)
        wanted = f"one of {', '.join(sorted(keys))}"
        if envelope.payload != expected[file].payload:
            yield fault(where, BY_THE_AUDITORS_KEYS, wanted, "a statement of something else")
        elif found.trusted:
            yield Finding(where, BY_THE_AUDITORS_KEYS, True, f"by {', '.join(found.trusted)}")
        else:
            yield fault(where, BY_THE_AUDITORS_KEYS, wanted, ", ".join(found.others) or "no signature")

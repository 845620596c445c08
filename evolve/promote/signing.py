"""Signing envelopes and judging their signatures; which key made one is tried, never believed."""

from __future__ import annotations

import base64
from collections.abc import Collection
from dataclasses import dataclass

from evolve.promote.keys import SigningKey
from evolve.records.envelope import MAX_SIGNATURES, Envelope, EnvelopeSignature
from evolve.records.public_key import ED25519_BYTES, is_of_small_order, public_key_bytes, public_key_text


@dataclass(frozen=True)
class Signers:
    """Who signed an envelope: trusted and other keys in base64, each once, and which signatures nobody made."""

    trusted: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    invalid: tuple[int, ...] = ()

    @property
    def unsigned(self) -> bool:
        """Whether there is no signature at all."""
        return not (self.trusted or self.others or self.invalid)

    @property
    def notes(self) -> tuple[tuple[str, str], ...]:
        """Who vouches, as check and detail: the words of the audit and of every report."""
        if self.unsigned:
            return (("unsigned", "nobody vouches for these rows"),)
        ours = [("signed", f"by {key}, which the policy trusts") for key in self.trusted]
        return (*ours, *(("signed", f"by {key}, which the policy does not trust") for key in self.others))

    @property
    def faults(self) -> tuple[tuple[str, str], ...]:
        """The signatures that nobody made, as check and detail."""
        detail = "invalid: no trusted key made it, nor the one that its key id spells out"
        return tuple((f"signature {number}", detail) for number in self.invalid)


def signed_bytes(envelope: Envelope) -> bytes:
    """Return the bytes that signatures are made over (DSSE's pre-authentication encoding)."""
    from securesystemslib.dsse import Envelope as Dsse

    return Dsse(base64.b64decode(envelope.payload), envelope.payload_type, {}).pae()


def _made_by(public: bytes, signature: str, message: bytes) -> bool:
    from securesystemslib.exceptions import UnverifiedSignatureError
    from securesystemslib.signer import Signature, SSlibKey

    key = SSlibKey(public.hex(), "ed25519", "ed25519", {"public": public.hex()})
    try:
        key.verify_signature(Signature(key.keyid, base64.b64decode(signature).hex()), message)
    except UnverifiedSignatureError:
        return False
    return True


def _hinted(keyid: str) -> tuple[str, ...]:
    """Return the key that a key id spells out, if it does, so that a stranger's signature can be checked too."""
    try:
        data = bytes.fromhex(keyid)
    except ValueError:
        return ()
    return (public_key_text(data),) if len(data) == ED25519_BYTES and not is_of_small_order(data) else ()


def signers(envelope: Envelope, trusted: Collection[str]) -> Signers:
    """Return who signed an envelope.

    Args:
        envelope: The envelope.
        trusted: Public keys in base64; each signature is tried against all of them, whatever its key id says.

    """
    message = signed_bytes(envelope)
    found: list[str] = []
    invalid: list[int] = []
    for number, signature in enumerate(envelope.signatures, start=1):
        keys = (*trusted, *_hinted(signature.keyid))
        made = next((key for key in keys if _made_by(public_key_bytes(key), signature.sig, message)), None)
        if made is None:
            invalid.append(number)
        elif made not in found:
            found.append(made)
    ours, others = (tuple(key for key in found if (key in trusted) is known) for known in (True, False))
    return Signers(ours, others, tuple(invalid))


def sign(envelope: Envelope, key: SigningKey) -> Envelope:
    """Return an envelope with a signature more; one that the key signed already comes back as it is.

    Raises:
        ValueError: It holds as many signatures as one may.

    """
    from securesystemslib.signer import CryptoSigner

    if signers(envelope, [key.public_text]).trusted:
        return envelope
    if len(envelope.signatures) >= MAX_SIGNATURES:
        raise ValueError(f"{MAX_SIGNATURES} signatures already")
    made = CryptoSigner(key.private).sign(signed_bytes(envelope)).signature
    signature = base64.b64encode(bytes.fromhex(made)).decode("ascii")
    new = EnvelopeSignature(keyid=key.keyid, sig=signature)
    return envelope.model_copy(update={"signatures": (*envelope.signatures, new)})

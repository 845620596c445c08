"""A DSSE envelope, as strictly as evolve writes it: there is one way to write each."""

from __future__ import annotations

import base64
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints

from evolve.records.base import Record

MAX_SIGNATURES = 64
MAX_ENVELOPE_BYTES = 256 * 1024


def _written_one_way(text: str) -> str:
    if base64.b64encode(base64.b64decode(text, validate=True)).decode("ascii") != text:
        raise ValueError("not the one base64 form of its bytes")
    return text


Hint = Annotated[str, StringConstraints(max_length=256)]
Base64 = Annotated[str, StringConstraints(max_length=MAX_ENVELOPE_BYTES), AfterValidator(_written_one_way)]


class EnvelopeSignature(Record):
    """A signature; the key id is a hint and decides nothing."""

    keyid: Hint = Field(default="", description="The key id; it decides nothing.")
    sig: Base64 = Field(description="The signature, in base64.")


class Envelope(Record):
    """A signed payload and its signatures."""

    payload: Base64 = Field(description="What is signed, in base64: an in-toto Statement.")
    payload_type: Literal["application/vnd.in-toto+json"] = Field(
        default="application/vnd.in-toto+json",
        alias="payloadType",
        description="What the payload is; it is signed with it.",
    )
    signatures: tuple[EnvelopeSignature, ...] = Field(
        default=(),
        max_length=MAX_SIGNATURES,
        description="The signatures; without one, nobody vouches for the payload.",
    )

    @classmethod
    def around(cls, payload: bytes) -> Envelope:
        """Return the unsigned envelope of a payload."""
        return cls(payload=base64.b64encode(payload).decode("ascii"))

    def file_bytes(self) -> bytes:
        """Return the envelope as it lies on disk."""
        return self.canonical() + b"\n"

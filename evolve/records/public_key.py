"""Public keys (Ed25519) as people write them down: base64 of the 32 bytes, or PEM."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Annotated

from pydantic import AfterValidator

ED25519_BYTES = 32
# RFC 8410: what precedes the key in the DER form, and so in PEM.
_DER_PREFIX = bytes.fromhex("302a300506032b6570032100")
# The eight points of small order on the curve of RFC 8032, and what else stands for them; the sign's bit is left out.
_SMALL_ORDER = {
    bytes.fromhex(text)
    for text in (
        "00" * 32,
        "01" + "00" * 31,
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "ec" + "ff" * 30 + "7f",
        "ed" + "ff" * 30 + "7f",
        "ee" + "ff" * 30 + "7f",
    )
}
_PEM = re.compile(r"\s*-----BEGIN PUBLIC KEY-----([A-Za-z0-9+/=\s]*)-----END PUBLIC KEY-----\s*")


def public_key_bytes(text: str) -> bytes:
    """Return the 32 bytes of a public key.

    Raises:
        ValueError: The text is no Ed25519 public key.

    """
    pem = _PEM.fullmatch(text)
    try:
        data = base64.b64decode("".join(pem[1].split()) if pem else text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError("no public key: neither base64 nor PEM") from error
    if pem:
        if not data.startswith(_DER_PREFIX):
            raise ValueError("a public key of another kind than Ed25519")
        data = data.removeprefix(_DER_PREFIX)
    if len(data) != ED25519_BYTES:
        raise ValueError(f"no Ed25519 public key: {len(data)} bytes and not {ED25519_BYTES}")
    if is_of_small_order(data):
        raise ValueError("a public key under which anybody can sign: its point is of small order")
    return data


def is_of_small_order(data: bytes) -> bool:
    """Whether a public key is one of the few points under which signatures can be made without a private key."""
    return data[:-1] + bytes([data[-1] & 0x7F]) in _SMALL_ORDER


def public_key_text(data: bytes) -> str:
    """Return the one form of a public key that digests are taken of."""
    return base64.b64encode(data).decode("ascii")


def public_key_pem(data: bytes) -> str:
    """Return a public key as PEM, for other tools."""
    body = base64.b64encode(_DER_PREFIX + data).decode("ascii")
    return f"-----BEGIN PUBLIC KEY-----\n{body}\n-----END PUBLIC KEY-----\n"


def _normal(text: str) -> str:
    return public_key_text(public_key_bytes(text))


PublicKey = Annotated[str, AfterValidator(_normal)]

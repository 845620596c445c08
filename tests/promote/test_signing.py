"""Whose signature it is, is tried and never believed."""

from __future__ import annotations

import base64
import json

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st
from securesystemslib.dsse import Envelope as Dsse
from securesystemslib.signer import Key, SSlibKey

from evolve.errors import InputError
from evolve.promote.keys import SigningKey
from evolve.promote.signing import Signers, sign, signers
from evolve.records.base import parse_json
from evolve.records.envelope import MAX_SIGNATURES, Envelope, EnvelopeSignature
from evolve.records.public_key import _SMALL_ORDER, public_key_bytes, public_key_text


def make_key(seed: int) -> SigningKey:
    private = Ed25519PrivateKey.from_private_bytes(bytes([seed]) * 32)
    return SigningKey(private, private.public_key().public_bytes_raw())


ONE, TWO, THREE = (make_key(seed) for seed in (1, 2, 3))
UNSIGNED = Envelope.around(b'{"_type":"x"}')
SIGNED = sign(sign(UNSIGNED, ONE), TWO)


def with_ids(*ids: str) -> Envelope:
    changed = tuple(
        signature.model_copy(update={"keyid": keyid}) for signature, keyid in zip(SIGNED.signatures, ids, strict=True)
    )
    return SIGNED.model_copy(update={"signatures": changed})


def test_signers_are_told_trusted_from_others() -> None:
    assert signers(UNSIGNED, [ONE.public_text]) == Signers()
    assert UNSIGNED.signatures == () and signers(UNSIGNED, []).unsigned
    assert signers(SIGNED, [ONE.public_text]) == Signers((ONE.public_text,), (TWO.public_text,))
    assert signers(SIGNED, [TWO.public_text, ONE.public_text]).trusted == (ONE.public_text, TWO.public_text)
    assert signers(SIGNED, [THREE.public_text]).trusted == ()


@pytest.mark.parametrize("ids", [(TWO.keyid, ONE.keyid), ("", ""), ("nonsense", "zz" * 32), (THREE.keyid, THREE.keyid)])
def test_key_ids_that_are_swapped_or_wrong_change_nothing_for_trusted_keys(ids: tuple[str, str]) -> None:
    found = signers(with_ids(*ids), [ONE.public_text, TWO.public_text])
    assert found == Signers((ONE.public_text, TWO.public_text))


def test_a_key_id_makes_nobody_a_signer() -> None:
    claimed = with_ids(THREE.keyid, THREE.keyid)
    assert signers(claimed, [THREE.public_text]) == Signers((), (), (1, 2))


def test_one_key_counts_once_however_often_it_signed() -> None:
    twice = SIGNED.model_copy(update={"signatures": (SIGNED.signatures[0],) * 3})
    assert signers(twice, [ONE.public_text, TWO.public_text]).trusted == (ONE.public_text,)
    assert sign(SIGNED, ONE) == SIGNED


def test_a_signature_of_another_payload_is_nobodys() -> None:
    moved = Envelope.around(b'{"_type":"y"}').model_copy(update={"signatures": SIGNED.signatures})
    assert signers(moved, [ONE.public_text, TWO.public_text]) == Signers((), (), (1, 2))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 63), st.integers(0, 7))
def test_a_signature_with_one_bit_turned_is_nobodys(position: int, bit: int) -> None:
    data = bytearray(base64.b64decode(SIGNED.signatures[0].sig))
    data[position] ^= 1 << bit
    turned = SIGNED.signatures[0].model_copy(update={"sig": base64.b64encode(data).decode()})
    envelope = SIGNED.model_copy(update={"signatures": (turned,)})
    assert signers(envelope, [ONE.public_text]) == Signers((), (), (1,))


@pytest.mark.parametrize("length", [0, 1, 63, 65, 4096])
def test_a_signature_of_another_length_is_nobodys(length: int) -> None:
    odd = SIGNED.signatures[0].model_copy(update={"sig": base64.b64encode(bytes(length)).decode()})
    assert signers(SIGNED.model_copy(update={"signatures": (odd,)}), [ONE.public_text]).invalid == (1,)


def test_securesystemslib_alone_agrees() -> None:
    keys: list[Key] = [SSlibKey(key.keyid, "ed25519", "ed25519", {"public": key.keyid}) for key in (ONE, TWO)]
    envelope = Dsse.from_dict(json.loads(SIGNED.file_bytes()))
    assert envelope.verify(keys, 2).keys() == {ONE.keyid, TWO.keyid}
    assert envelope.payload == b'{"_type":"x"}'


def test_there_is_an_end_to_signatures() -> None:
    full = SIGNED.model_copy(update={"signatures": (SIGNED.signatures[1],) * MAX_SIGNATURES})
    with pytest.raises(ValueError, match="64 signatures already"):
        sign(full, ONE)
    with pytest.raises(InputError, match="signatures"):
        more = {**full.json_value(), "signatures": [full.signatures[0].json_value()] * (MAX_SIGNATURES + 1)}
        parse_json(Envelope, json.dumps(more).encode(), "attestation.json")


@pytest.mark.parametrize(
    "change",
    [
        {"payload": "not base64!"},
        {"payload": "QQ"},
        {"payload": "QR=="},
        {"payload": "QQ==\n"},
        {"payloadType": "text/plain"},
        {"more": 1},
        {"signatures": None},
        {"signatures": [{"keyid": "", "sig": "****"}]},
        {"signatures": [{"keyid": "k" * 257, "sig": "QQ=="}]},
        {"signatures": [{"keyid": "", "sig": "QQ==", "key": "x"}]},
    ],
)
def test_an_envelope_is_written_one_way(change: dict[str, object]) -> None:
    data = json.dumps({**SIGNED.json_value(), **change}).encode()
    with pytest.raises(InputError, match=r"attestation\.json"):
        parse_json(Envelope, data, "attestation.json")


@pytest.mark.parametrize("point", sorted(_SMALL_ORDER))
@pytest.mark.parametrize("sign_bit", [0, 0x80])
def test_a_key_under_which_anybody_can_sign_is_none(point: bytes, sign_bit: int) -> None:
    """Signatures of nothing but zeros and ones are taken for such a key's, for one message in eight at the least."""
    data = point[:-1] + bytes([point[-1] | sign_bit])
    with pytest.raises(ValueError, match="anybody can sign"):
        public_key_bytes(public_key_text(data))
    for number in range(64):
        for start in (0, 1):
            sig = base64.b64encode(bytes([start]) + bytes(63)).decode()
            forged = EnvelopeSignature(keyid=data.hex(), sig=sig)
            envelope = Envelope.around(str(number).encode()).model_copy(update={"signatures": (forged,)})
            assert signers(envelope, []).invalid == (1,)


def test_points_of_small_order_are_what_they_are_said_to_be() -> None:
    """Each has, times eight, no more than the neutral element: the verifier takes a signature that nobody made."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    taken = set()
    for point in _SMALL_ORDER:
        for number in range(200):
            try:
                Ed25519PublicKey.from_public_bytes(point).verify(bytes([1]) + bytes(63), str(number).encode())
            except (InvalidSignature, ValueError):
                continue
            taken.add(point)
            break
    assert taken == _SMALL_ORDER

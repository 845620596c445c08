"""Private keys come from a file or the environment, and go nowhere."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from evolve import redact
from evolve.errors import InputError
from evolve.promote import keys
from evolve.promote.keys import KEY_FILE_VARIABLE, KEY_VARIABLE, new_key, read_key, signing_key
from evolve.records.public_key import public_key_bytes, public_key_pem, public_key_text
from evolve.sandbox import hidden
from tests.conftest import CommandLine

PLAIN = (Encoding.PEM, PrivateFormat.PKCS8)
ENCRYPTED = Ed25519PrivateKey.generate().private_bytes(*PLAIN, BestAvailableEncryption(b"secret"))
ELLIPTIC = generate_private_key(SECP256R1()).private_bytes(*PLAIN, NoEncryption())


@pytest.fixture(autouse=True)
def nothing_is_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redact, "_registered", set())


def key_file(tmp_path: Path, data: bytes, mode: int = 0o600) -> Path:
    path = tmp_path / "key.pem"
    path.write_bytes(data)
    path.chmod(mode)
    return path


def test_a_new_key_is_its_owners_alone_and_reads_back(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        made = new_key(tmp_path / "key.pem")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "key.pem").stat().st_mode) == 0o600
    assert (tmp_path / "key.pem").read_bytes().startswith(b"-----BEGIN PRIVATE KEY-----\n")
    assert read_key(tmp_path / "key.pem", "key").public == made.public


def test_a_key_is_never_overwritten(tmp_path: Path, evolve: CommandLine) -> None:
    path = key_file(tmp_path, b"mine")
    ran = evolve("key", "new", "--out", str(path))
    assert (ran.code, path.read_bytes()) == (2, b"mine")
    assert "a key is never overwritten" in ran.err
    (tmp_path / "link.pem").symlink_to(tmp_path / "elsewhere.pem")
    assert evolve("key", "new", "--out", str(tmp_path / "link.pem")).code == 2
    assert not (tmp_path / "elsewhere.pem").exists()


def test_a_key_is_not_made_in_a_repository_however_the_path_gets_there(workspace: Path, evolve: CommandLine) -> None:
    (workspace.parent / "link").symlink_to(workspace / "skills")
    for path in ("key.pem", "skills/../key.pem", str(workspace / "key.pem"), str(workspace.parent / "link/key.pem")):
        ran = evolve("key", "new", "--out", path, "--json")
        assert (ran.code, ran.json()["error"]["code"]) == (2, "key-in-repository")
    assert not list(workspace.rglob("*.pem"))


def test_a_folder_that_is_missing_is_said(tmp_path: Path, evolve: CommandLine) -> None:
    ran = evolve("key", "new", "--out", str(tmp_path / "none/key.pem"))
    assert (ran.code, "no such folder" in ran.err) == (2, True)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o601])
def test_a_key_that_others_may_touch_is_refused(tmp_path: Path, mode: int) -> None:
    new_key(tmp_path / "key.pem")
    (tmp_path / "key.pem").chmod(mode)
    with pytest.raises(InputError) as error:
        read_key(tmp_path / "key.pem", "key")
    assert error.value.code == "key-exposed"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (ENCRYPTED, "the key is encrypted"),
        (ELLIPTIC, "another kind than Ed25519"),
        (b"", "no private key"),
        (b"\x00\xff garbage", "no private key"),
        (public_key_pem(bytes(32)).encode(), "no private key"),
        (b"x" * (keys.MAX_KEY_BYTES + 1), "too large"),
    ],
)
def test_what_is_no_plain_ed25519_key_is_refused(tmp_path: Path, data: bytes, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_key(key_file(tmp_path, data), "key")


def test_what_is_no_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    for path in (tmp_path, tmp_path / "pipe", tmp_path / "none", Path("a\0b"), Path("k" * 5000)):
        with pytest.raises(InputError):
            read_key(path, "key")


def test_the_environment_names_a_file_or_holds_the_key_and_not_both(tmp_path: Path) -> None:
    made = new_key(tmp_path / "key.pem")
    by_file = {KEY_FILE_VARIABLE: str(tmp_path / "key.pem")}
    by_value = {KEY_VARIABLE: (tmp_path / "key.pem").read_text()}
    for environment in (by_file, by_value):
        found = signing_key(environment)
        assert found is not None and found.public == made.public
    assert signing_key({}) is None
    assert signing_key({KEY_FILE_VARIABLE: "", KEY_VARIABLE: ""}) is None
    with pytest.raises(InputError, match="both set"):
        signing_key(by_file | by_value)


def test_a_key_in_the_wrong_variable_is_not_shown(
    tmp_path: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch, evolve: CommandLine
) -> None:
    new_key(tmp_path / "key.pem")
    pem = (tmp_path / "key.pem").read_text()
    monkeypatch.setenv(KEY_FILE_VARIABLE, pem)
    ran = evolve("measure", "incumbent", "--skill", "bracket")
    assert ran.code == 2
    assert f"{KEY_VARIABLE} holds the key itself" in ran.err
    assert pem.splitlines()[1] not in ran.out + ran.err


def test_no_form_of_the_key_is_in_what_is_printed_or_redacted(tmp_path: Path, evolve: CommandLine) -> None:
    made = evolve("key", "new", "--out", str(tmp_path / "key.pem"))
    shown = evolve("key", "show", str(tmp_path / "key.pem"))
    as_json = evolve("key", "show", str(tmp_path / "key.pem"), "--json")
    key = read_key(tmp_path / "key.pem", "key")
    seed = key.private.private_bytes_raw()
    forms = (seed.hex(), public_key_text(seed), (tmp_path / "key.pem").read_text().splitlines()[1])
    for form in forms:
        for ran in (made, shown, as_json):
            assert form not in ran.out + ran.err
        assert form not in redact.redact(f"said {form} aloud", {})
        assert form not in repr(key)


def test_show_prints_what_a_policy_and_other_tools_take(tmp_path: Path, evolve: CommandLine) -> None:
    private = Ed25519PrivateKey.generate()
    path = key_file(tmp_path, private.private_bytes(*PLAIN, NoEncryption()))
    found = evolve("key", "show", str(path), "--json").json()
    public = private.public_key()
    assert public_key_bytes(found["public_key"]) == public_key_bytes(found["pem"]) == public.public_bytes_raw()
    assert found["pem"].encode() == public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    assert found["keyid"] == public.public_bytes_raw().hex()


def test_no_sandbox_sees_the_file_that_the_environment_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hidden, "_HIDDEN", set())
    path = key_file(tmp_path, b"key")
    monkeypatch.setenv(KEY_FILE_VARIABLE, str(path))
    keys.hide_key_file()
    assert hidden.hiding([str(tmp_path)]) == ["--ro-bind", "/dev/null", str(path)]

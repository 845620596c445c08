"""Private keys (Ed25519): made into a file of one's own, read from a file or the environment, told to nobody."""

from __future__ import annotations

import base64
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from evolve.errors import EnvironmentFault, InputError
from evolve.records.public_key import public_key_text
from evolve.redact import register_secret
from evolve.sandbox.hidden import hide

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

KEY_FILE_VARIABLE = "EVOLVE_SIGNING_KEY"
KEY_VARIABLE = "EVOLVE_SIGNING_KEY_PEM"
MAX_KEY_BYTES = 16 * 1024
CONVERT = "evolve key new --out FILE makes one"


@dataclass(frozen=True)
class SigningKey:
    """A private key that signs, and its public half."""

    private: Ed25519PrivateKey = field(repr=False)
    public: bytes

    @property
    def keyid(self) -> str:
        """The hint that signatures carry: the public key in hexadecimal, so that anybody can check them."""
        return self.public.hex()

    @property
    def public_text(self) -> str:
        """The public key as a policy names it."""
        return public_key_text(self.public)


def _hidden(private: Ed25519PrivateKey) -> SigningKey:
    """Take the key's own forms out of every text from now on."""
    seed, pem = private.private_bytes_raw(), private_pem(private)
    for form in (pem, *pem.splitlines()[1:-1], seed.hex(), base64.b64encode(seed).decode("ascii")):
        register_secret(form)
    return SigningKey(private, private.public_key().public_bytes_raw())


def private_pem(private: Ed25519PrivateKey) -> str:
    """Return a private key as PKCS #8 in PEM."""
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    return private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode("ascii")


def parse_key(pem: bytes, where: str) -> SigningKey:
    """Read a private key.

    Args:
        pem: PKCS #8 in PEM, not encrypted.
        where: What it came from, for messages; never the key.

    Raises:
        InputError: It is no key, encrypted, or of another kind.

    """
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        private = load_pem_private_key(pem, password=None)
    except TypeError:
        hint = "openssl pkey -in FILE -out PLAIN decrypts it"
        raise InputError(f"{where}: the key is encrypted", hint=hint, code="bad-key") from None
    except (ValueError, UnsupportedAlgorithm):
        raise InputError(f"{where}: no private key in PEM", hint=CONVERT, code="bad-key") from None
    if not isinstance(private, Ed25519PrivateKey):
        raise InputError(f"{where}: a key of another kind than Ed25519", hint=CONVERT, code="bad-key")
    return _hidden(private)


def read_key(path: Path, where: str) -> SigningKey:
    """Read a private key from a file that is readable by its owner alone.

    Raises:
        InputError: The file is missing, too large, open to others, or holds no such key.

    """
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise InputError(f"{where}: not a file", code="bad-key")
            if status.st_mode & 0o077:
                raise InputError(
                    f"{where}: others may read this private key (mode {stat.S_IMODE(status.st_mode):04o})",
                    hint="chmod 600 it; if others could read it already, make a new one",
                    code="key-exposed",
                )
            pem = file.read(MAX_KEY_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a path"
        hint = f"{KEY_FILE_VARIABLE} names a file; {KEY_VARIABLE} holds the key itself"
        raise InputError(f"{where}: cannot be read: {reason}", hint=hint, code="missing-key") from None
    if len(pem) > MAX_KEY_BYTES:
        raise InputError(f"{where}: too large for a private key", code="bad-key")
    return parse_key(pem, where)


def signing_key(environment: Mapping[str, str] | None = None) -> SigningKey | None:
    """Return the key that the environment names, or ``None``.

    Raises:
        InputError: Two are named, or the one that is cannot be used.

    """
    given = os.environ if environment is None else environment
    path, pem = given.get(KEY_FILE_VARIABLE, ""), given.get(KEY_VARIABLE, "")
    if path and pem:
        raise InputError(f"{KEY_FILE_VARIABLE} and {KEY_VARIABLE} are both set", hint="unset one", code="bad-key")
    if pem:
        return parse_key(pem.encode("utf-8", errors="replace"), KEY_VARIABLE)
    return read_key(Path(path), KEY_FILE_VARIABLE) if path else None


def hide_key_file() -> None:
    """Have no sandbox see the file that the environment names, wherever it lies."""
    path = os.environ.get(KEY_FILE_VARIABLE, "")
    if path and os.path.isfile(path):
        hide(Path(path))


def repository_of(path: Path) -> Path | None:
    """Return the root of the git repository that a path lies in, if it does."""
    return next((folder for folder in path.parents if (folder / ".git").exists()), None)


def _fill(descriptor: int, path: Path, data: bytes) -> None:
    """Write a new file to the disk, or take it away again."""
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        path.unlink(missing_ok=True)
        raise


def new_key(path: Path) -> SigningKey:
    """Make a key and write it to a new file that only its owner may read.

    Raises:
        InputError: The path lies in a git repository, exists, or its folder does not.
        EnvironmentFault: The file system refused.

    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    resolved = path.parent.resolve() / path.name
    if (repository := repository_of(resolved)) is not None:
        raise InputError(
            f"{path}: inside the git repository {repository}, where a private key must never lie",
            hint="give a path outside of it",
            code="key-in-repository",
        )
    key = _hidden(Ed25519PrivateKey.generate())
    try:
        descriptor = os.open(resolved, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        _fill(descriptor, resolved, private_pem(key.private).encode("ascii"))
    except FileExistsError:
        raise InputError(
            f"{path}: exists; a key is never overwritten", hint="give another path", code="exists"
        ) from None
    except FileNotFoundError:
        raise InputError(f"{path.parent}: no such folder", hint=f"mkdir -p {path.parent}", code="no-folder") from None
    except OSError as error:
        raise EnvironmentFault(f"{path}: cannot be written: {error.strerror}", code="not-written") from error
    return key

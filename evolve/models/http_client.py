"""What all our HTTP shares: certificates, and bodies that cannot grow without bound."""

from __future__ import annotations

import os
import ssl
from urllib.parse import unquote

import httpx

from evolve.errors import EnvironmentFault

CONNECT_TIMEOUT_S = 10.0


class BodyTooLarge(Exception):
    """A response body is larger than its cap."""


def ssl_context() -> ssl.SSLContext:
    """Return a context that trusts the system's authorities and those of the usual variables.

    ``SSL_CERT_FILE``, ``SSL_CERT_DIR``, ``PIP_CERT`` and ``REQUESTS_CA_BUNDLE`` are respected, since a machine
    behind an inspecting proxy sets one of them.

    Raises:
        EnvironmentFault: A file that a variable names holds no certificates.

    """
    context = httpx.create_ssl_context()
    context.load_default_certs()
    for variable in ("PIP_CERT", "REQUESTS_CA_BUNDLE"):
        path = os.environ.get(variable)
        if path and os.path.isfile(path):
            try:
                context.load_verify_locations(cafile=path)
            except OSError as error:
                raise EnvironmentFault(f"{variable}={path}: holds no certificates that can be read") from error
    return context


def without_credentials(url: str) -> tuple[str, tuple[str, str] | None]:
    """Split user and password off an address, so that they reach no log and no message."""
    parsed = httpx.URL(url)
    if not parsed.userinfo:
        return url, None
    user, _, password = parsed.userinfo.decode("ascii").partition(":")
    return str(parsed.copy_with(userinfo=b"")), (unquote(user), unquote(password))


def add_capped(body: bytearray, chunk: bytes, max_bytes: int) -> None:
    """Append a chunk to a body.

    Raises:
        BodyTooLarge: The body would pass ``max_bytes``.

    """
    if len(body) + len(chunk) > max_bytes:
        raise BodyTooLarge(f"more than {max_bytes} bytes")
    body += chunk

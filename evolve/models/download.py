"""Downloading one file so that a broken connection costs only what was in flight."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

import httpx

from evolve.models.http_client import CONNECT_TIMEOUT_S, ssl_context

READ_TIMEOUT_S = 30.0
MAX_FUTILE_TRIES = 3
RETRY_PAUSE_S = 1.0
RETRIED_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504})

Credentials = tuple[str, str]
ByteProgress = Callable[[int], None]


class DownloadFault(Exception):
    """A source does not deliver; ``str()`` is one line that says why."""


class _TryAgain(Exception):
    """One try failed; the next one may work."""


def http_client() -> httpx.Client:
    """Return a client for downloads; it follows redirects and gives up on a silent host."""
    timeout = httpx.Timeout(READ_TIMEOUT_S, connect=CONNECT_TIMEOUT_S)
    return httpx.Client(verify=ssl_context(), timeout=timeout, follow_redirects=True)


def download(
    client: httpx.Client,
    url: str,
    target: Path,
    *,
    max_bytes: int,
    progress: ByteProgress,
    credentials: Credentials | None = None,
) -> None:
    """Fetch an address into a file, going on behind what the file already holds.

    Args:
        client: See :func:`http_client`.
        url: The address, without credentials in it.
        target: The file; it is kept when this fails, so that the next call resumes.
        max_bytes: A longer file is refused.
        progress: Is told the file's size as it grows.
        credentials: User and password for the address's host.

    Raises:
        DownloadFault: The host cannot be reached, refuses, sends too much, or breaks off without progress.
        OSError: The file cannot be written.

    """
    futile = 0
    while True:
        before = _size(target)
        try:
            _fetch_rest(client, url, target, max_bytes, progress, credentials)
            return
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.UnsupportedProtocol) as error:
            raise DownloadFault(f"cannot be reached: {_reason(error)}") from error
        except (httpx.TransportError, _TryAgain) as error:
            futile = 0 if _size(target) > before else futile + 1
            if futile >= MAX_FUTILE_TRIES:
                raise DownloadFault(f"broke off {futile} times: {_reason(error)}") from error
            time.sleep(RETRY_PAUSE_S)
        except (httpx.TooManyRedirects, httpx.InvalidURL) as error:
            raise DownloadFault(f"bad address: {_reason(error)}") from error


def _fetch_rest(
    client: httpx.Client,
    url: str,
    target: Path,
    max_bytes: int,
    progress: ByteProgress,
    credentials: Credentials | None,
) -> None:
    start = _size(target)
    headers = {"Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
    auth = httpx.BasicAuth(*credentials) if credentials else None
    with client.stream("GET", url, headers=headers, auth=auth) as response:
        if response.status_code == 416 and response.headers.get("content-range") == f"bytes */{start}":
            return
        start, total = _accepted(response, start, target)
        if total is not None and total > max_bytes:
            raise DownloadFault(f"offers {total} bytes, {max_bytes} are expected at most")
        with target.open("ab" if start else "wb") as file:
            for chunk in response.iter_raw():
                start += len(chunk)
                if start > max_bytes:
                    raise DownloadFault(f"sends more than the {max_bytes} bytes expected at most")
                file.write(chunk)
                progress(start)
    if total is not None and start < total:
        raise _TryAgain(f"{start} of {total} bytes came")


def _accepted(response: httpx.Response, start: int, target: Path) -> tuple[int, int | None]:
    """Return where the body starts in the file, and the size of the whole file if it is known."""
    status = response.status_code
    if status == 200:
        length = response.headers.get("content-length", "")
        return 0, int(length) if length.isdigit() else None
    if status == 206:
        span = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", response.headers.get("content-range", ""))
        if span and int(span[1]) == start:
            return start, None if span[2] == "*" else int(span[2])
    if status in (206, 416):
        # What lies here does not belong to what is offered there: begin again.
        target.unlink(missing_ok=True)
        raise _TryAgain(f"it cannot resume (HTTP {status})")
    if status in RETRIED_STATUS:
        raise _TryAgain(f"HTTP {status}")
    raise DownloadFault(f"HTTP {status}")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _reason(error: Exception) -> str:
    return str(error).partition("\n")[0][:200] or type(error).__name__

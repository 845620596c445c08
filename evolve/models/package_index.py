"""Finding a wheel's address through a package index's simple API (PEP 503, PEP 691)."""

from __future__ import annotations

import html.parser
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

import httpx

from evolve.models.download import Credentials, DownloadFault
from evolve.models.http_client import BodyTooLarge, add_capped, without_credentials

INDEX_VARIABLES = ("PIP_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL")
ACCEPTED = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"
MAX_PAGE_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True)
class WheelAddress:
    """Where a wheel lies; ``credentials`` are those of the index, for files on the same host."""

    url: str
    credentials: Credentials | None


def index_url() -> str:
    """Return the package index of the user's environment, or else the one that pip uses here.

    Raises:
        DownloadFault: Neither says which.

    """
    for variable in INDEX_VARIABLES:
        if os.environ.get(variable):
            return os.environ[variable]
    found = _configured_for_pip() or _built_into_pip()
    if found is None:
        raise DownloadFault(f"no package index is known; set {INDEX_VARIABLES[0]}, or install pip beside evolve")
    return found


def _configured_for_pip() -> str | None:
    command = [sys.executable, "-m", "pip", "config", "list"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r"^(?:global|install|download)\.index-url='([^']+)'$", answer.stdout, re.MULTILINE)
    return found[1] if found else None


def _built_into_pip() -> str | None:
    try:
        from pip._internal.models.index import PyPI
    except ImportError:
        return None
    return f"{PyPI.simple_url}/"


def normal_name(name: str) -> str:
    """Return a distribution's normalised name (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def find_wheel(client: httpx.Client, distribution: str, version: str) -> WheelAddress:
    """Find the wheel of one version of a distribution.

    Raises:
        DownloadFault: The index cannot be read or does not have it.

    """
    try:
        index, credentials = without_credentials(index_url())
        return _find(client, index, credentials, distribution, version)
    except httpx.InvalidURL as error:
        raise DownloadFault(f"not an address: {error}") from error


def _find(
    client: httpx.Client, index: str, credentials: Credentials | None, distribution: str, version: str
) -> WheelAddress:
    url = f"{index.rstrip('/')}/{normal_name(distribution)}/"
    response, body = _page(client, url, credentials)
    is_json = "json" in response.headers.get("content-type", "")
    files = _files_of_json(body, url) if is_json else _files_of_html(body)
    for name, link in files:
        parts = name.removesuffix(".whl").split("-")
        if name.endswith(".whl") and normal_name(parts[0]) == normal_name(distribution) and parts[1:2] == [version]:
            address, own = without_credentials(str(response.url.join(link)))
            same_host = httpx.URL(address).host == httpx.URL(index).host
            return WheelAddress(address.partition("#")[0], own or (credentials if same_host else None))
    raise DownloadFault(f"{url}: no wheel of version {version}")


def _page(client: httpx.Client, url: str, credentials: Credentials | None) -> tuple[httpx.Response, bytes]:
    auth = httpx.BasicAuth(*credentials) if credentials else None
    body = bytearray()
    try:
        with client.stream("GET", url, headers={"Accept": ACCEPTED}, auth=auth) as response:
            if response.status_code != 200:
                raise DownloadFault(f"{url}: HTTP {response.status_code}")
            for chunk in response.iter_bytes():
                add_capped(body, chunk, MAX_PAGE_BYTES)
    except (httpx.HTTPError, BodyTooLarge) as error:
        raise DownloadFault(f"{url}: cannot be read: {str(error) or type(error).__name__}") from error
    return response, bytes(body)


def _files_of_json(body: bytes, url: str) -> list[tuple[str, str]]:
    try:
        page: Any = json.loads(body)
        return [(str(file["filename"]), str(file["url"])) for file in page["files"]]
    except (ValueError, KeyError, TypeError) as error:
        raise DownloadFault(f"{url}: not an index page") from error


class _Links(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        link = dict(attrs).get("href") if tag == "a" else None
        if link:
            self.found.append((unquote(urlsplit(link).path.rpartition("/")[2]), link))


def _files_of_html(body: bytes) -> list[tuple[str, str]]:
    links = _Links()
    links.feed(body.decode("utf-8", errors="replace"))
    return links.found

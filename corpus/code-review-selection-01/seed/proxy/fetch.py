"""Fetches pages for the proxy; one event loop serves all users."""

from __future__ import annotations

import asyncio
import urllib.request

from proxy.cache import Cache

CACHE = Cache(seconds=60)


def _download(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=20) as answer:
        return answer.read()


async def fetch(url: str) -> bytes:
    """Return a page, from the cache if it is there."""
    kept = CACHE.get(url)
    if kept is not None:
        return kept
    page = await asyncio.to_thread(_download, url)
    CACHE.put(url, page)
    return page

"""The server of ``evolve view``: on loopback alone, for who has the token, answering questions and changing nothing."""

from __future__ import annotations

import json
import re
import secrets
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final
from urllib.parse import quote

import anyio
import uvicorn
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from evolve.view.linked import NAME
from evolve.view.live import IndexWatch, SweepWatch, Watch
from evolve.view.site import Site, known

HOST: Final = "127.0.0.1"
POLL_S: Final = 0.5
HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_EVENTS = re.compile(rf"(?:sweep/({NAME})/)?events")
Endpoint = Callable[[Request], Awaitable[Response]]


def application(site: Site, token: str, *, hosts: frozenset[str], poll_s: float = POLL_S) -> Starlette:
    """Return the application.

    Args:
        site: The pages.
        token: What every path begins with; whoever does not know it learns nothing.
        hosts: The names that it answers to, so that a name of somebody else that leads here is refused.
        poll_s: How often a page that is followed is looked at.

    """

    async def answer(request: Request) -> Response:
        if request.headers.get("host", "") not in hosts:
            return Response("not found\n", 404, HEADERS, "text/plain")
        given, _, path = request.path_params["path"].partition("/")
        if not secrets.compare_digest(given.encode(), token.encode()):
            return Response("not found\n", 404, HEADERS, "text/plain")
        if events := _EVENTS.fullmatch(path):
            if request.method == "HEAD":
                return Response(None, 200, HEADERS, "text/event-stream")
            watch = SweepWatch(site, events[1], _since(request)) if events[1] else IndexWatch(site, poll_s / 2)
            return EventSourceResponse(_told(watch, poll_s), headers=HEADERS)
        if path in ("", "compare"):
            return _redirect(request, token, path)
        return await run_in_threadpool(_page, site, path)

    return Starlette(routes=[Route("/{path:path}", answer, methods=["GET", "HEAD"])])


def _since(request: Request) -> int | None:
    """Return how many events are told already: what a browser that lost us says, else what its page does."""
    told = request.headers.get("last-event-id") or request.query_params.get("since", "")
    return int(told) if re.fullmatch("[0-9]{1,12}", told) else None


def _redirect(request: Request, token: str, path: str) -> Response:
    """Lead from a form, or from the bare token, to a page."""
    names = [request.query_params.get(name, "") for name in ("a", "b")]
    if path == "compare" and all(re.fullmatch(NAME, name) for name in names):
        return RedirectResponse(f"/{token}/compare/{'/'.join(map(quote, names))}.html", 303, HEADERS)
    return RedirectResponse(f"/{token}/index.html", 303, HEADERS)


def _page(site: Site, path: str) -> Response:
    depth = path.count("/")
    try:
        page = site.page(path)
    except Exception as error:  # whatever lies on the disk, the server goes on
        return Response(site.error_page("This cannot be shown", known(error), depth), 500, HEADERS, "text/html")
    if page is None:
        return Response(site.error_page("Not found", None, depth), 404, HEADERS, "text/html")
    return Response(page, 200, HEADERS, "text/html")


async def _told(watch: Watch, poll_s: float) -> AsyncIterator[ServerSentEvent]:
    """Yield what changes, until nothing more can."""
    while True:
        try:
            news = await run_in_threadpool(watch.news)
        except Exception:  # the page itself says what is damaged when it is loaded anew
            yield ServerSentEvent(data="", event="over")
            return
        if news:
            yield ServerSentEvent(data=json.dumps(news), event="parts", id=str(watch.at))
        if watch.over:
            yield ServerSentEvent(data="", event="over")
            return
        await anyio.sleep(poll_s)


class Viewer:
    """A server that has its port already; it answers once it is run.

    Args:
        site: The pages.
        port: Where it listens on loopback; 0: wherever there is room.

    Raises:
        OSError: The port is taken.

    """

    def __init__(self, site: Site, port: int = 0) -> None:
        self._socket = socket.create_server((HOST, port))
        self.port = self.listens_on[1]
        self.token = secrets.token_urlsafe(24)
        hosts = frozenset(f"{name}:{self.port}" for name in (HOST, "localhost"))
        config = uvicorn.Config(
            application(site, self.token, hosts=hosts),
            log_config=None,
            log_level="critical",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=1,
            ws="none",
            lifespan="off",
        )
        self._server = uvicorn.Server(config)

    @property
    def url(self) -> str:
        """The address of its first page."""
        return f"http://{HOST}:{self.port}/{self.token}/index.html"

    def run(self) -> None:
        """Answer until somebody stops it."""
        with self._socket:
            self._server.run([self._socket])

    @property
    def listens_on(self) -> tuple[str, int]:
        """The address and port that it listens on."""
        host, port = self._socket.getsockname()
        return host, port

    def close(self) -> None:
        """Give the port back without having run."""
        self._socket.close()

    def stop(self) -> None:
        """Have it end, from another thread."""
        self._server.should_exit = True

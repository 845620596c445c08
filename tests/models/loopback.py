"""A small real HTTP server on loopback for tests."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True)
class Response:
    """``cut_at`` ends the connection after so many bytes; ``pause_s`` is waited before each of ``pieces``."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    cut_at: int | None = None
    pieces: int = 1
    pause_s: float = 0.0
    state_length: bool = True


Answer = Callable[[Request], Response]


@dataclass
class Loopback:
    url: str
    requests: list[Request] = field(default_factory=list)

    def seen(self, part: str) -> list[Request]:
        return [request for request in self.requests if part in request.path]


@contextlib.contextmanager
def serving(answer: Answer) -> Iterator[Loopback]:
    """Serve until the block ends."""
    stopping = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

        def do_GET(self) -> None:
            self._serve()

        def do_POST(self) -> None:
            self._serve()

        def _serve(self) -> None:
            headers = {key.lower(): value for key, value in self.headers.items()}
            body = self.rfile.read(int(headers.get("content-length", "0")))
            request = Request(self.command, self.path, headers, body)
            loopback.requests.append(request)
            # Whoever hangs up on us is what some of these tests are about.
            with contextlib.suppress(OSError):
                self._send(answer(request))

        def _send(self, response: Response) -> None:
            self.send_response(response.status)
            for key, value in response.headers.items():
                self.send_header(key, value)
            if response.state_length:
                self.send_header("Content-Length", str(len(response.body)))
            self.end_headers()
            body = response.body[: response.cut_at]
            size = max(1, -(-len(body) // response.pieces))
            for start in range(0, max(1, len(body)), size):
                stopping.wait(response.pause_s)
                self.wfile.write(body[start : start + size])
                self.wfile.flush()
            self.close_connection = True

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    loopback = Loopback(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield loopback
    finally:
        stopping.set()
        server.shutdown()
        server.server_close()
        thread.join()

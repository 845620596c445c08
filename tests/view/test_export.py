"""Every page as files: all or none."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from evolve.corpus.loading import LoadedTask, load_task
from evolve.errors import EnvironmentFault, InputError
from evolve.report.cell import reader
from evolve.view.export import export_site
from evolve.view.site import Site
from tests.view.conftest import MakeSite


def test_every_page_is_a_file_and_nothing_in_it_needs_a_server(make_site: MakeSite, tmp_path: Path) -> None:
    site = make_site(live=False, cells=True)
    count = export_site(site, tmp_path / "out").pages
    files = {path.relative_to(tmp_path / "out").as_posix(): path for path in tmp_path.joinpath("out").rglob("*.html")}
    assert set(files) == set(site.paths()) and count == len(files)
    for path in files.values():
        text = path.read_text()
        assert "data-live=" not in text and '<form class="compare"' not in text and "connect-src" not in text


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_what_is_there_is_not_overwritten(make_site: MakeSite, tmp_path: Path, kind: str) -> None:
    target = tmp_path / "out"
    if kind == "file":
        target.write_text("mine")
    else:
        (target / "mine").mkdir(parents=True)
    with pytest.raises(InputError, match="there is something already"):
        export_site(make_site(live=False), target)
    assert target.exists() and not list(tmp_path.glob(".evolve-*"))


def test_an_empty_folder_is_filled(make_site: MakeSite, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    assert export_site(make_site(live=False, cells=False), tmp_path / "out").pages > 1
    assert (tmp_path / "out/index.html").is_file()


def test_nothing_half_written_stays(make_site: MakeSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = make_site(live=False, cells=False)
    write = Path.write_bytes

    def full(path: Path, data: bytes) -> int:
        if "sweep" in path.parts:
            raise OSError(28, "No space left on device", str(path))
        return write(path, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(EnvironmentFault, match="No space left"):
        export_site(site, tmp_path / "out")
    assert not list(tmp_path.glob("*out*"))


def test_a_page_that_cannot_be_shown_says_so_in_its_place(make_site: MakeSite, tmp_path: Path) -> None:
    site: Site = make_site(live=False, cells=False)
    sweep = next(site.workspace.sweeps.glob("*/plan.json"))
    sweep.write_text("{")
    export_site(site, tmp_path / "out")
    assert "This cannot be shown" in (tmp_path / f"out/sweep/{sweep.parent.name}/index.html").read_text()


def test_a_task_is_read_once_and_a_plan_never_again(
    make_site: MakeSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: Counter[str] = Counter()

    def counted(folder: Path) -> LoadedTask:
        read[folder.name] += 1
        return load_task(folder)

    monkeypatch.setattr(reader, "load_task", counted)
    monkeypatch.setattr(reader, "plan_of", lambda *_: 1 / 0)
    site = make_site(live=False, cells=True)
    export_site(site, tmp_path / "out")
    cells = len(list(tmp_path.glob("out/sweep/*/cell/*.html")))
    sweeps = len(list(tmp_path.glob("out/sweep/*")))
    assert cells > 2 * sum(read.values()) and max(read.values()) <= sweeps


@pytest.mark.parametrize("fault", ["link", "own"])
def test_one_page_that_cannot_be_read_takes_no_other_with_it_and_is_told(
    make_site: MakeSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    site = make_site(live=False, cells=False)
    sweep = next(site.workspace.sweeps.glob("*/plan.json")).parent
    if fault == "link":
        (sweep / "journal.jsonl").unlink()
        (sweep / "journal.jsonl").symlink_to("journal.jsonl")
    else:
        monkeypatch.setattr(site, "reading", lambda _: 1 / 0)
    found = export_site(site, tmp_path / "out")
    path = f"sweep/{sweep.name}/index.html"
    assert path in found.faults
    assert "This cannot be shown" in (tmp_path / "out" / path).read_text()
    assert (tmp_path / "out/index.html").is_file()
    assert ("symbolic links" if fault == "link" else "ZeroDivisionError") in found.faults[path]


@pytest.mark.parametrize("name", ["link", "x" * 250, "<b> %41 \u00fc"])
def test_a_folder_of_any_name_is_filled_through_a_link_as_well(make_site: MakeSite, tmp_path: Path, name: str) -> None:
    if name == "link":
        (tmp_path / "real").mkdir()
        (tmp_path / "link").symlink_to("real")
    export_site(make_site(live=False, cells=False), tmp_path / name)
    assert (tmp_path / name / "index.html").is_file()
    assert (tmp_path / "link").is_symlink() == (name == "link")


def test_the_folder_that_somebody_stands_in_is_not_replaced(
    make_site: MakeSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = make_site(live=False, cells=False)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(InputError, match="the working folder"):
        export_site(site, Path())

"""The formats of ``evolve report`` and the tables of ``evolve export``."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest

from evolve.workspace import find_workspace
from tests.builders import NO_FILES, put_no_file
from tests.conftest import CommandLine
from tests.promote.conftest import Measured, measured, measured_once
from tests.report.reading import named, read_page
from tests.worlds import ScriptedModel

__all__ = ["measured", "measured_once"]
DOCUMENT = Path(__file__).parents[2] / "docs/reports.md"


def cells(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


def sweep_of(measured: Measured) -> str:
    return measured.evidence().promotion.sweep


def test_markdown_is_the_default(measured: Measured, evolve: CommandLine) -> None:
    folder = str(measured.folder)
    assert evolve("report", folder).out == evolve("report", folder, "--md").out


def test_the_cells_of_a_sweep_and_of_its_promotion_are_the_same(measured: Measured, evolve: CommandLine) -> None:
    sweep, promotion = evolve("report", sweep_of(measured), "--csv"), evolve("report", str(measured.folder), "--csv")
    assert sweep.out == promotion.out
    assert len(cells(sweep.out)) == len(measured.evidence().rows) == 48


def test_a_promotion_is_a_test_suite(measured: Measured, evolve: CommandLine) -> None:
    ran = evolve("report", str(measured.folder), "--junit", "--output", "gate.xml")
    assert (ran.code, ran.out, ran.err) == (0, "", "written: gate.xml\n")
    assert ElementTree.fromstring(Path("gate.xml").read_bytes()).attrib["failures"] == "0"
    shown = evolve("report", str(measured.folder), "--junit").out
    assert shown.encode() == Path("gate.xml").read_bytes()


def test_a_sweep_is_no_test_suite(measured: Measured, evolve: CommandLine) -> None:
    ran = evolve("report", sweep_of(measured), "--junit")
    assert ran.code == 2 and "is a sweep, which decides nothing" in ran.err


@pytest.mark.parametrize("formats", [("--md", "--csv"), ("--json", "--junit"), ("--md", "--json", "--csv")])
def test_a_report_has_one_format(workspace: Path, evolve: CommandLine, formats: tuple[str, ...]) -> None:
    ran = evolve("report", *formats)
    assert ran.code == 2 and "one of --md, --json, --csv, --junit and --html" in ran.out + ran.err


def test_a_generation_is_reported_by_the_evidence_of_its_finalist(
    workspace: Path, model: ScriptedModel, evolve: CommandLine
) -> None:
    assert evolve("generation").code == 0
    folder = next((workspace / "promotion/bracket").iterdir())
    for form in ("--csv", "--junit", "--html"):
        assert evolve("report", form).out == evolve("report", str(folder), form).out
    assert "name its sweeps or its evidence" in evolve("export", "g0001", "--csv").err
    state = workspace / "results/generations/g0001/generation.json"
    state.write_text(json.dumps({**json.loads(state.read_text()), "evidence": None}))
    for form in ("--csv", "--junit"):
        ran = evolve("report", form)
        assert ran.code == 2 and "g0001: decided on no candidate" in ran.err
    page = read_page(evolve("report", "--html").out.encode())
    assert named(page, "h1")[0].text == "generation g0001" and "proposals" in [t.attributes.get("id") for t in page.all]
    ran = evolve("report", "--html", "--cells")
    assert ran.code == 2 and "give one of its sweeps" in ran.err


def test_an_export_names_the_source_of_each_cell(measured: Measured, evolve: CommandLine) -> None:
    relative = measured.folder.relative_to(measured.root).as_posix()
    ran = evolve("export", sweep_of(measured), relative, "--csv")
    rows = cells(ran.out)
    assert [row["source"] for row in rows] == [sweep_of(measured)] * 48 + [relative] * 48
    assert [{**row, "source": ""} for row in rows[:48]] == [{**row, "source": ""} for row in rows[48:]]
    assert evolve("export", relative, "--csv", "--output", "cells.csv").code == 0
    listed = evolve("export", relative, "--json").json()
    assert [row["key"] for row in listed] == [row["key"] for row in rows[48:]]
    assert listed[0] | {"turns": None, "run": int(rows[48]["run"]), "measured_at": rows[48]["measured_at"]} == listed[0]
    assert Path("cells.csv").read_bytes() == evolve("export", relative, "--csv").out.encode()


def test_an_export_as_parquet(measured: Measured, evolve: CommandLine) -> None:
    pytest.importorskip("pyarrow")
    import pyarrow.parquet as parquet

    ran = evolve("export", sweep_of(measured), "--parquet", "--output", "cells.parquet")
    assert (ran.code, ran.err) == (0, "written: cells.parquet\n")
    table = parquet.read_table("cells.parquet")
    listed = cells(evolve("export", sweep_of(measured), "--csv").out)
    assert table.column("key").to_pylist() == [row["key"] for row in listed]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("SWEEP",), "one of --csv, --parquet and --json"),
        (("SWEEP", "--csv", "--parquet"), "one of --csv, --parquet and --json"),
        (("SWEEP", "--parquet"), "say where to write it"),
        (("SWEEP", "SWEEP", "--csv"), "named twice"),
        (("nothing", "--csv"), "nothing: no generation, sweep or promotion"),
        ((), "SWEEP"),
    ],
)
def test_what_cannot_be_exported_is_a_usage_error(
    measured: Measured, evolve: CommandLine, arguments: tuple[str, ...], told: str
) -> None:
    ran = evolve("export", *(sweep_of(measured) if one == "SWEEP" else one for one in arguments))
    assert ran.code == 2 and told in ran.err


def test_cells_are_in_the_page_when_they_are_asked_for(measured: Measured, evolve: CommandLine) -> None:
    plain = evolve("report", str(measured.folder), "--html")
    ran = evolve("report", str(measured.folder), "--html", "--cells")
    assert (plain.code, ran.code) == (0, 0)
    page = read_page(ran.out.encode())
    drawers = [element for element in page.all if element.attributes.get("class") == "drawer"]
    assert len(drawers) == len(measured.evidence().rows)
    assert all("Prompt" in drawer.text and "Reply" in drawer.text for drawer in drawers)
    assert 'class="drawer"' not in plain.out


def test_cells_are_refused_where_nothing_of_them_is(measured: Measured, evolve: CommandLine) -> None:
    ran = evolve("report", str(measured.folder), "--cells")
    assert ran.code == 2 and "--cells is of --html alone" in ran.err
    shutil.rmtree(find_workspace(measured.root).sweeps)
    ran = evolve("report", str(measured.folder), "--html", "--cells")
    assert ran.code == 2 and "not on this machine" in ran.err and "Traceback" not in ran.err


@pytest.mark.parametrize("kind", NO_FILES)
def test_nobody_waits_for_a_generation_that_is_no_file(workspace: Path, evolve: CommandLine, kind: str) -> None:
    folder = workspace / "results/generations/g0001"
    folder.mkdir(parents=True)
    put_no_file(folder / "generation.json", kind)
    ran = evolve("report", "g0001", "--json")
    assert ran.code == 2 and "generation.json: not a file" in ran.err


def test_where_nothing_can_be_written_what_to_do_is_told(
    measured: Measured, evolve: CommandLine, tmp_path: Path
) -> None:
    sweep = measured.evidence().promotion.sweep
    ran = evolve("report", sweep, "--csv", "--output", "/proc/nowhere.csv")
    assert ran.code == 1 and "/proc/nowhere.csv: cannot be written" in ran.err
    assert "give another file with --output" in ran.err and "evolve resume" not in ran.err
    ran = evolve("report", sweep, "--csv", "--output", "")
    assert ran.code == 2 and "is a folder" in ran.err


@pytest.mark.parametrize(
    "command",
    [
        ("report", "SWEEP"),
        ("report", "SWEEP", "--json"),
        ("report", "SWEEP", "--html"),
        ("scorecard", "SWEEP"),
        ("compare", "SWEEP", "SWEEP"),
        ("watch", "SWEEP"),
    ],
)
def test_a_plan_that_is_not_the_one_of_the_journal_is_told(
    measured: Measured, evolve: CommandLine, command: tuple[str, ...]
) -> None:
    sweep = sweep_of(measured)
    arguments = [sweep if one == "SWEEP" else one for one in command]
    assert evolve(*arguments).code == 0
    plan = find_workspace(measured.root).sweeps / sweep / "plan.json"
    plan.write_text(plan.read_text().replace('"runs":3', '"runs":4'))
    ran = evolve(*arguments)
    assert ran.code == 1 and "not the plan that the journal began with" in ran.err


def test_a_sweep_of_one_arm_is_shown_by_where_it_stands(measured: Measured, evolve: CommandLine) -> None:
    sweeps = find_workspace(measured.root).sweeps
    alone = next(path.name for path in sweeps.iterdir() if path.is_dir() and path.name != sweep_of(measured))
    ran = evolve("report", alone, "--html")
    page = read_page(ran.out.encode())
    assert ran.code == 0 and named(page, "h1")[0].text == f"sweep {alone}"
    assert "3 cells in the order" in named(page, "main")[0].text and "href" not in str(named(page, "td")[0].attributes)
    ran = evolve("report", alone, "--html", "--cells")
    assert ran.code == 2 and "evolve view has a page for each cell" in ran.err

"""Files and bundles stay within their limits, and what was cut is said."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from evolve.propose.bundle.limits import GAP, NOTE_BYTES, Section, fitted_file, size_of, within

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"), min_size=1, max_size=80)
SECTIONS = st.lists(st.builds(Section, TEXT, st.lists(TEXT, min_size=1, max_size=6).map(tuple)), max_size=6)


def test_a_file_with_room_holds_everything_and_says_nothing() -> None:
    fitted = fitted_file("a.md", "# A", [Section("One", ("x", "y")), Section("Two", ("z",))])
    assert fitted.text == "# A\n\n## One\n\nx\n\ny\n\n## Two\n\nz\n"
    assert fitted.cut == ()


def test_the_newest_events_are_kept_and_the_number_of_older_ones_is_said() -> None:
    events = tuple(f"event {n} {'x' * 90}" for n in range(50, 0, -1))
    fitted = fitted_file("a.md", "# A", [Section("Events", events)], 2000)
    assert "event 50 " in fitted.text and "event 1 " not in fitted.text
    kept = fitted.text.count("event ")
    assert (fitted.cut[0].parts, fitted.cut[0].what) == (50 - kept, "Events")
    assert f"Left out: {50 - kept} parts of Events (" in fitted.text
    assert size_of(fitted.text) <= 2000


def test_a_section_that_is_too_large_is_left_out_whole_and_later_ones_are_kept() -> None:
    fitted = fitted_file("a.md", "# A", [Section("Big", ("ü" * 2000,)), Section("Small", ("here",))], 3000)
    assert "ü" not in fitted.text
    assert "Left out: Big (4000 bytes): a file holds at most 2 KiB." in fitted.text
    assert "## Small\n\nhere" in fitted.text


@given(SECTIONS, st.integers(0, 1500))
def test_no_file_is_ever_over_its_limit_and_no_part_is_ever_cut_in_two(sections: list[Section], room: int) -> None:
    most = size_of("# A") + NOTE_BYTES * len(sections) + room + 1
    fitted = fitted_file("a.md", "# A", sections, most)
    assert size_of(fitted.text) <= most
    gone = {cut.what: cut.parts for cut in fitted.cut}
    left = fitted.text
    for section in sections:
        kept = len(section.parts)
        if section.title in gone and [one.title for one in sections].count(section.title) == 1:
            kept -= gone[section.title]
        if [one.title for one in sections].count(section.title) == 1:
            whole = GAP.join(([f"## {section.title}"] if kept else []) + list(section.parts[:kept]))
            assert whole in left


@given(st.dictionaries(TEXT, TEXT, max_size=8), st.integers(0, 400))
def test_no_bundle_is_ever_over_its_limit_and_every_file_is_kept_whole_or_named(
    files: dict[str, str], most: int
) -> None:
    kept, cut = within(files, most)
    assert sum(map(size_of, kept.values())) <= most
    assert kept.items() <= files.items()
    assert {one.file for one in cut} == files.keys() - kept.keys()

"""The files of a promotion, in every folder of its skill."""

from __future__ import annotations

import pytest

from evolve.promote.touched import Touched, touched_files
from tests.promote.conftest import Measured

OLD, NEW = "a" * 64, "b" * 64


@pytest.mark.parametrize("mirrors", [(), (".agents/skills/bracket",), ("x/bracket", "skills/bracket/in/bracket")])
def test_each_file_is_touched_in_every_folder(measured: Measured, mirrors: tuple[str, ...]) -> None:
    at, places = "skills/bracket", ("skills/bracket", *mirrors)
    promotion = measured.evidence().promotion.model_copy(
        update={
            "folders": places,
            "base_files": {f"{at}/a.md": OLD, f"{at}/new/b.md": None, f"{at}/c.md": OLD},
            "overlay_files": {f"{at}/a.md": NEW, f"{at}/new/b.md": NEW},
        }
    )
    expected = {
        **{f"{place}/a.md": Touched(f"{at}/a.md", OLD, NEW) for place in places},
        **{f"{place}/new/b.md": Touched(f"{at}/new/b.md", None, NEW) for place in places},
        **{f"{place}/c.md": Touched(f"{at}/c.md", OLD, None) for place in places},
    }
    assert touched_files(promotion) == expected


def test_evidence_of_before_touches_what_its_overlay_holds(measured: Measured) -> None:
    promotion = measured.evidence().promotion.model_copy(update={"folders": ()})
    assert touched_files(promotion).keys() == promotion.overlay_files.keys()

"""The manual's tables of measures: a row for each of matrix games, and what it says is so.

Those of extensions are printed by ``tomeval list measures``.
"""

from __future__ import annotations

import re

import pytest
from support import ROOT

from tomeval.runs.domain import get_domain
from tomeval.runs.measures import Measure

PAGE = (ROOT / "docs" / "measures.md").read_text(encoding="utf-8")
ROWS = {
    cells[0]: cells
    for cells in re.findall(r"^\| `(\w+)` \| (.+?) \| ([^|]+) \| (more|less|–) \|", PAGE, re.M)
}


MEASURES = get_domain("matrix").measures


def range_of(measure: Measure) -> str:
    """Return unit and range as the page writes them."""
    low, high = measure.limits
    if low == -float("inf"):
        return f"{measure.unit}, any sign"
    if high == float("inf"):
        return f"{measure.unit}, ≥ {low:g}"
    return f"{measure.unit}, {low:g} to {high:g}".replace("-", "−")


@pytest.mark.parametrize("measure", MEASURES.values(), ids=lambda one: one.name)
def test_every_measure_has_its_row(measure) -> None:
    _, meaning, unit, better = ROWS[measure.name]
    assert meaning
    assert unit.partition(";")[0] == range_of(measure)
    assert better == {1: "more", 0: "–", -1: "less"}[measure.better]


def test_the_page_has_no_measure_that_there_is_not() -> None:
    assert set(ROWS) == set(MEASURES)

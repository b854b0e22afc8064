"""The attack of benchmarks/attacks/replies.py at a small size."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def rows(monkeypatch, tmp_path):
    """Return the rows of the attack by case, of a seed that is not the page's."""
    if not BENCHMARKS.is_dir():
        pytest.skip("not a source tree")
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    from attacks.replies import ATTACK

    yield {row.case: row for row in ATTACK.play(0.03, 7, tmp_path)}
    for name in [name for name in sys.modules if name.partition(".")[0] == "attacks"]:
        del sys.modules[name]


def test_clear_replies_are_read_and_no_other_is_misread(rows):
    assert {row.case: row.note for row in rows.values() if row.lost} == {}
    clear, doubtful, noise = (rows[f"{kind}: all"] for kind in ("clear", "doubtful", "random"))
    assert (clear.tried, doubtful.tried, noise.tried) == (510, 330, 1800)
    assert clear.survived >= 0.95 * clear.tried
    assert doubtful.survived == doubtful.tried
    assert max(row.told or 0 for row in rows.values()) < 20

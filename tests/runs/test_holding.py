"""Numbers do not depend on what else is asked for, nor on how much stays in memory."""

from __future__ import annotations

import pytest

import tomeval
from tomeval.core.once import Holding
from tomeval.runs import results
from tomeval.runs.columns import is_interval

MATRIX = {
    "games": ["RPS", "IPD"],
    "partners": ["tit_for_tat", "uniform_random"],
    "subjects": ["rmax", "simulated"],
    "horizon": 7,
    "episodes": 41,  # more than numpy adds up in one go
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("large") / "run"
    tomeval.run(MATRIX, folder).close()
    return folder


@pytest.mark.parametrize("interval", ["auto", "t", "normal"])
def test_a_measure_alone_has_the_numbers_that_it_has_among_all(folder, interval) -> None:
    with tomeval.Run(folder) as run:
        whole = run.rows(interval)
        names = list(run.measures)
    assert len(names) > 10
    for name in names:
        with tomeval.Run(folder) as run:
            alone = run.rows(interval, names=[name])
            cells = run.cells
            assert all({key[0] for key in cell._totals} < set(names) for cell in cells)
        for row, found in zip(whole, alone, strict=True):
            wanted = {
                key: value
                for key, value in row.items()
                if key == name or key.startswith(f"{name}_ci95") or key in ("episodes", "seed")
            }
            assert str({key: found[key] for key in wanted}) == str(wanted)  # NaN is NaN
            measured = {key for key in found if key in names and not is_interval(key)}
            assert measured == {name}


def test_rows_are_those_of_a_run_that_holds_every_cell(folder, monkeypatch) -> None:
    with tomeval.Run(folder) as run:
        whole = run.rows()
    monkeypatch.setattr(results, "Holding", lambda: Holding(most=1))
    with tomeval.Run(folder) as run:
        rows = run.rows()
    assert str(rows) == str(whole)

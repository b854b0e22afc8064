from __future__ import annotations

import csv
import io
import json

from tomeval.games.matrix.domain import MATRIX
from tomeval.report import tables

NAN = float("nan")
ROWS = [
    {"subject": "a|b", "game": "RPS", "tom_percent": 97.456, "tom_percent_ci95": 0.4},
    {"subject": "x_1 & 50 %", "game": "RPS", "tom_percent": 100 / 3, "tom_percent_ci95": NAN},
    {"subject": "none", "game": "RPS", "tom_percent": NAN, "tom_percent_ci95": NAN},
]


def render(rows, form="text", width=None):
    """Render as the table of a matrix run."""
    return tables.render(rows, form, MATRIX.measures, (*MATRIX.compare.task, "seed"), width)


def test_json_round_trips_at_full_precision_and_is_strict() -> None:
    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    rows = json.loads(render(ROWS, "json"), parse_constant=refuse)
    assert rows[0] == ROWS[0]
    assert rows[1]["tom_percent"] == 100 / 3
    assert rows[2]["tom_percent"] is None
    assert json.loads(render([{"x": float("inf")}], "json"), parse_constant=refuse) == [{"x": None}]


def test_an_interval_that_is_not_symmetric_shows_its_ends() -> None:
    row = {
        "tom_percent": 97.0,
        "tom_percent_ci95": 0.5,
        "tom_percent_ci95_low": 96.4,
        "tom_percent_ci95_high": 97.4,
    }
    assert render([row]).splitlines()[1] == "97.00 [96.40, 97.40]"
    assert len(next(csv.reader(io.StringIO(render([row], "csv"))))) == 4


def test_best_means_are_marked_within_tasks_and_by_their_better_side() -> None:
    def row(game, who, tom, regret, gap):
        metrics = {
            "tom_percent": tom,
            "delta_functional_per_step": regret,
            "response_gap_per_step": gap,
        }
        cells = {"subject": who, "game": game}
        for name, value in metrics.items():
            cells |= {name: value, f"{name}_ci95": 0.1}
        return cells

    rows = [
        row("RPS", "a", 90.0, 0.5, 0.1),
        row("RPS", "b", 90.0, 0.25, 0.2),
        row("IPD", "a", 10.0, NAN, 0.3),
        row("IPD", "b", 5.0, 2.0, 0.4),
        row("IBS", "a", 1.0, 1.0, 0.5),  # nothing to be better than
    ]
    lines = render(rows, "markdown").splitlines()
    marked = [[cell.strip() for cell in line.split("|")[3:6]] for line in lines[-5:]]
    assert [[cell.startswith("**") for cell in cells] for cells in marked] == [
        [False, False, False],  # as good as the other
        [False, True, False],
        [True, False, False],
        [False, False, False],
        [False, False, False],
    ]
    assert "bold" not in render(rows)
    wide = [cells | {"tom_percent_ci95": 3.0} for cells in rows]
    assert "**" not in render(wide, "markdown").splitlines()[-3]  # from 7 to 13, and from 2 to 8

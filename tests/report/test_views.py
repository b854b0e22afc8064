"""What `tomeval table` chooses to show, worked out by hand on made-up rows of matrix games."""

from __future__ import annotations

from types import SimpleNamespace

from tomeval.games.matrix.domain import MATRIX
from tomeval.report.rows import grid_of
from tomeval.report.tables import set_grid
from tomeval.report.views import Asked, measures_view
from tomeval.runs.columns import interval_columns

NAN = float("nan")
REGRET, TOM = "delta_functional_per_step", "tom_percent"
MEASURES = {name: MATRIX.measures[name] for name in (TOM, REGRET, "reward_per_step")}

# Regrets of three players against two partners: means 0.75, 1.15 and 0.6.
VALUES = {"a": (0.5, 1.0), "b": (0.3, 2.0), "c": (0.5, 0.7)}


def row(subject, partners="x", regret=0.5, tom=50.0, game="RPS", **more):
    found = {"subject": subject, "model": "", "strategy": "", "game": game, "labels": "plain"}
    found |= {"partners": partners, "horizon": 9, "episodes": 4, "invalid_rate": 0.0}
    for name, value, half in ((TOM, tom, 2.5), (REGRET, regret, 0.1), ("reward_per_step", 1, 0.1)):
        found |= {name: value, f"{name}_ci95": half}
    return found | {"reference": "horizon", "seed": 1, "on_invalid": "void"} | more


def rows_of(values=None, **more):
    values = values or VALUES
    return [
        row(who, partners, regret, 100 - 10 * regret, **more)
        for who, regrets in values.items()
        for partners, regret in zip("xy", regrets, strict=True)
        if regret is not None
    ]


def run_of(rows, ranges=(2.0, 2.0)):
    """Return what a view asks of a run, with the payoff range of each partner's game."""
    cells = []
    for found in rows:
        columns = {name: found[name] for name in ("subject", "model", "strategy", "game")}
        columns |= {name: found[name] for name in ("labels", "partners", "horizon")}
        size = ranges[found["partners"] == "y"]
        told = {"columns": columns, "payoffs": size and (0.0, size)}
        told["task_without"] = lambda by, found=found: {n: found[n] for n in MATRIX.task}
        cells.append(SimpleNamespace(**told, totals=lambda name: SimpleNamespace(share=False)))
    return SimpleNamespace(
        domain=MATRIX,
        measures=MEASURES,
        headline=(REGRET, TOM),
        cells=cells,
        folder="run",
        until={},
    )


def shown(rows, *, ranges=(2.0, 2.0), form="text", **asked):
    view = measures_view(run_of(rows, ranges), rows, Asked(**asked), str)
    return "\n\n".join(set_grid(grid, form) for grid in view.grids).splitlines()


def test_by_default_the_functional_measure_has_players_down_and_tasks_across() -> None:
    assert shown(rows_of(game="RPS")) == [
        "ΔFunctional/T, less is better; sorted by mean; across: partners; game RPS; labels plain; "
        "T 9; episodes 4; invalid % 0.0; reference horizon; seed 1; on_invalid void",
        "subject  x            y            mean",
        "c        0.50 ± 0.10  0.70 ± 0.10  0.60",
        "a        0.50 ± 0.10  1.00 ± 0.10  0.75",
        "b        0.30 ± 0.10  2.00 ± 0.10  1.15",
    ]


def test_payoffs_of_different_scale_have_no_mean_and_players_stay_in_order() -> None:
    above, head, *body = shown(rows_of(), ranges=(2.0, 10.0))
    assert "sorted" not in above
    assert "mean" not in head
    assert [line[0] for line in body] == ["a", "b", "c"]


def test_percentages_always_have_a_mean_unless_a_value_is_missing() -> None:
    # 100 - 10 x regret: 95 and 90, 97 and 80, 95 and 93
    above, head, *body = shown(rows_of(), ranges=(2.0, 10.0), metrics=("ToM %",))
    assert above.startswith("ToM %, more is better; sorted by mean;")
    assert head.split() == ["subject", "x", "y", "mean"]
    assert [line.split()[-1] for line in body] == ["94.0", "92.5", "88.5"]
    assert [line[0] for line in body] == ["c", "a", "b"]
    missing = rows_of({**VALUES, "b": (0.3, None)})
    _, head, *body = shown(missing, metrics=("tom",))
    assert "mean" not in head
    assert [line.split()[-1] for line in body if line[0] == "b"] == ["–"]
    no_value = rows_of({**VALUES, "b": (0.3, NAN)})
    assert "mean" not in shown(no_value, metrics=("tom",))[1]


def test_an_interval_without_an_end_shows_the_end_that_it_has() -> None:
    """± would say that a rating is known from neither side."""
    ends = {"a": (5.0, 2.0, float("inf")), "b": (-5.0, -float("inf"), -2.0)}
    rows = [
        {"player": who, **interval_columns("rating", value, low, high)}
        for who, (value, low, high) in ends.items()
    ]
    text = set_grid(grid_of(rows), "text")
    assert "[2.000, inf]" in text
    assert "[-inf, -2.000]" in text
    assert "±" not in text

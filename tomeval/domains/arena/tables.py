"""The table of an arena run that people read first: the measures that say most, row by row."""

from __future__ import annotations

from collections.abc import Sequence

from tomeval.core.errors import TomevalError
from tomeval.domains.arena.measures import MEASURES
from tomeval.runs.columns import is_interval
from tomeval.runs.domain import Rows
from tomeval.runs.results import Run

SHOWN: tuple[str, ...] = ("delta_functional_per_decision", "delta_functional_low_per_decision")
SHOWN += ("delta_functional_high_per_decision", "exact_percent", "delta_tom_per_decision")
SHOWN += ("tom_percent", "tom_attainable_percent", "reward", "win_percent")
SHOWN += ("refused_per_game", "fatal_percent", "witnessed_percent")
"""The measures of the first table, in its order; the table of cells has all."""

ASIDE: tuple[str, ...] = ("tom_attainable_percent", "truth_probability_percent")
ASIDE += ("observer_probability_percent", "delta_functional_low_per_decision")
ASIDE += ("delta_functional_high_per_decision", "exact_percent", "rounds_per_game")
ASIDE += ("refused_per_game", "fatal_percent", "witnessed_percent")
"""See `tomeval.runs.domain.Domain.aside`."""


def result_rows(run: Run, by: Sequence[str]) -> Rows:
    """Return a row per cell with the measures that say most, see `SHOWN`."""
    if by:
        raise TomevalError("the table of results has a row per line-up and seed: leave out --by")
    rows = []
    for row in run.rows():
        found = {name: row[name] for name in row if name not in MEASURES and not is_interval(name)}
        last = {name: found.pop(name) for name in ("interval", "seed", "on_invalid")}
        for name in SHOWN:
            found |= {key: row[key] for key in row if key == name or _of(key, name)}
        rows.append(found | last)
    return rows


def _of(key: str, name: str) -> bool:
    """Tell whether a column belongs to the interval of a measure."""
    return is_interval(key) and key.removeprefix(name) in ("_ci95", "_ci95_low", "_ci95_high")

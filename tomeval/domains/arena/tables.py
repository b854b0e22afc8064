"""The table of an arena run that people read first: the measures that say most, row by row."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tomeval.core.errors import TomevalError
from tomeval.domains.arena.measures import MEASURES
from tomeval.domains.arena.records import GameRecord, Records, Row, game_records, mean, share
from tomeval.runs.columns import is_interval
from tomeval.runs.domain import Rows
from tomeval.runs.results import Run

SHOWN: tuple[str, ...] = ("delta_functional_per_decision", "delta_functional_low_per_decision")
SHOWN += ("delta_functional_high_per_decision", "exact_percent", "delta_tom_per_decision")
SHOWN += ("delta_tom_known_percent", "tom_percent", "tom_attainable_percent", "reward")
SHOWN += ("win_percent",)
"""The measures of the first table, in its order; the table of cells has all."""

ASIDE: tuple[str, ...] = ("tom_attainable_percent", "brier_score", "brier_above_observer")
ASIDE += ("delta_functional_low_per_decision",)
ASIDE += ("delta_functional_high_per_decision", "exact_percent", "rounds_per_game")
ASIDE += ("delta_tom_known_percent", "split_percent", "void", "refused_per_game")
ASIDE += ("caused_fatal_percent", "witnessed_fatal_percent")
"""See `tomeval.runs.capabilities.Show.aside`."""


def result_rows(run: Run, by: Sequence[str]) -> Rows:
    """Return a row per cell with the main measures, see `SHOWN`, and errors."""
    if by:
        raise TomevalError("the table of results has a row per line-up and seed: leave out --by")
    games: dict[int, list[GameRecord]] = {cell.number: [] for cell in run.cells}
    for record in game_records(run):
        games[record.cell].append(record)
    rows = []
    for cell, row in zip(run.cells, run.rows(), strict=True):
        shown = {name: row[name] for name in row if name not in MEASURES and not is_interval(name)}
        last = {name: shown.pop(name) for name in ("interval", "seed", "on_invalid")}
        for name in SHOWN:
            shown |= {key: row[key] for key in row if key == name or _of(key, name)}
        errors = subject_errors(games[cell.number])
        if cell.each_once:  # as for measures: the games are no sample
            errors |= dict.fromkeys(filter(is_interval, errors), math.nan)
        rows.append(shown | errors | last)
    return rows


def _of(key: str, name: str) -> bool:
    """Tell whether a column belongs to the interval of a measure."""
    return is_interval(key) and key.removeprefix(name) in ("_ci95", "_ci95_low", "_ci95_high")


def subject_errors(records: Records) -> Row:
    """Return errors of one line-up as the measured seat caused and witnessed them, in all games.

    ``void`` games have no other measure: they were not played to their end. The shares are as in
    `error_rows`, of the seat instead of all seats of its player; ``refused_per_game`` counts its
    attempts that broke the rules.
    """
    own = [[e for e in r.errors if e.seat == r.subject] for r in records]
    others = [[e for e in r.errors if e.seat != r.subject] for r in records]
    row: Row = {"void": sum(not record.complete for record in records)}
    row |= mean(records, "refused_per_game", [sum(e.refused for e in errors) for errors in own])
    for name, by_game in (("caused", own), ("witnessed", others)):
        fatal = [any(e.fatal for e in errors) for errors in by_game]
        row |= share(records, f"{name}_fatal_percent", fatal)
    return row

"""Ratings from all games beside those from games in which nobody made an error."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tomeval.core.errors import TomevalError
from tomeval.core.numbers import between, number
from tomeval.domains.arena.figures import INTERVALS
from tomeval.domains.arena.records import ALL, CLEAN
from tomeval.extensions.ratings.rows import rating_rows
from tomeval.plots.dots import Ends, Panel, Series, dots_figure
from tomeval.plots.drawing import DEFAULT, Drawing, Options, sample_words
from tomeval.plots.families import MOST_PANELS, MOST_ROWS, listed, pages
from tomeval.plots.style import COLOURS
from tomeval.runs.results import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SERIES = {
    ALL: Series("all games", {"color": COLOURS[0], "marker": "o", "ms": 3.8}),
    CLEAN: Series(
        "games without an error", {"color": COLOURS[1], "marker": "s", "ms": 3.8, "mfc": "white"}
    ),
}

Rated = Mapping[tuple[str, str, str], Mapping[str, Any]]
"""Rows of `rating_rows` by game, player and subset."""


def ratings(run: Run, options: Options = DEFAULT) -> list[Drawing]:
    """Draw every player's rating twice, a panel per game; nothing if the games rate nobody."""
    records = run.domain.rate.records(run) if run.domain.rate else []
    if not records:
        return []
    try:
        rows, _ = rating_rows(records, np.random.default_rng(0))
    except TomevalError:  # `tomeval ratings` says why
        return []
    rated = {(row["game"], row["player"], row["subset"]): row for row in rows}
    games = list(dict.fromkeys(row["game"] for row in rows))
    players = list(dict.fromkeys(row["player"] for row in rows))
    subsets = [ALL] if all(record.clean for record in records) else [ALL, CLEAN]
    same = " Every game is without an error." if len(subsets) == 1 else ""
    cells = [cell for cell in run.cells if len(cell.episodes)]
    drawings = []
    for page, group in enumerate(pages(games, MOST_PANELS), 1):
        for part, shown in enumerate(pages(players, MOST_ROWS), 1):
            stem = ["ratings"] + [str(page)] * (len(games) > MOST_PANELS)
            stem += [str(part)] * (len(players) > MOST_ROWS)
            drawings.append(
                Drawing(
                    "ratings",
                    "_".join(stem),
                    _figure(rated, group, shown, subsets, options),
                    f"Ratings from all games and from games without an error: {listed(group)}",
                    f"{listed(group)}, {sample_words(cells, 'games')}: ratings by one likelihood "
                    "over all games with terms for seats or roles; a team is the mean of its "
                    f"players. Profile likelihood; {INTERVALS}. Arrow: the games set no limit on "
                    "that side; mark without a line: the rating rests on one deal. Games without "
                    "an error are not a random sample of all games; no mark: they do not rate the "
                    f"player.{same}",
                    _describe(rated, group, shown, subsets),
                )
            )
    return drawings


def _figure(
    rated: Rated,
    games: Sequence[str],
    players: Sequence[str],
    subsets: Sequence[str],
    options: Options,
) -> Figure:
    """Draw a panel per game and a row per player, with a mark per subset of games."""
    panels = [
        Panel(
            game,
            {
                (row, k): _ends(rated[game, player, subset])
                for row, player in enumerate(players)
                for k, subset in enumerate(subsets)
                if (game, player, subset) in rated
            },
        )
        for game in games
    ]

    def limits(axes: Axes, index: int) -> None:
        """Leave room at both sides, where arrows show that an interval has no end."""
        numbers = [0.0, *(end for ends in panels[index].marks.values() for end in ends)]
        finite = [end for end in numbers if math.isfinite(end)]
        margin = 0.06 * (max(finite) - min(finite)) or 100.0
        axes.set_xlim(min(finite) - margin, max(finite) + margin)
        axes.axvline(0, color="0.6", lw=0.6, zorder=1)

    return dots_figure(
        f"Ratings: {listed(games)}",
        panels,
        players,
        "rating (Elo-like points; 0: mean of the players)\nbetter →",
        [_SERIES[subset] for subset in subsets],
        options,
        row_height=max(0.15 * len(subsets), 0.2),
        gap=0.4,
        columns=options.fits(2, 3),
        finish=limits,
    )


def _ends(row: Mapping[str, Any]) -> Ends:
    """Return a rating with the ends of its interval: infinite where open, NaN without one."""
    return float(row["rating"]), float(row["rating_ci95_low"]), float(row["rating_ci95_high"])


def _describe(
    rated: Rated, games: Sequence[str], players: Sequence[str], subsets: Sequence[str]
) -> str:
    """Say every rating with its interval."""
    parts = []
    for game in games:
        for subset in subsets:
            rows = [(p, rated.get((game, p, subset))) for p in players]
            said = ", ".join(f"{player} {_said(row)}" for player, row in rows if row)
            parts.append(f"{game}, {_SERIES[subset].label}: {said or 'no rating'}")
    return f"Ratings in Elo-like points. {'; '.join(parts)}."


def _said(row: Mapping[str, Any]) -> str:
    value, low, high = _ends(row)
    if math.isnan(low):
        return number(value, 0)
    ends = between(low, high, 0) if math.isfinite(high - low) else f"open {row['open']}"
    return f"{number(value, 0)} ({ends})"

"""Ratings from all games beside those from games in which nobody made an error."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tomeval.core.errors import TomevalError
from tomeval.core.numbers import between, number
from tomeval.domains.arena.figures import INTERVALS
from tomeval.domains.arena.outcomes import ALL, CLEAN
from tomeval.extensions.ratings.rows import rating_rows
from tomeval.plots.drawing import DEFAULT, Drawing, Options, sample_words
from tomeval.plots.families import MOST_PANELS, MOST_ROWS, listed, pages, row_panels
from tomeval.plots.settings import in_style
from tomeval.plots.style import COLOURS, add_head
from tomeval.runs.columns import interval_of
from tomeval.runs.results import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

AXIS = "rating (Elo-like points; 0: mean of the players)\nbetter →"

LOOK: dict[str, dict[str, Any]] = {
    ALL: {"color": COLOURS[0], "marker": "o", "markerfacecolor": COLOURS[0]},
    CLEAN: {"color": COLOURS[1], "marker": "s", "markerfacecolor": "white"},
}
WORDS = {ALL: "all games", CLEAN: "games without an error"}

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
    for number_, group in enumerate(pages(games, MOST_PANELS)):
        for part, shown in enumerate(pages(players, MOST_ROWS)):
            pair = f"_{number_ + 1}" if len(games) > MOST_PANELS else ""
            pair += f"_{part + 1}" if len(players) > MOST_ROWS else ""
            drawings.append(
                Drawing(
                    "ratings",
                    f"ratings{pair}",
                    ratings_figure(rated, group, shown, subsets, options),
                    f"Ratings from all games and from games without an error: {listed(group)}",
                    f"{listed(group)}, {sample_words(cells, 'games')}: "
                    "ratings by one likelihood over all "
                    "games with terms for seats or roles; a "
                    f"team is the mean of its players. Profile likelihood; {INTERVALS}. An arrow: "
                    "the games set no limit on that side; a mark without a line: the rating rests "
                    "on one deal. Games without an error are no random "
                    f"sample of all games; no mark: they do not rate the player.{same}",
                    _describe(rated, group, shown, subsets),
                )
            )
    return drawings


@in_style
def ratings_figure(
    rated: Rated,
    games: Sequence[str],
    players: Sequence[str],
    subsets: Sequence[str],
    options: Options,
) -> Figure:
    """Draw a panel per game and a row per player, with a mark per subset of games."""
    from matplotlib.lines import Line2D

    height = 0.15 * len(subsets)
    figure, panels = row_panels(
        games, players, AXIS, options, options.fits(2, 3), row_height=max(height, 0.2)
    )
    for axes, game in zip(panels, games, strict=True):
        axes.axvline(0, color="0.6", lw=0.6, zorder=1)
        marks = []
        for row, player in enumerate(players):
            for place, subset in enumerate(subsets):
                found = rated.get((game, player, subset))
                if found is not None:
                    shift = 0.4 * (place - (len(subsets) - 1) / 2)
                    marks.append((row + shift, found, LOOK[subset]))
        _draw(axes, marks)
    handles = [
        Line2D([], [], label=WORDS[subset], lw=1.4, markersize=4, **LOOK[subset])
        for subset in subsets
    ]
    add_head(figure, f"Ratings: {listed(games)}", handles)
    return figure


def _draw(axes: Axes, marks: Sequence[tuple[float, Mapping[str, Any], dict[str, Any]]]) -> None:
    """Draw ratings with intervals; one without an end goes to the panel's edge as an arrow."""
    finite = [0.0]
    for _, row, _ in marks:
        finite += [end for end in (row["rating"], *_ends(row)) if math.isfinite(end)]
    margin = 0.06 * (max(finite) - min(finite)) or 100.0
    left, right = min(finite) - margin, max(finite) + margin
    axes.set_xlim(left, right)
    for y, row, look in marks:
        low, high = _ends(row)
        if not math.isnan(low):
            ends = [max(low, left), min(high, right)]
            axes.plot(ends, [y, y], color=look["color"], lw=1.3, zorder=3)
            for end, at, arrow in ((low, left, "<"), (high, right, ">")):
                if math.isinf(end):
                    more: dict[str, Any] = {"ls": "none", "clip_on": False, "zorder": 3}
                    axes.plot([at], [y], marker=arrow, ms=3.5, color=look["color"], **more)
        axes.plot([row["rating"]], [y], ls="none", ms=3.8, mew=1.0, zorder=4, **look)


def _ends(row: Mapping[str, Any]) -> tuple[float, float]:
    """Return the ends of a rating's interval: infinite where open, NaN without one."""
    low, high = row["rating_ci95_low"], row["rating_ci95_high"]
    return float(low), float(high)


def _describe(
    rated: Rated, games: Sequence[str], players: Sequence[str], subsets: Sequence[str]
) -> str:
    """Say every rating with its interval."""
    parts = []
    for game in games:
        for subset in subsets:
            said = [
                f"{player} {_said(rated[game, player, subset])}"
                for player in players
                if (game, player, subset) in rated
            ]
            parts.append(f"{game}, {WORDS[subset]}: {', '.join(said) or 'no rating'}")
    return f"Ratings in Elo-like points. {'; '.join(parts)}."


def _said(row: Mapping[str, Any]) -> str:
    value = number(float(row["rating"]), 0)
    low, high = _ends(row)
    if interval_of(row, "rating") is None or math.isnan(low):
        return value
    if math.isinf(low) or math.isinf(high):
        return f"{value} (open {row['open']})"
    return f"{value} ({between(low, high, 0)})"

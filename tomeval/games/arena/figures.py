"""The figure of the arena: literal against functional theory of mind, by role."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tomeval.core.numbers import number
from tomeval.games.arena.measures import MEASURES, PER_DECISION
from tomeval.games.arena.results import ArenaRunCell, Floats
from tomeval.plots.dots import Panel, Series, dots_figure
from tomeval.plots.drawing import CUT, DEFAULT, Drawing, Options, axis_name, sample_words
from tomeval.plots.families import all_words
from tomeval.plots.style import point_style
from tomeval.runs.measures import Totals
from tomeval.runs.results import Run
from tomeval.statistics.estimates import estimate
from tomeval.statistics.shares import clustered_sums

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAME = "literal_against_functional"
FUNCTIONAL, LITERAL = MEASURES[PER_DECISION], MEASURES["tom_percent"]
ATTAINABLE = MEASURES["tom_attainable_percent"]

INTERVALS = "95 % intervals treat games on one deal as one unit"
BAR: dict[str, Any] = {"ls": "none", "marker": "|", "ms": 8, "mew": 1.6, "color": "0.4"}

Place = tuple[str, str]
"""A player in a role."""


class Point(NamedTuple):
    """A player in a role: ΔFunctional per decision and ToM %, each as (mean, low, high)."""

    regret: tuple[float, float, float]
    tom: tuple[float, float, float]
    attainable: float


def roles(run: Run, options: Options = DEFAULT) -> list[Drawing]:
    """Draw a figure per game: ΔFunctional per decision beside ToM %, a row per player and role.

    Nothing of games in which no player has both.
    """
    by_game = points(run)
    cells = [cell for cell in run.cells if len(cell.episodes)]
    drawings = []
    for part, (game, mine) in enumerate(by_game.items(), 1):
        told = all_words([cell for cell in cells if cell.columns["game"] == game])
        title = f"Literal against functional theory of mind, by role: {told}"
        caption = (
            f"{told}, {sample_words(cells, 'games')}: the loss of a player's decisions beside the "
            "accuracy of its predictions, over all its games in a role and decisions with exact "
            "values. Bar: what an exact Bayesian observer attains on the same questions. "
            f"{INTERVALS}; {CUT}."
        )
        stem = NAME + (f"_{part}" if len(by_game) > 1 else "")
        figure = roles_figure(mine, title, options)
        drawings.append(Drawing(NAME, stem, figure, title, caption, _describe(game, mine)))
    return drawings


def points(run: Run) -> dict[str, dict[Place, Point]]:
    """Return by game what is drawn; games and roles without both measures are left out."""
    cells: dict[str, dict[str, list[ArenaRunCell]]] = {}
    for cell in run.cells:
        if isinstance(cell, ArenaRunCell) and len(cell.episodes):
            cells.setdefault(str(cell.columns["game"]), {}).setdefault(cell.player, []).append(cell)
    by_game: dict[str, dict[Place, Point]] = {}
    for game, players in cells.items():
        for player, mine in players.items():
            for role in sorted({role for cell in mine for role in cell.played.role}):
                point = _point(mine, role)
                if point is not None:
                    by_game.setdefault(game, {})[player, role] = point
    return by_game


def _point(cells: Sequence[ArenaRunCell], role: str) -> Point | None:
    """Return a player in a role over some cells; None without regret or predictions."""
    sums: dict[str, list[Floats]] = {"lost": [], "right": [], "attained": []}
    deals = []
    for cell in cells:
        played = cell.played
        among = np.array([one == role for one in played.role])
        for measure, kept in zip((FUNCTIONAL, LITERAL, ATTAINABLE), sums.values(), strict=True):
            kept.append(_sums(measure.of(played, ""))[:, among])
        deals.append(np.array([f"{cell.seed} {deal}" for deal in played.deal])[among])
    units = np.concatenate(deals)
    lost, right, attained = (np.concatenate(parts, axis=1) for parts in sums.values())
    some = lost[1] > 0
    if not some.any() or not right[1].any():
        return None
    values, bounds = lost[0][some] / lost[1][some], FUNCTIONAL.limits
    mean = estimate(values, "t", clusters=units[some], bounds=bounds)
    share = clustered_sums(right[0], right[1], units)
    attainable = clustered_sums(attained[0], attained[1], units)
    return Point(
        (float(mean.mean[0]), float(mean.low[0]), float(mean.high[0])),
        (100 * share.share, 100 * share.low, 100 * share.high),
        100 * attainable.share,
    )


def _sums(totals: Totals) -> Floats:
    """Return sums and counts by game, shape (2, E)."""
    assert totals.bottom is not None
    return np.stack([totals.top, totals.bottom])


def roles_figure(points_of: Mapping[Place, Point], title: str, options: Options) -> Figure:
    """Draw two panels of one game with a row per player and role."""
    from matplotlib.lines import Line2D

    several = len({role for _, role in points_of}) > 1
    rows = [f"{player}, {role}" if several else player for player, role in points_of]
    shown = list(enumerate(points_of.values()))
    panels = [
        Panel(axis_name(FUNCTIONAL), {(row, 0): point.regret for row, point in shown}),
        Panel(axis_name(LITERAL), {(row, 0): point.tom for row, point in shown}),
    ]

    def finish(axes: Axes, number: int) -> None:
        if number:
            axes.plot([point.attainable for _, point in shown], range(len(rows)), **BAR)
            axes.set_xlim(-3, 103)

    look, handles = Series("player", point_style(0)), [Line2D([], [], label="attainable", **BAR)]
    axis = "left: lower is better; right: higher is better"
    how: dict[str, Any] = {"columns": 2, "row_height": 0.25, "finish": finish, "handles": handles}
    return dots_figure(title, panels, rows, axis, [look], options, **how)


def _describe(game: str, points_of: Mapping[Place, Point]) -> str:
    """Describe every point."""
    said = (
        f"{player} as {role} {number(point.regret[0], 3)} and {number(point.tom[0], 0)} % "
        f"(attainable {number(point.attainable, 0)} %)"
        for (player, role), point in points_of.items()
    )
    return f"ΔFunctional per decision and ToM %. {game}: {', '.join(said)}."

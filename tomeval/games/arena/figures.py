"""The figure of the arena: literal against functional theory of mind, by role."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tomeval.core.numbers import number
from tomeval.games.arena.measures import MEASURES, PER_DECISION
from tomeval.games.arena.results import ArenaRunCell, Floats
from tomeval.plots.drawing import (
    CUT,
    DEFAULT,
    Drawing,
    Options,
    axis_name,
    better_side,
    sample_words,
)
from tomeval.plots.families import MOST_PANELS, all_words, pages
from tomeval.plots.style import (
    COLOURS,
    FILLINGS,
    MARKERS,
    add_head,
    fold,
    in_style,
    lines_of,
    new_figure,
)
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
_NOTHING = 1e-9  # a difference that comes from rounding

Place = tuple[str, str]
"""A player in a role."""


class Point(NamedTuple):
    """A player in a role: ΔFunctional per decision and ToM %, each as (mean, low, high)."""

    regret: tuple[float, float, float]
    tom: tuple[float, float, float]
    attainable: float


def roles(run: Run, options: Options = DEFAULT) -> list[Drawing]:
    """Draw ToM % against ΔFunctional per decision, a panel per game, a mark per player and role.

    Nothing if no player has both.
    """
    by_game = points(run)
    cells = [cell for cell in run.cells if len(cell.episodes)]
    drawings = []
    for part, games in enumerate(pages(list(by_game), MOST_PANELS)):
        mine = {game: by_game[game] for game in games}
        told = all_words([cell for cell in cells if cell.columns["game"] in games])
        drawings.append(
            Drawing(
                NAME,
                NAME + (f"_{part + 1}" if len(by_game) > MOST_PANELS else ""),
                roles_figure(mine, told, options),
                f"Literal against functional theory of mind, by role: {told}",
                f"{told}, {sample_words(cells, 'games')}: "
                "accuracy of a player's predictions against the loss of its decisions, over all "
                "its games in a role and decisions with exact values. Bar in a player's colour: "
                "what an exact Bayesian observer attains on the same questions. "
                f"{INTERVALS}; {CUT}. Further up and to the left is better.",
                _describe(mine),
            )
        )
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


@in_style
def roles_figure(
    by_game: Mapping[str, Mapping[Place, Point]], told: str, options: Options
) -> Figure:
    """Draw a panel per game; `told` names the games and the other players."""
    places = [place for points_of in by_game.values() for place in points_of]
    players = list(dict.fromkeys(player for player, _ in places))
    names = list(dict.fromkeys(role for _, role in places))
    columns = min(options.fits(2, 3), len(by_game))
    rows = -(-len(by_game) // columns)
    width = options.width
    titles = [fold(game, int(14 * width / columns)) for game in by_game]
    height = rows * (2.1 + 0.12 * lines_of(titles))
    figure, panels = new_figure(width, height, rows, columns, len(by_game), sharey=True)
    for axes, title, points_of in zip(panels, titles, by_game.values(), strict=True):
        axes.set_title(title)
        _panel(axes, points_of, players, names)
    figure.supxlabel(axis_name(FUNCTIONAL) + better_side(FUNCTIONAL))
    figure.supylabel(f"{axis_name(LITERAL)}, higher is better")
    add_head(figure, f"Literal against functional: {told}", _handles(players, names))
    return figure


def _panel(
    axes: Axes, points_of: Mapping[Place, Point], players: Sequence[str], names: Sequence[str]
) -> None:
    """Draw one game's points and their attainable accuracy."""
    for (player, role), point in points_of.items():
        index = players.index(player)
        look = _look(index, names.index(role))
        # Later marks are smaller, so that those below them can be seen.
        size = 5.5 + 3.5 * (1 - index / max(len(players) - 1, 1))
        look["markersize"] = size * (1.4 if look["marker"] == "*" else 1)
        (x, *across), (y, *up) = point.regret, point.tom
        axes.plot(across, [y, y], color=look["color"], lw=0.9, zorder=2)
        axes.plot([x, x], up, color=look["color"], lw=0.9, zorder=2)
        axes.plot([x], [point.attainable], ls="none", marker="_", ms=8, mew=1.6, zorder=2,
                  color=look["color"])  # fmt: skip
        axes.plot([x], [y], ls="none", zorder=3, clip_on=False, **look)
    axes.axvline(0, color="0.6", lw=0.6, zorder=1)
    axes.set_ylim(-4, 104)
    ends = [0.0, *(end for point in points_of.values() for end in point.regret if end == end)]
    wide = max(ends) - min(ends)
    wide = wide if wide > _NOTHING else 1.0
    axes.set_xlim(min(ends) - 0.08 * wide, min(ends) + 1.08 * wide)


def _look(player: int, role: int) -> dict[str, Any]:
    """Return colour and filling by player, marker by role."""
    colour, filling = COLOURS[player % len(COLOURS)], FILLINGS[player // len(COLOURS) % 4]
    return {
        "color": colour,
        "fillstyle": filling,
        "marker": MARKERS[role % len(MARKERS)],
        "markersize": 5.5,
        "markeredgecolor": colour if filling != "full" else "white",
        "markeredgewidth": 1.0 if filling != "full" else 0.4,
    }


def _handles(players: Sequence[str], names: Sequence[str]) -> list[Any]:
    """Return a legend of players by colour, of roles by marker, and of the bar."""
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], ls="none", label=player, **{**_look(index, 0), "marker": "o"})
        for index, player in enumerate(players)
    ]
    if len(names) > 1:
        grey = {"color": "0.4", "markeredgecolor": "white"}
        handles += [
            Line2D([], [], ls="none", label=name, **{**_look(0, index), **grey})
            for index, name in enumerate(names)
        ]
    bar = Line2D([], [], ls="none", marker="_", ms=8, mew=1.6, color="0.4", label="attainable")
    return [*handles, bar]


def _describe(by_game: Mapping[str, Mapping[Place, Point]]) -> str:
    """Say every point."""
    parts = []
    for game, points_of in by_game.items():
        said = (
            f"{player} as {role} {number(point.regret[0], 3)} and {number(point.tom[0], 0)} % "
            f"(attainable {number(point.attainable, 0)} %)"
            for (player, role), point in points_of.items()
        )
        parts.append(f"{game}: {', '.join(said)}")
    return f"ΔFunctional per decision and ToM %. {'; '.join(parts)}."

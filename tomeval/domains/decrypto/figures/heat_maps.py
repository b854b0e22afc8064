"""Heat maps of pairings: how games are lost, and how long they last."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from tomeval.core.streams import generator_of
from tomeval.domains.decrypto.measures import MEASURES
from tomeval.domains.decrypto.played import Played, pool
from tomeval.domains.decrypto.results import by_seats
from tomeval.domains.decrypto.seats import ROLES
from tomeval.domains.decrypto.tables import pooled
from tomeval.plots.dots import Ends, ends_of
from tomeval.plots.drawing import (
    DEFAULT,
    INTERVAL_WORDS,
    SHARE_INTERVALS,
    Drawing,
    Options,
    sample_words,
)
from tomeval.plots.settings import in_style, small
from tomeval.plots.style import add_head, fold, new_figure
from tomeval.runs.measures import Measure
from tomeval.runs.results import Run
from tomeval.statistics.estimates import SEQUENCE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAPS = {
    "miscommunication": ("games lost by miscommunication (%)", "miscommunication_percent"),
    "interception": ("games lost by interception (%)", "interception_percent"),
    "turns": ("turns per game", "turns_per_game"),
}
"""What heat maps show: the scale's name, and the measure."""

DARK_INK, LIGHT_INK = "#000001", "#fffffe"
"""Of the numbers in the fields: no greys, which the report's page takes for its own colours."""


@in_style
def heat_maps(run: Run, options: Options = DEFAULT) -> list[Drawing]:
    """Draw miscommunication, interception and turns for every pairing.

    Where Alice and Bob are always the same player, one panel: teams by Eve. Else a panel per Eve:
    Alice by Bob. None for runs of a single pairing.
    """
    pairings = {
        names: pool([cell.played for cell in some]) for names, some in by_seats(run).items()
    }
    pairings = {names: played for names, played in pairings.items() if played.games}
    cells = [cell for cell in run.cells if len(cell.episodes)]
    if len(pairings) < 2 or any(played.replayed for played in pairings.values()):
        return []
    matched = all(alice == bob for alice, bob, _ in pairings)
    drawings = []
    for name, (scale, measure) in MAPS.items():
        values = {
            (alice, bob, eve): _ends((alice, bob, eve), played, measure, options.interval)
            for (alice, bob, eve), played in pairings.items()
        }
        figure = _heat_map(values, scale, matched, MEASURES[measure], options)
        told = "; ".join(
            f"Alice {a}, Bob {b}, Eve {e}: {mean:.1f} ({low:.1f} to {high:.1f})"
            for (a, b, e), (mean, low, high) in values.items()
        )
        title = f"{scale[0].upper()}{scale[1:]}, by pairing"
        own = name == "turns" or options.interval == SEQUENCE
        words = INTERVAL_WORDS[options.interval] if own else SHARE_INTERVALS
        words = words.replace("episodes", "games")
        caption = (
            f"{title}, {sample_words(cells, 'games')}; below each value its end points, {words}. "
            "Empty: not played."
        )
        drawings.append(Drawing("pairings", f"pairings_{name}", figure, title, caption, told))
    return drawings


def _ends(seated: tuple[str, str, str], played: Played, measure: str, interval: str) -> Ends:
    """Return the mean of a measure over a pairing's games, and its interval.

    A bootstrap's draws depend on the pairing alone, so a figure is the same every time.
    """
    rng = generator_of(repr(dict(zip(ROLES, seated, strict=True))))
    return ends_of(pooled(MEASURES[measure], played, interval, rng))


def _heat_map(
    values: dict[tuple[str, str, str], Ends],
    scale: str,
    matched: bool,
    measure: Measure,
    options: Options,
) -> Figure:
    """Draw a panel per Eve, or a single one of teams by Eve if Alice and Bob are `matched`."""
    from matplotlib import colormaps

    alices, bobs, eves = (list(dict.fromkeys(names[i] for names in values)) for i in range(3))
    panels = [""] if matched else eves
    columns = eves if matched else bobs
    per_row = max(1, min(len(panels), int((options.width - 0.9) // (1.0 + 0.75 * len(columns)))))
    rows = -(-len(panels) // per_row)
    width = min(options.width, 1.6 + per_row * (1.0 + 0.75 * len(columns)))
    height = rows * (0.9 + 0.42 * len(alices)) + 0.3
    figure, axes = new_figure(width, height, rows, per_row, len(panels))
    top = max([1.0, *(mean for mean, *_ in values.values() if math.isfinite(mean))])
    limits = (0.0, 100.0) if measure.unit == "%" else (1.0, max(8.0, top))
    # Shapes only, so few colours that the bar is drawn of them too: the report's page takes no
    # bitmaps. With 40 none is a true grey.
    colours = colormaps["cividis"].resampled(40)
    image = None
    for axis, panel in zip(axes, panels, strict=True):
        grid = np.full((len(alices), len(columns)), np.nan)
        for (alice, bob, eve), ends in values.items():
            if matched or eve == panel:
                row, column = alices.index(alice), columns.index(eve if matched else bob)
                grid[row, column] = ends[0]
                shade = (ends[0] - limits[0]) / (limits[1] - limits[0])
                ink = _ink(colours(shade)) if math.isfinite(shade) else DARK_INK
                _number(axis, column, row, ends, ink, 0 if measure.unit == "%" else 1)
        edges = (np.arange(count + 1) - 0.5 for count in (len(columns), len(alices)))
        image = axis.pcolormesh(*edges, grid, vmin=limits[0], vmax=limits[1], cmap=colours)
        axis.invert_yaxis()
        axis.set_xticks(range(len(columns)), [fold(name, 12) for name in columns])
        axis.set_yticks(range(len(alices)), [fold(name, 16) for name in alices])
        axis.tick_params(length=0)
        axis.spines[:].set_visible(False)
        axis.set_xlabel("Eve" if matched else "Bob")
        axis.set_ylabel("Alice and Bob" if matched else "Alice")
        if panel:
            axis.set_title(f"Eve: {fold(panel, 30)}")
    if image is not None:
        room = int(9 * height / min(rows, 2))
        shrink = 0.95 if rows < 3 else 2 / rows
        side = {-1: ", less is better", 0: "", 1: ", more is better"}[measure.better]
        words = fold(scale + side, room)
        figure.colorbar(image, ax=axes, label=words, shrink=shrink, fraction=0.08)
    add_head(figure, f"{scale[0].upper()}{scale[1:]}, Alice and Bob against Eve")
    return figure


def _ink(field: tuple[float, float, float, float]) -> str:
    """Return which ink stands out more from a field, by WCAG's contrast."""
    parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in field[:3]]
    light = 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
    return DARK_INK if (light + 0.05) / 0.05 > 1.05 / (light + 0.05) else LIGHT_INK


def _number(axis: Axes, x: int, y: int, found: Ends, colour: str, digits: int) -> None:
    """Write a value and its interval into its field."""
    mean, low, high = found
    if not math.isfinite(mean):
        return
    text = f"{mean:.1f}"
    if math.isfinite(low):
        text += f"\n{low:.{digits}f}–{high:.{digits}f}"
    axis.text(x, y, text, ha="center", va="center", color=colour, fontsize=small())

"""Players of any game with scores in the plane of *knows* and *uses*."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tomeval.core.numbers import number
from tomeval.games.answer import HALF, answer, scored_cells
from tomeval.games.scores import ScoredCell
from tomeval.plots.drawing import (
    DEFAULT,
    Drawing,
    Options,
    has_values,
    interval_words,
    sample_words,
)
from tomeval.plots.families import all_words
from tomeval.plots.style import (
    FILLINGS,
    SMALL,
    add_head,
    in_style,
    new_figure,
    point_style,
)
from tomeval.runs.cell import RunCell
from tomeval.runs.notes import first_names
from tomeval.runs.results import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHADE = "0.92"
LOW, HIGH = -20.0, 100.0
"""The frame of scores in percent; points beyond are drawn on its edge."""

_MARGIN = 6.0
_PLAYS = "plays_percent"
_MOST_BESIDE = 8
_REGIONS = (
    (1, 1, "knows and uses"),
    (1, 0, "knows, does not use"),
    (0, 1, "acts on wrong beliefs"),
    (0, 0, "does not know"),
)


def plane(run: Run, options: Options = DEFAULT) -> list[Drawing]:
    """Draw *knows* across and *uses* up, a point per player and task with both intervals.

    Players without them in any task stand beside the plane, by *plays*.
    """
    seen = [cell for cell in scored_cells(run) if has_values(cell, _drawn(cell))]
    if not seen:
        return []
    title, beside = f"Knows and uses: {all_words(seen)}", _beside(run, seen)
    figure = _figure(seen, beside, Looks(run.cells), options, title)
    caption, description = _caption(run, seen, beside), _describe(seen)
    for who, cells in beside.items():
        description += f" {who}: plays {number(_mean_plays(cells), 0)}."
    return [Drawing("plane", "plane", figure, title, caption, description)]


def _beside(run: Run, seen: Sequence[ScoredCell]) -> dict[str, list[ScoredCell]]:
    """Return the tasks of each player who is nowhere in the plane, and has *plays*."""
    inside, players = {cell.title for cell in seen}, dict[str, list[ScoredCell]]()
    for cell in scored_cells(run):
        if cell.title not in inside and has_values(cell, [_PLAYS]):
            players.setdefault(cell.title, []).append(cell)
    return players if len(players) <= _MOST_BESIDE else {}


def _mean_plays(cells: Sequence[ScoredCell]) -> float:
    """Return the mean over tasks."""
    return float(np.mean([cell.estimate([_PLAYS]).mean[0] for cell in cells]))


def _drawn(cell: ScoredCell) -> list[str]:
    """Return the measures of *knows* and *uses* that decide the answer."""
    return [cell.deciding.get(name, f"{name}_percent") for name in ("knows", "uses")]


def _caption(run: Run, seen: Sequence[ScoredCell], beside: Mapping[str, Any]) -> str:
    """Describe what is drawn, the lines, and which players are missing and why."""
    scored = [c for c in scored_cells(run) if len(c.episodes) and c.title not in beside]
    blind = [cell for cell in scored if not has_values(cell, _drawn(cell))]
    means = [cell.estimate(_drawn(cell)).mean for cell in seen]
    beyond = sum(bool((mean < LOW).any() or (mean > HIGH).any()) for mean in means)
    words = [
        "Knows: how well it predicts its partner. Uses: how well it acts on its own prediction. "
        "Both 0 at chance and 100 at the best attainable; a point per player and task, "
        f"{all_words(seen)}, means over {sample_words(seen)} with {interval_words(seen[0])}. "
        "Lines: half of the attainable, the threshold for the names of the regions."
    ]
    if any(cell.deciding for cell in seen):
        words.append(
            "Knows is of the questions that a reply follows from; uses is beyond that of the same "
            "acts held to random statements."
        )
    if beyond:
        words.append(f"{beyond} of {len(seen)} points lie beyond the frame and are on its edge.")
    if beside:
        words.append(
            "At the right, by plays alone, players whose prediction or use cannot be measured: a "
            "small mark per task, the large one for the mean of their tasks."
        )
    if blind:
        names = first_names([cell.name for cell in blind])
        words.append(f"Not shown, because use or prediction cannot be measured there: {names}.")
    return " ".join(words)


def _describe(seen: Sequence[ScoredCell]) -> str:
    """Describe both scores and the answer of every point."""
    parts = []
    for cell in seen:
        knows, uses = cell.estimate(_drawn(cell)).mean
        said = answer(cell)
        who = f"{cell.title}, {all_words([cell])}"
        parts.append(f"{who}: knows {number(knows, 0)}, uses {number(uses, 0)}, {said}")
    return f"{'. '.join(parts)}."


@in_style
def _figure(
    cells: Sequence[ScoredCell],
    beside: Mapping[str, Sequence[ScoredCell]],
    looks: Looks,
    options: Options,
    title: str,
) -> Figure:
    more: dict[str, Any] = {"width_ratios": [12, 1 + len(beside) / 3]} if beside else {}
    columns = 1 + bool(beside)
    figure, (axes, *strip) = new_figure(
        options.width, 0.9 * options.width, columns=columns, sharey=True, **more
    )
    for side in strip:
        _strip(side, beside, looks)
    _regions(axes)
    for cell in cells:
        _point(axes, cell, looks.of(cell))
    ends = LOW - _MARGIN, HIGH + _MARGIN
    axes.set(xlim=ends, ylim=ends, xticks=range(-20, 101, 20), yticks=range(-20, 101, 20))
    axes.set_xlabel("knows: predicts its partner\n(0 chance, 100 best attainable)")
    axes.set_ylabel("uses: acts on its prediction")
    more_cells = [cell for tasks in beside.values() for cell in tasks]
    add_head(figure, title, looks.handles([*cells, *more_cells]))
    return figure


def _strip(axes: Axes, beside: Mapping[str, Sequence[ScoredCell]], looks: Looks) -> None:
    """Draw *plays* of players side by side: every task, and their mean."""
    for place, cells in enumerate(beside.values()):
        values = np.clip([cell.estimate([_PLAYS]).mean[0] for cell in cells], LOW, HIGH)
        style = looks.of(cells[0])
        small = style | {"markersize": 2.5, "alpha": 0.6, "zorder": 1}
        axes.plot(np.full(len(values), place), values, **small)
        mean = min(max(_mean_plays(cells), LOW), HIGH)
        axes.plot([place], [mean], zorder=3, **style)
    axes.axhline(HALF, color="0.6", lw=0.8, zorder=0)
    axes.axhline(0.0, color="0.85", lw=0.6, zorder=0)
    axes.set(xlim=(-0.7, len(beside) - 0.3), xticks=[], xlabel="plays\nalone")
    axes.tick_params(axis="y", left=False, labelleft=False)
    axes.spines["left"].set_visible(False)


def _regions(axes: Axes) -> None:
    """Draw the half lines, and name the regions inside the plane."""
    ends = LOW - _MARGIN, HIGH + _MARGIN
    axes.fill_between([HALF, ends[1]], ends[0], HALF, color=SHADE, lw=0, zorder=0)
    for line in (axes.axhline, axes.axvline):
        line(HALF, color="0.6", lw=0.8, zorder=1)
        line(0.0, color="0.85", lw=0.6, zorder=0)
    for right, top, text in _REGIONS:
        x = HALF + 2 if right else LOW - 0.7 * _MARGIN
        y = HIGH + 0.7 * _MARGIN if top else LOW - 0.7 * _MARGIN
        look: dict[str, Any] = {"color": "0.35", "fontsize": SMALL, "style": "italic"}
        axes.text(x, y, text, ha="left", va="top" if top else "bottom", **look)


def _point(axes: Axes, cell: ScoredCell, style: dict[str, Any]) -> None:
    """Draw one player in one task; crossing intervals that leave the frame run across its edge."""
    mean, _, low, high = cell.estimate(_drawn(cell))
    mean = np.clip(mean, LOW, HIGH)
    ends = np.maximum(np.nan_to_num(np.stack([mean - low, high - mean])), 0.0)
    axes.errorbar(mean[0], mean[1], ends[:, 1:], ends[:, :1], elinewidth=0.8, capsize=1.5, **style)


class Looks:
    """How the points of a run look: each subject the same in all its figures.

    Where subject and model tell all cells of a task apart, colour and marker are the subject's and
    the filling is the model's; else every title has a look of its own.
    """

    def __init__(self, cells: Sequence[RunCell]) -> None:
        pairs = [(cell.player, cell.own_model) for cell in cells]
        models = list(dict.fromkeys(model for _, model in pairs if model))
        same = len({cell.title for cell in cells}) == len(set(pairs))
        self.models = models if same and 1 < len(models) <= len(FILLINGS) else []
        keys = [player for player, _ in pairs] if self.models else [cell.title for cell in cells]
        self.subjects = list(dict.fromkeys(keys))

    def of(self, cell: RunCell) -> dict[str, Any]:
        """Return the look of a cell's point."""
        if not self.models:
            return point_style(self.subjects.index(cell.title))
        model = cell.own_model
        filling = self.models.index(model) if model else 0
        return point_style(self.subjects.index(cell.player), filling)

    def handles(self, cells: Sequence[RunCell]) -> list[Any]:
        """Return the legend of some cells: a mark per subject, and one per model."""
        from matplotlib.lines import Line2D

        if not self.models:
            shown = {cell.title: self.of(cell) for cell in cells}
            places = [name for name in self.subjects if name in shown]
            return [Line2D([], [], label=name, **shown[name]) for name in places]
        players = {cell.player for cell in cells}
        handles = [
            Line2D([], [], label=name, **point_style(index, 0))
            for index, name in enumerate(self.subjects)
            if name in players
        ]
        grey = {"marker": "o", "color": "0.4", "markersize": 5.5}
        models = {cell.own_model for cell in cells}
        for index, model in enumerate(self.models):
            if model in models:
                look = point_style(0, index) | grey
                look |= {} if look["fillstyle"] == "full" else {"markeredgecolor": "0.4"}
                handles.append(Line2D([], [], label=f"model: {model}", **look))
        return handles

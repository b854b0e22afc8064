"""Literal against functional theory of mind, inside what is attainable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tomeval.core.numbers import number
from tomeval.domains.matrix.optima import bounds
from tomeval.domains.matrix.partners import PartnerSet
from tomeval.domains.matrix.responses import misjudgement_cost
from tomeval.domains.matrix.results import matrix_cell
from tomeval.plots.drawing import DEFAULT, INTERVAL_WORDS, Drawing, Options, has_values, measured
from tomeval.plots.families import Family, families
from tomeval.plots.style import add_legend, fold, in_style, new_figure, point_style
from tomeval.runs.cell import RunCell
from tomeval.runs.results import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PAIR = ("delta_tom_best_response_per_step", "delta_functional_per_step")


class Attainable(NamedTuple):
    """Limits of a task's mean ΔToM/T (best response) and ΔFunctional/T, in payoff units.

    `belief` is an upper limit: every prediction as wrong as can be, and the partner always at the
    action where that costs most.
    """

    belief: float
    regret_min: float
    regret_max: float


def attainable(cell: RunCell, reference: str | None = None) -> Attainable:
    """Return the limits of a cell, in expectation over its partner set.

    Examples
    --------
    Prediction never matters in the prisoner's dilemma, where defecting is best against both:

    >>> import tempfile, tomeval
    >>> experiment = {"games": "IPD", "subjects": "random", "episodes": 1}
    >>> with tempfile.TemporaryDirectory() as folder, tomeval.run(experiment, folder) as run:
    ...     limits = attainable(run.cells[0])
    >>> limits.belief, round(limits.regret_max, 9)
    (0.0, 3.5)
    """
    weights = tuple(cell.definition["partners"]["weights"])
    game, members = matrix_cell(cell).game, matrix_cell(cell).partners
    partners = PartnerSet(cell.definition["partners"]["name"], tuple(members), weights)
    horizon = cell.definition["horizon"]
    rows = bounds(game, partners, horizon, reference or cell.reference)
    dearest = misjudgement_cost(game, "best_response").max(axis=0)
    belief = sum(
        weight * float(dearest[(partner.emissions > 0).any(axis=0)].max())
        for weight, partner in zip(weights, members, strict=True)
    )
    low, high = (
        sum(row.weight * getattr(row, name) for row in rows)
        for name in ("regret_min", "regret_max")
    )
    return Attainable(belief, low, high)


def scatter(run: Run, options: Options = DEFAULT) -> list[Drawing]:
    """Draw ΔToM/T against ΔFunctional/T, a figure per family of tasks and a panel per game."""
    subjects = _subjects(run.cells)
    drawings = []
    for family in families(run.cells):
        if not any(has_values(cell, PAIR) for _, cells in family.panels for cell in cells):
            continue
        if not all(matrix_cell(cell).as_planned for _, cells in family.panels for cell in cells):
            continue  # the grey area would not be what these episodes could reach
        caption = (
            "What a subject's predictions cost (ΔToM/T, rule best response) against what its play "
            f"cost (ΔFunctional/T), a point per subject with {INTERVAL_WORDS[options.interval]}. "
            "On the dashed diagonal a subject loses what its predictions cost; above it, it loses "
            "more than that. Grey: what any subject can reach in expectation; for ΔToM/T an upper "
            "limit."
        )
        parts = []
        for title, cells in family.panels:
            found = [measured(cell, PAIR, options).mean for cell in cells]
            said = ", ".join(
                f"{cell.title} {number(mean[0])} and {number(mean[1])}"
                for cell, mean in zip(cells, found, strict=True)
            )
            parts.append(f"{title}: {said}")
        drawings.append(
            Drawing(
                "scatter",
                f"literal_against_functional_{family.stem}",
                _family_figure(family, subjects, options),
                f"Literal against functional: {family.title}",
                caption,
                f"ΔToM/T and ΔFunctional/T. {'; '.join(parts)}.",
            )
        )
    return drawings


def scatter_figure(cells: Sequence[RunCell], options: Options = DEFAULT) -> Figure:
    """Draw ΔToM/T (best response) against ΔFunctional/T for cells of one family of tasks.

    Every point is a cell with its 95 % intervals; the panels are games. On the diagonal a subject
    loses what its predictions cost; above it, it loses more than that. Raises `ValueError` if the
    cells have no complete episode, or belong to several families.
    """
    found = families(cells)
    if len(found) != 1:
        raise ValueError(f"cells of one family of tasks are drawn together, got {len(found)}")
    return _family_figure(found[0], _subjects(cells), options)


def _subjects(cells: Sequence[RunCell]) -> list[str]:
    """Return the subjects in the run's order: each looks the same in all its figures."""
    return list(dict.fromkeys(cell.title for cell in cells))


@in_style
def _family_figure(family: Family, subjects: list[str], options: Options) -> Figure:
    """Draw a panel per task and the legend of all subjects."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    columns = min(len(family.panels), options.fits(2, 3))
    rows = -(-len(family.panels) // columns)
    height = options.width / options.fits(2, 3) * 0.95
    figure, panels = new_figure(options.width, 0.25 + rows * (height + 0.35), rows, columns)
    for axes, (title, cells) in zip(panels, family.panels, strict=False):
        _panel(axes, cells, subjects, options)
        axes.set_title(fold(title, options.fits(25, 35)))
        axes.set_xlabel("ΔToM/T (payoff units)")
    for axes in panels[len(family.panels) :]:
        axes.remove()
    for first in range(0, len(family.panels), columns):
        panels[first].set_ylabel("ΔFunctional/T (payoff units)")
    handles = [
        Line2D([], [], label=name, **point_style(index))
        for index, name in enumerate(subjects)
        if name in family.subjects
    ]
    handles.append(Line2D([], [], color="0.4", lw=0.9, ls="--", label="ΔFunctional = ΔToM"))
    add_legend(figure, [*handles, Patch(color=SHADE, label="attainable")])
    return figure


SHADE = "0.92"


def _panel(axes: Axes, cells: Sequence[RunCell], subjects: list[str], options: Options) -> None:
    """Draw the points of one task."""
    limits = attainable(cells[0], options.reference)
    low = np.array([0.0, limits.regret_min])
    high = np.array([limits.belief, limits.regret_max])
    drawn_low, drawn_high = low.copy(), high.copy()
    for cell in cells:
        found = measured(cell, PAIR, options)
        if np.isnan(found.mean).any():
            continue
        ends = np.nan_to_num(np.stack([found.mean - found.low, found.high - found.mean]))
        style = point_style(subjects.index(cell.title))
        x, y = found.mean
        axes.errorbar(x, y, ends[:, 1:], ends[:, :1], elinewidth=0.8, capsize=1.5, **style)
        drawn_low = np.minimum(drawn_low, found.mean - ends[0])
        drawn_high = np.maximum(drawn_high, found.mean + ends[1])
    room = 0.06 * max(float((drawn_high - drawn_low).max()), 0.1)
    # If predictions cannot cost anything the region is a line: give it a visible width.
    thin = max(0.0, room / 2 - high[0]) / 2
    axes.fill_between([-thin, high[0] + thin], low[1], high[1], color=SHADE, lw=0, zorder=0)
    axes.axline((0, 0), slope=1, color="0.4", lw=0.9, ls="--", zorder=1)
    across = max(drawn_high[0], drawn_low[0] + 0.35 * (drawn_high[1] - drawn_low[1]))
    axes.set_xlim(drawn_low[0] - room, across + room)
    axes.set_ylim(drawn_low[1] - room, drawn_high[1] + room)

"""Which actions follow an exchange of states, by layer and position, with the controls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tomeval.domains.matrix.results import MatrixRunCell
from tomeval.extensions.internal.chain import Where, shares, verdict
from tomeval.extensions.internal.findings import Found
from tomeval.extensions.internal.keys import MOVES
from tomeval.extensions.internal.questions import QUESTIONS
from tomeval.extensions.internal.reading import found
from tomeval.extensions.internal.tables import cells_of
from tomeval.extensions.internal.use import CONDITIONS, LAST
from tomeval.plots.drawing import DEFAULT, Drawing, Options
from tomeval.plots.settings import in_style
from tomeval.plots.style import add_head, line_style, new_figure
from tomeval.runs.results import Run
from tomeval.statistics.shares import Share

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAME = "internal"
_WORDS = {"twin": "the other partner's", "random": "random direction", "third": "third episode's"}


def internal(run: Run, options: Options = DEFAULT) -> list[Drawing]:
    """Draw a figure per cell whose states were exchanged: layers against who follows."""
    drawings = []
    for cell in cells_of(run):
        told = found(cell)
        if not told.swaps:
            continue
        drawings.append(
            Drawing(
                NAME,
                f"{NAME}_cell_{cell.number}",
                internal_figure(cell, told, options),
                f"States exchanged: {cell.title}",
                f"{cell.name}. How many answers follow, by layer, when the state is taken from an "
                "episode that differs only in the partner's moves, among pairs with different "
                "answers. Controls: a state as far away in a random direction, and that of a third "
                "episode. Left: at the partner's moves and what they paid; right: at the token "
                "that the answer follows. Bars are 95 % intervals, episodes as clusters. At the "
                "highest layer the last token decides alone, and at layer 0 an exchange of moves "
                "is one of words: both check the exchange. The dotted line is what a probe reads "
                "there from the state at the action.",
                "; ".join(_verdicts(cell, told)) + ". " + _describe(told),
            )
        )
    return drawings


def _verdicts(cell: MatrixRunCell, told: Found) -> list[str]:
    said = {truth: verdict(cell, told, truth) for truth in told.held}
    return [f"{cell.title}, {truth.replace('_', ' ')}: {words}" for truth, words in said.items()]


def _describe(told: Found) -> str:
    followed = shares(told)
    said = [
        f"{question}, {position}, layer {layer}: {100 * share.share:.0f} %"
        for (question, position, layer, put_in), share in followed.items()
        if put_in == CONDITIONS[0]
    ]
    return "; ".join(said) + "."


@in_style
def internal_figure(cell: MatrixRunCell, told: Found, options: Options = DEFAULT) -> Figure:
    """Draw one cell: a row per question, a column per position, a line per what was put in."""
    from matplotlib.lines import Line2D

    followed = shares(told)
    asked = [form for form in QUESTIONS if any(key[0] == form for key in followed)]
    places = [word for word in (MOVES, LAST) if any(key[1] == word for key in followed)]
    figure, axes = new_figure(options.width, 1.9 * len(asked), len(asked), len(places))
    panels = np.array(axes, dtype=object).reshape(len(asked), len(places))
    for row, form in enumerate(asked):
        for column, position in enumerate(places):
            panel = panels[row, column]
            for index, condition in enumerate(CONDITIONS):
                _line(panel, told.layers, followed, (form, position, condition), index)
            panel.set(ylim=(-4, 104), xticks=told.layers)
            where = "moves" if position == MOVES else "last token"
            panel.set_title(f"{'action' if form == 'act' else 'prediction'}: {where}", size=8)
            if position == LAST and form == "act":
                for held in list(told.held.values())[:1]:
                    panel.axhline(float(np.mean(held.of("holds"))), ls=":", lw=0.9, color="0.4")
            if column == 0:
                panel.set_ylabel("follows (%)")
            if row == len(asked) - 1:
                panel.set_xlabel("layer")
    handles = [
        Line2D([], [], label=_WORDS[condition], marker="o", markersize=3, lw=1.2, **line_style(n))
        for n, condition in enumerate(CONDITIONS)
    ]
    add_head(figure, cell.title, handles)
    return figure


def _line(
    panel: Axes,
    layers: Sequence[int],
    followed: Mapping[Where, Share],
    key: tuple[str, str, str],
    index: int,
) -> None:
    form, position, condition = key
    told = [(n, followed.get((form, position, n, condition))) for n in layers]
    x = np.array([n for n, share in told if share]) + 0.06 * (index - 1)
    values = np.array([share[:3] for _, share in told if share]).reshape(-1, 3).T
    style = line_style(index)
    panel.plot(x, 100 * values[0], lw=1.2, marker="o", markersize=3, **style)
    panel.vlines(x, *(100 * values[1:]), color=style["color"], lw=0.8, alpha=0.6)

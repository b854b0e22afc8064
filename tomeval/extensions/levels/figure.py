"""Where every player stands on the ladder of recursion: shares of levels, and likelihoods."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from tomeval.domains.decrypto.figures import INTERVALS
from tomeval.domains.decrypto.seats import NAMES, ROLES
from tomeval.extensions.levels.fit import Placement
from tomeval.extensions.levels.ladder import LEVELS
from tomeval.extensions.levels.tables import Placed, placements, verdict
from tomeval.plots.drawing import DEFAULT, Drawing, Options, sample_words
from tomeval.plots.settings import in_style, small
from tomeval.plots.style import BASELINE, COLOURS, add_head, fold, new_figure, point_style
from tomeval.runs.results import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROW = 0.5
"""Inches per player; its three levels stand below each other."""

_APART = 0.24  # of a row, between levels


def levels(run: Run, options: Options = DEFAULT) -> list[Drawing]:
    """Draw a figure per seat: shares of turns at each level, beside held-out log-likelihoods."""
    found = placements(run)
    drawings = []
    for role in ROLES:
        mine = {key: value for key, value in found.items() if key[0] == role}
        if any(placed.choices for _, placed in mine.values()):
            drawings.append(_drawing(run, role, mine, options))
    return drawings


@in_style
def _drawing(run: Run, role: str, found: Placed, options: Options) -> Drawing:
    name = NAMES[role]
    title = f"{name}'s level of recursion"
    cells = [cell for cell in run.cells if len(cell.episodes)]
    figure = _figure(title, found, options)
    told = []
    for (_, player), (embedding, placed) in found.items():
        if not _has_shares(placed):
            told.append(f"{player}: {verdict(placed)}")
            continue
        shares = "; ".join(
            f"level {n} {100 * placed.weights.mean[n]:.0f} %"
            + _ends(100 * placed.weights.low[n], 100 * placed.weights.high[n])
            for n in LEVELS
        )
        told.append(f"{player} ({embedding}): mean level {placed.level.mean[0]:.2f}"
                    f"{_ends(placed.level.low[0], placed.level.high[0], 2)}: {shares}")  # fmt: skip
    what = "hint" if role == "encoder" else "guess"
    caption = (
        f"{title}, {sample_words(cells, 'games')}; {INTERVALS}. Left: share of turns played at "
        "each level, a mixture fitted by maximum likelihood; below the name its mean level. "
        f"Right: log-likelihood per {what} of each level, every deal judged by the fit to the "
        "others; line: uniform choice or the player's own frequencies, whichever is better."
    )
    return Drawing("levels", f"levels_{name.lower()}", figure, title, caption, "; ".join(told))


def _ends(low: float, high: float, digits: int = 0) -> str:
    return f" ({low:.{digits}f} to {high:.{digits}f})" if math.isfinite(low) else ""


def _figure(title: str, found: Placed, options: Options) -> Figure:
    """Draw a row per player, in two panels."""
    height = 1.1 + ROW * len(found)
    figure, (left, right) = new_figure(options.width, height, 1, 2, sharey=True)
    for row, placed in enumerate(placed for _, placed in found.values()):
        _shares(left, row, placed)
        _likelihoods(right, row, placed)
    room = options.fits(13, 24)
    left.set_yticks(range(len(found)), [
        f"{fold(player, room)}\n{_beside(placed)}" for (_, player), (_, placed) in found.items()
    ])  # fmt: skip
    left.set_ylim(len(found) - 0.5, -0.5)
    left.set_xlim(-4, 104)
    left.set_xticks([0, 50, 100])
    left.set_xlabel("share of turns (%)")
    right.set_xlabel(fold("held-out log-likelihood per choice (nats)", options.fits(22, 44)))
    for axis in (left, right):
        axis.tick_params(axis="y", length=0)
        for edge in range(1, len(found)):
            axis.axhline(edge - 0.5, color="0.85", lw=0.6, zorder=0)
    add_head(figure, title, left.get_legend_handles_labels()[0])
    return figure


def _beside(placed: Placement) -> str:
    """Return what stands below a player's name: the mean level."""
    mean = float(placed.level.mean[0])
    return f"level {mean:.2f}" if math.isfinite(mean) else ""


def _has_shares(placed: Placement) -> bool:
    """Tell whether there are shares: not if no level fits, or if all say the same."""
    return math.isfinite(float(placed.level.mean[0]))


def _shares(axis: Axes, row: int, placed: Placement) -> None:
    """Draw the shares of the levels with their intervals."""
    for level in LEVELS:
        mean, y = 100 * float(placed.weights.mean[level]), row + (level - 1) * _APART
        low, high = (100 * float(end[level]) for end in (placed.weights.low, placed.weights.high))
        label = f"level {level}" if row == 0 else None
        if math.isfinite(low):
            axis.plot([low, high], [y, y], color=COLOURS[level], lw=1.4)
        axis.plot([mean], [y], label=label, **point_style(level))
    if not _has_shares(placed):
        axis.text(50, row, verdict(placed), ha="center", va="center", fontsize=small())


def _likelihoods(axis: Axes, row: int, placed: Placement) -> None:
    """Draw the held-out log-likelihoods, and that of the better baseline as a line."""
    for level in LEVELS:
        y = row + (level - 1) * _APART
        low, high = float(placed.held_out.low[level]), float(placed.held_out.high[level])
        if math.isfinite(low):
            axis.plot([low, high], [y, y], color=COLOURS[level], lw=1.4)
        axis.plot([float(placed.held_out.mean[level])], [y], **point_style(level))
    rivals = [float(found.mean[0]) for found in placed.baselines.values()]
    if np.isfinite(rivals).any():
        axis.plot([np.nanmax(rivals)] * 2, [row - 0.4, row + 0.4], color=BASELINE, lw=1.1)

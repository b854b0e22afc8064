"""Figures of a Decrypto run: pairings as heat maps, turns as lines, probes as points."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tomeval.core.errors import TomevalError, unknown
from tomeval.domains.decrypto.measures import (
    BELIEF_MEASURES,
    CHANCE,
    NONE,
    Played,
    belief_shares,
    outcome_shares,
    perspective,
    pool,
    share_of,
    turns_per_game,
)
from tomeval.domains.decrypto.results import Pairing, Run
from tomeval.domains.decrypto.seats import ENCODER_QUESTIONS
from tomeval.plots.drawing import Drawing
from tomeval.plots.output import save
from tomeval.plots.style import (
    COLOURS,
    WIDTHS,
    add_legend,
    fold,
    in_style,
    line_style,
    new_figure,
    point_style,
)
from tomeval.statistics.shares import Share

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INTERVALS = "95 % intervals over games"

Value = Callable[[Played], tuple[float, float, float]]
"""Mean and the ends of its interval."""


def _miscommunication(played: Played) -> tuple[float, float, float]:
    return _percent(outcome_shares(played)["miscommunication"])


def _interception(played: Played) -> tuple[float, float, float]:
    return _percent(outcome_shares(played)["interception"])


def _percent(share: Share) -> tuple[float, float, float]:
    return 100 * share.share, 100 * share.low, 100 * share.high


def _turns(played: Played) -> tuple[float, float, float]:
    mean, half = turns_per_game(played)
    return mean, mean - half, mean + half


MAPS: dict[str, tuple[str, Value]] = {
    "miscommunication": ("games lost by miscommunication (%)", _miscommunication),
    "interception": ("games lost by interception (%)", _interception),
    "turns": ("turns per game", _turns),
}
"""What heat maps show, with the scale's name."""

BELIEF_WORDS = {
    "weak_rc": "weak RC",
    "strong_rc": "strong RC",
    "weak_fb": "weak FB",
    "strong_fb": "strong FB",
    "consistent": "B = C",
}
QUESTION_WORDS = {
    "eve": "Alice predicts Eve",
    "eve_reminded": "Alice predicts Eve, reminded",
    "bob": "Alice predicts Bob",
}


def plot_run(
    run: Run,
    folder: Path,
    *,
    only: Sequence[str] = (),
    formats: Sequence[str] = ("png", "svg"),
) -> list[Path]:
    """Draw all figures that a run's data supports, or those named, and return the files.

    Parameters
    ----------
    run : Run
    folder : Path
        Made when missing.
    only : sequence of str
        Keys of `FIGURES`.
    formats : sequence of {"png", "svg", "pdf"}
    """
    for name in only:
        if name not in FIGURES:
            raise unknown("figure", name, FIGURES)
    if not any(pairing.played.games for pairing in run.pairings):
        raise TomevalError(f"{run.folder}: has no complete game yet, nothing to plot")
    drawings = [
        drawing
        for name, draw in FIGURES.items()
        if not only or name in only
        for drawing in draw(run)
    ]
    if not drawings:
        raise TomevalError(f"{run.folder}: has no data for {', '.join(only)}")
    return save(drawings, folder, formats)


@in_style
def heat_maps(run: Run) -> list[Drawing]:
    """Draw miscommunication, interception and turns for every pairing.

    Where Alice and Bob are always the same player, one panel: teams by Eve. Else a panel per Eve:
    Alice by Bob. None for runs of a single pairing.
    """
    pairings = [pairing for pairing in run.pairings if pairing.played.games]
    if len(pairings) < 2 or any(pairing.played.replayed for pairing in pairings):
        return []
    matched = all(pairing.names["encoder"] == pairing.names["decoder"] for pairing in pairings)
    found = []
    for name, (scale, value) in MAPS.items():
        values = {_names(pairing): value(pairing.played) for pairing in pairings}
        figure = _heat_map(values, scale, matched, name == "turns")
        told = "; ".join(
            f"Alice {a}, Bob {b}, Eve {e}: {mean:.1f} ({low:.1f} to {high:.1f})"
            for (a, b, e), (mean, low, high) in values.items()
        )
        title = f"{scale[0].upper()}{scale[1:]}, by pairing"
        caption = f"{title}; below each value its end points, {INTERVALS}. Empty: not played."
        found.append(Drawing("heat_maps", f"pairings_{name}", figure, title, caption, told))
    return found


def _names(pairing: Pairing) -> tuple[str, str, str]:
    return pairing.names["encoder"], pairing.names["decoder"], pairing.names["interceptor"]


def _heat_map(
    values: dict[tuple[str, str, str], tuple[float, float, float]],
    scale: str,
    matched: bool,
    is_turns: bool,
) -> Figure:
    alices, bobs, eves = (list(dict.fromkeys(names[i] for names in values)) for i in range(3))
    panels = [""] if matched else eves
    columns = eves if matched else bobs
    per_row = max(1, min(len(panels), int(6.0 // (1.0 + 0.75 * len(columns)))))
    rows = -(-len(panels) // per_row)
    width = min(WIDTHS["double"], 1.6 + per_row * (1.0 + 0.75 * len(columns)))
    height = rows * (0.9 + 0.42 * len(alices)) + 0.3
    figure, axes = new_figure(width, height, rows, per_row)
    top = max([1.0, *(mean for mean, *_ in values.values() if math.isfinite(mean))])
    limits = (1.0, max(8.0, top)) if is_turns else (0.0, 100.0)
    image = None
    for axis, panel in zip(axes, panels, strict=False):
        grid = np.full((len(alices), len(columns)), np.nan)
        for (alice, bob, eve), found in values.items():
            if matched or eve == panel:
                row, column = alices.index(alice), columns.index(eve if matched else bob)
                grid[row, column] = found[0]
                shade = (found[0] - limits[0]) / (limits[1] - limits[0])
                _number(axis, column, row, found, shade, 1 if is_turns else 0)
        image = axis.imshow(grid, vmin=limits[0], vmax=limits[1], cmap="cividis", aspect="auto")
        axis.set_xticks(range(len(columns)), [fold(name, 12) for name in columns])
        axis.set_yticks(range(len(alices)), [fold(name, 16) for name in alices])
        axis.tick_params(length=0)
        axis.spines[:].set_visible(False)
        axis.set_xlabel("Eve" if matched else "Bob")
        axis.set_ylabel("Alice and Bob" if matched else "Alice")
        if panel:
            axis.set_title(f"Eve: {fold(panel, 30)}")
    for axis in axes[len(panels) :]:
        axis.set_visible(False)
    if image is not None:
        room = int(9 * height / min(rows, 2))
        shrink = 0.95 if rows < 3 else 2 / rows
        figure.colorbar(image, ax=axes, label=fold(scale, room), shrink=shrink, fraction=0.08)
    return figure


def _number(
    axis: Axes, x: int, y: int, found: tuple[float, float, float], shade: float, digits: int
) -> None:
    """Write a value and its interval into its field, light on dark or dark on light."""
    mean, low, high = found
    if not math.isfinite(mean):
        return
    text = f"{mean:.1f}"
    if math.isfinite(low):
        text += f"\n{low:.{digits}f}–{high:.{digits}f}"
    colour = "black" if shade > 0.55 else "white"
    axis.text(x, y, text, ha="center", va="center", color=colour, fontsize=6.5)


@in_style
def perspective_by_turn(run: Run) -> list[Drawing]:
    """Draw by turn how often Alice says that Eve will be right, and how often Eve is.

    A panel per Alice, over all Bobs and Eves she was asked about. In the first turn Eve can only
    guess: the mark at 1/24.
    """
    groups = _groups(run, "encoder", lambda p: (p.predicted["eve"] != NONE).any())
    if not groups:
        return []
    figure, axes = _panels(len(groups))
    told = []
    for axis, (name, played) in zip(axes, groups.items(), strict=False):
        told.append(_turn_lines(axis, name, played))
    for axis in axes[len(groups) :]:
        axis.set_visible(False)
    for axis in axes[: len(groups)]:
        axis.set_xlabel("turn")
        axis.set_ylabel("Eve right (% of games)")
    _shared_legend(figure, axes[: len(groups)])
    title = "Interception, as Alice predicts it and as it is"
    caption = f"{title}, by turn; {INTERVALS}. Bar at turn 1: chance, 1/24."
    return [Drawing("perspective", "perspective_by_turn", figure, title, caption, "; ".join(told))]


def _turn_lines(axis: Axes, name: str, played: Played) -> str:
    """Draw one panel's lines and return them in words."""
    turns = sorted(set(played.turn.tolist()))
    series: list[tuple[str, list[Share]]] = []
    every = [perspective(played, played.turn == turn) for turn in turns]
    nothing = Share(math.nan, math.nan, math.nan, 0, 0)
    for question, label in (("eve", "predicted"), ("eve_reminded", "predicted, reminded")):
        shares = [found.get(f"predicted_{question}", nothing) for found in every]
        if any(share.items for share in shares):
            series.append((label, shares))
    actual = [share_of(played, played.intercepted, played.turn == turn) for turn in turns]
    series.append(("actual", actual))
    told = []
    for index, (label, shares) in enumerate(series):
        mean = 100 * np.array([share.share for share in shares])
        low, high = (100 * np.array([getattr(s, end) for s in shares]) for end in ("low", "high"))
        style = line_style(index)
        axis.plot(turns, mean, label=label, marker="o", ms=3, lw=1.2, **style)
        axis.fill_between(turns, low, high, color=style["color"], alpha=0.15, lw=0)
        told.append(f"{label} " + ", ".join(f"{value:.0f}" for value in mean))
    axis.plot([0.7, 1.3], [100 * CHANCE] * 2, color="0.2", lw=2, label="chance in turn 1")
    axis.set_ylim(-3, 103)
    axis.set_xticks(turns)
    axis.set_title(f"Alice: {fold(name, 30)}")
    return f"{name}: " + "; ".join(told)


@in_style
def probe_rates(run: Run) -> list[Drawing]:
    """Draw Eve's belief probes and the accuracy of Alice's predictions, a mark per player."""
    found = []
    eves = _groups(run, "interceptor", lambda p: bool(p.beliefs))
    if eves:
        rates = {name: belief_shares(played) for name, played in eves.items()}
        bars = {n: [r[measure] for measure in BELIEF_MEASURES] for n, r in rates.items()}
        title = "Eve's beliefs about her own and another's beliefs"
        caption = (
            f"{title}: share of the turns on which she does not know the keywords; {INTERVALS}. "
            "RC: representational change, FB: false belief; weak: the answer is not the true "
            "keywords, strong: it is her own earlier answer; B = C: she answers for herself and "
            "for another alike."
        )
        words = list(BELIEF_WORDS.values())
        found.append(_probe_drawing("probes_beliefs", bars, words, title, caption))
    alices = _groups(
        run, "encoder", lambda p: any((p.predicted[q] != NONE).any() for q in ENCODER_QUESTIONS)
    )
    if alices:
        nothing = Share(math.nan, math.nan, math.nan, 0, 0)
        accuracy = {name: perspective(played) for name, played in alices.items()}
        bars = {
            name: [shares.get(f"tom_{q}", nothing) for q in ENCODER_QUESTIONS]
            for name, shares in accuracy.items()
        }
        title = "Accuracy of Alice's predictions (ToM %)"
        caption = f"{title}, over turns; {INTERVALS}."
        words = [QUESTION_WORDS[question] for question in ENCODER_QUESTIONS]
        found.append(_probe_drawing("probes_predictions", bars, words, title, caption))
    return found


def _probe_drawing(
    stem: str, bars: dict[str, list[Share]], words: list[str], title: str, caption: str
) -> Drawing:
    """Draw groups of points with intervals."""
    shown = [i for i in range(len(words)) if any(shares[i].items for shares in bars.values())]
    figure, (axis,) = new_figure(WIDTHS["double"] if len(shown) > 3 else 4.6, 2.5)
    step = 0.7 / max(len(bars), 1)
    told = []
    for index, (name, shares) in enumerate(bars.items()):
        offset = (index - (len(bars) - 1) / 2) * step
        style = point_style(index)
        for place, i in enumerate(shown):
            share = shares[i]
            x = place + offset
            if math.isfinite(share.low):
                ends = [100 * share.low, 100 * share.high]
                axis.plot([x, x], ends, color=COLOURS[index % len(COLOURS)], lw=1.4)
            label = name if place == 0 else None
            axis.plot([x], [100 * share.share], label=label, **style)
            told.append(f"{name}, {words[i]}: {100 * share.share:.0f} % of {share.items}")
    axis.set_xticks(range(len(shown)), [fold(words[i], 16) for i in shown])
    axis.set_ylim(-3, 103)
    axis.set_ylabel("share of turns (%)")
    axis.set_title(title)
    add_legend(figure, axis.get_legend_handles_labels()[0])
    return Drawing("probes", stem, figure, title, caption, "; ".join(told))


def _groups(run: Run, role: str, wanted: Callable[[Played], Any]) -> dict[str, Played]:
    """Return the games of every player in a seat, of pairings with the wanted data."""
    parts: dict[str, list[Played]] = {}
    for pairing in run.pairings:
        if pairing.played.games and wanted(pairing.played):
            parts.setdefault(pairing.names[role], []).append(pairing.played)
    return {name: pool(found) for name, found in parts.items()}


def _panels(count: int) -> tuple[Figure, list[Axes]]:
    columns = min(3, count)
    rows = -(-count // columns)
    width = WIDTHS["double"] if columns == 3 else 0.8 + 2.4 * columns
    return new_figure(width, 2.1 * rows, rows, columns, sharey=False)


def _shared_legend(figure: Figure, axes: Sequence[Axes]) -> None:
    """Put one legend for all panels."""
    handles: dict[str, Any] = {}
    for axis in axes:
        for handle in axis.get_legend_handles_labels()[0]:
            handles.setdefault(str(handle.get_label()), handle)
    add_legend(figure, list(handles.values()), handlelength=3)


FIGURES: dict[str, Callable[[Run], list[Drawing]]] = {
    "pairings": heat_maps,
    "perspective": perspective_by_turn,
    "probes": probe_rates,
}
"""All figures, by name."""

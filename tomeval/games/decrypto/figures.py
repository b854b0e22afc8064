"""Eve's belief probes, and how often Alice predicts her listeners' guesses, also by turn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tomeval.games.decrypto.measures import CHANCE, IN_VIEW, turn_share
from tomeval.games.decrypto.played import NONE, Played, pool
from tomeval.games.decrypto.results import by_seats
from tomeval.plots.dots import Panel, Series, dots_figure
from tomeval.plots.drawing import DEFAULT, Drawing, Options, sample_words
from tomeval.plots.families import all_words
from tomeval.plots.style import add_head, fold, in_style, line_style, new_figure, point_style
from tomeval.runs.results import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INTERVALS = "95 % intervals over games"

SERIES = {
    "predicted": "predicted_eve",
    "predicted, reminded": "predicted_eve_reminded",
    "actual": "interception_per_turn",
}
"""The lines of a panel, with the share of turns that each one shows."""

BELIEFS = {
    "weak_rc": "weak RC",
    "strong_rc": "strong RC",
    "weak_fb": "weak FB",
    "strong_fb": "strong FB",
    "consistent": "B = C",
}
CONDITIONS = {"": "not in view", IN_VIEW: "in view"}
"""Whether prompts B and C quoted Eve's answer to A: endings of measures and files, and words."""

PREDICTIONS = {
    "tom_eve": "Alice predicts Eve",
    "tom_eve_reminded": "Alice predicts Eve, reminded",
    "tom_bob": "Alice predicts Bob",
}


def probe_rates(run: Run, options: Options = DEFAULT) -> list[Drawing]:
    """Draw Eve's belief probes and the accuracy of Alice's predictions, a mark per player."""
    drawings = []
    cells = [cell for cell in run.cells if len(cell.episodes)]
    told = f"{all_words(cells)}, {sample_words(cells, 'games')}"
    for ending, words in CONDITIONS.items():
        shown = {name + ending: label for name, label in BELIEFS.items()}
        eves = by_player(run, "interceptor", partial(_has, shown))
        if not eves:
            continue
        title = f"Eve's beliefs about her own and another's beliefs, her earlier answer {words}"
        caption = (
            f"{title} ({told}): share of the turns on which she does not know the "
            f"keywords; {INTERVALS}. "
            "RC: representational change, FB: false belief; weak: the answer is not the true "
            "keywords, strong: it is her own earlier answer; B = C: she answers for herself and "
            "for another alike."
        )
        drawings.append(_drawing(f"probes_beliefs{ending}", eves, shown, title, caption, options))
    alices = by_player(
        run, "encoder", lambda p: any((codes != NONE).any() for codes in p.predicted.values())
    )
    if alices:
        title = "Accuracy of Alice's predictions (ToM %)"
        caption = f"{title}, over turns ({told}); {INTERVALS}."
        drawings.append(
            _drawing("probes_predictions", alices, PREDICTIONS, title, caption, options)
        )
    return drawings


def _has(measures: Iterable[str], played: Played) -> bool:
    """Tell whether any of some shares of turns has turns that count."""
    return any(turn_share(played, name).items for name in measures)


def _drawing(
    stem: str,
    players: Mapping[str, Played],
    words: Mapping[str, str],
    title: str,
    caption: str,
    options: Options,
) -> Drawing:
    """Draw shares of turns with intervals: a row per measure, a dot per player."""
    shares = [[turn_share(played, name) for played in players.values()] for name in words]
    marks = {
        (row, player): (100 * share.share, 100 * share.low, 100 * share.high)
        for row, of_players in enumerate(shares)
        for player, share in enumerate(of_players)
        if share.items
    }
    series = [Series(name, point_style(index)) for index, name in enumerate(players)]

    def whole(axes: Axes, number: int) -> None:
        axes.set_xlim(-3, 103)

    figure = dots_figure(
        title,
        [Panel("", marks)],
        list(words.values()),
        "share of turns (%)",
        series,
        options,
        row_height=0.12 + 0.1 * len(players),
        gap=0.7 / len(players),
        finish=whole,
    )
    told = [
        f"{name}, {said}: {100 * share.share:.0f} % of {share.items}"
        for said, of_players in zip(words.values(), shares, strict=True)
        for name, share in zip(players, of_players, strict=True)
    ]
    return Drawing("probes", stem, figure, title, caption, "; ".join(told))


@in_style
def perspective_by_turn(run: Run, options: Options = DEFAULT) -> list[Drawing]:
    """Draw by turn how often Alice says that Eve will be right, and how often Eve is.

    A panel per Alice, over all Bobs and Eves she was asked about. In the first turn Eve can only
    guess: the mark at 1/24.
    """
    groups = by_player(run, "encoder", lambda p: bool((p.predicted["eve"] != NONE).any()))
    if not groups:
        return []
    columns = min(options.fits(2, 3), len(groups))
    rows = -(-len(groups) // columns)
    cells = [cell for cell in run.cells if len(cell.episodes)]
    figure, axes = new_figure(options.width, 2.1 * rows, rows, columns, len(groups))
    told: list[str] = []
    handles: dict[str, Any] = {}
    for axis, (name, played) in zip(axes, groups.items(), strict=True):
        told.append(_turn_lines(axis, name, played))
        for handle in axis.get_legend_handles_labels()[0]:
            handles.setdefault(str(handle.get_label()), handle)
    title = "Interception, as Alice predicts it and as it is"
    among = all_words(cells)
    add_head(
        figure, f"{title}: {among}" if among else title, list(handles.values()), handlelength=3
    )
    caption = (
        f"{title}, by turn, {among}, {sample_words(cells, 'games')}; {INTERVALS}. Bar at turn 1: "
        "chance, 1/24."
    )
    return [Drawing("perspective", "perspective", figure, title, caption, "; ".join(told))]


def _turn_lines(axis: Axes, name: str, played: Played) -> str:
    """Draw one panel's lines and return them in words."""
    turns = sorted(set(played.turn.tolist()))
    told: list[str] = []
    for label, measure in SERIES.items():
        shares = [turn_share(played, measure, played.turn == turn) for turn in turns]
        if not any(share.items for share in shares):
            continue
        mean, low, high = (100 * np.array([share[end] for share in shares]) for end in range(3))
        style = line_style(len(told))
        axis.plot(turns, mean, label=label, marker="o", ms=3, lw=1.2, **style)
        axis.fill_between(turns, low, high, color=style["color"], alpha=0.15, lw=0)
        told.append(f"{label} " + ", ".join(f"{value:.0f}" for value in mean))
    axis.plot([0.7, 1.3], [100 * CHANCE] * 2, color="0.2", lw=2, label="chance in turn 1")
    axis.set_ylim(-3, 103)
    axis.set_xticks(turns)
    axis.set_xlabel("turn")
    axis.set_ylabel("Eve right (% of games)")
    axis.set_title(fold(f"Alice: {name}", 24))
    return f"{name}: " + "; ".join(told)


def by_player(run: Run, role: str, wanted: Callable[[Played], bool]) -> dict[str, Played]:
    """Return the games of every player in a seat, of pairings with the wanted data."""
    parts: dict[str, list[Played]] = {}
    for (name,), cells in by_seats(run, [role]).items():
        for played in (cell.played for cell in cells):
            if played.games and wanted(played):
                parts.setdefault(name, []).append(played)
    return {name: pool(games) for name, games in parts.items()}

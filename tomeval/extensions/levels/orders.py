"""The table of matrix games: which order of theory of mind explains a player."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tomeval.core.once import once_each
from tomeval.core.outcomes import VALID
from tomeval.core.streams import generator_of
from tomeval.domains.matrix.games import MatrixGame
from tomeval.domains.matrix.played import BoolArray, IntArray
from tomeval.domains.matrix.responses import MOST_ORDER, order_expects
from tomeval.domains.matrix.results import MatrixRunCell, matrix_cells
from tomeval.domains.matrix.steps import NONE
from tomeval.extensions.levels.fit import LEAST_DEALS, NONE_FITS, NOT_JUDGED, Placement, place
from tomeval.extensions.levels.likelihoods import Choices, Floats, log_likelihoods
from tomeval.runs.columns import Table, fixed
from tomeval.runs.results import Run

ORDERS = range(MOST_ORDER + 1)
ACTIONS, PREDICTIONS = "actions", "predictions"
MOST_STEPS = 5000
"""Steps of a cell that are judged, those of its first episodes: it decides how long it takes."""


def expectations(game: MatrixGame, own: int, partner: int) -> IntArray:
    """Return what each order expects of the partner after a joint action, shape (orders,)."""
    last = (partner, own)
    return np.array([order_expects(game, order)[last[order % 2]] for order in ORDERS])


def worths_of(game: MatrixGame, of: str, expected: IntArray) -> Floats:
    """Return what each option is worth to each order, shape (orders, options), 0 to 1.

    Of actions: the payoff against the expected action, in ranges of the player's payoffs. Of
    predictions: 1 for the expected action and 0 for others.
    """
    if of == PREDICTIONS:
        return np.eye(game.m)[expected]
    size = float(np.ptp(game.own))
    worths: Floats = (game.own[:, expected].T - game.own.min()) / (size or 1.0)
    return worths


def own_answers(cell: MatrixRunCell) -> tuple[BoolArray, BoolArray]:
    """Return in which steps the player's action and its prediction are its own, shape (N,) each.

    Those that were drawn for an invalid answer are not, nor predictions that nobody asked for.
    """
    names = ("act_outcome", "predict_outcome")
    read = list(cell.store.read("steps", names, cell.number, complete=True))
    acted, said = (np.array([row[k] == VALID for row in read], dtype=bool) for k in (0, 1))
    there = cell.played.predicted
    return acted, said & (there != NONE if there is not None else False)


def choices_in(cell: MatrixRunCell, of: str) -> Choices:
    """Return a player's own actions or predictions from the second step of each episode on."""
    played, choices = cell.played, Choices()
    acted, predicted = own_answers(cell)
    chosen, mine = (played.own, acted) if of == ACTIONS else (played.predicted, predicted)
    if chosen is None or not mine.any():
        return choices
    units = np.repeat(cell.clusters, played.lengths).astype(np.str_)
    logs: dict[tuple[int, int, int], Floats] = {}
    for step in _judged(played.lengths, mine).tolist():
        own, partner, said = (int(x) for x in (*_last(cell, step), chosen[step]))
        if (own, partner, said) not in logs:
            worth = worths_of(played.game, of, expectations(played.game, own, partner))
            logs[own, partner, said] = log_likelihoods(worth, said)
        choices.deals.append(str(units[step]))
        choices.turns.append(step)
        choices.logs.append(logs[own, partner, said])
        choices.sizes.append(played.game.n if of == ACTIONS else played.game.m)
        choices.said.append(str(said))
    return choices


def _last(cell: MatrixRunCell, step: int) -> tuple[int, int]:
    return int(cell.played.own[step - 1]), int(cell.played.partner[step - 1])


def _judged(lengths: IntArray, mine: BoolArray) -> IntArray:
    """Return the steps that have a past, of the player's own, of the first `MOST_STEPS`."""
    ends = np.cumsum(lengths)
    most = ends[max(0, int(np.searchsorted(ends, MOST_STEPS, side="right")) - 1)]
    later = np.ones(len(mine), dtype=bool)
    later[ends - lengths] = False
    return np.flatnonzero(mine & later & (np.arange(len(mine)) < max(most, lengths[0])))


def placed(cell: MatrixRunCell, of: str) -> Placement:
    """Return at which orders a player stands, by its own actions or predictions."""
    rng = generator_of(repr(("orders", *map(str, cell.columns.values()), of)))
    return place(choices_in(cell, of), rng, len(ORDERS))


@once_each
def order_rows(run: Run) -> list[dict[str, Any]]:
    """Return a row for the actions and one for the predictions of each cell."""
    rows = []
    for cell in matrix_cells(run):
        for of in (ACTIONS, PREDICTIONS) if cell.played.predicted is not None else (ACTIONS,):
            one = placed(cell, of)
            size = float(np.ptp(cell.game.own)) if of == ACTIONS else np.nan
            row = {**cell.columns, "by": of, "episodes": one.deals, "choices": one.choices}
            rows.append(row | one.columns("order", {"rationality": one.alpha / (size or np.nan)}))
    return rows


def order_notes(run: Run) -> list[str]:
    """Return the sentences that stand below the table of orders."""
    rows = order_rows(run)
    notes = [
        "held_out: log-likelihood per action or prediction in nats, each episode judged by the fit "
        "to the others; gain: of the best order over the better of uniform and frequency. The "
        "first step of an episode has no past and is left out",
    ]
    if any(row["best_order"] == NONE_FITS for row in rows):
        notes.append(
            f"{NONE_FITS}: no order predicts the player better than chance and its own frequencies"
        )
    if any(row["best_order"] == NOT_JUDGED for row in rows):
        notes.append(f"{NOT_JUDGED}: it takes at least two episodes")
    if any(" or " in row["best_order"] for row in rows):
        notes.append(
            "orders joined by 'or' cannot be told apart; without shares they reply alike to all "
            "that was played, as in games with a dominant action"
        )
    if any(1 < row["episodes"] < LEAST_DEALS for row in rows):
        notes.append(f"shares of orders have intervals from {LEAST_DEALS} episodes on")
    if any(cell.steps > MOST_STEPS for cell in matrix_cells(run)):
        notes.append(f"judged are the first episodes of each cell, {MOST_STEPS:,} steps at most")
    return notes


TABLES: Mapping[str, Table] = {
    "orders": Table(
        "orders of theory of mind that actions and predictions fit",
        fixed(order_rows),
        notes=order_notes,
    ),
}

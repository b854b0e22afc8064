"""The table of levels: where every player stands on the ladder of recursion, seat by seat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tomeval.core.errors import unknown
from tomeval.core.once import once_each
from tomeval.core.streams import generator_of
from tomeval.domains.decrypto.seats import NAMES, ROLES
from tomeval.extensions.levels.choices import MOST_TURNS, Key, choices_of
from tomeval.extensions.levels.fit import LEAST_DEALS, NONE_FITS, NOT_JUDGED, Placement, place
from tomeval.extensions.levels.likelihoods import ALPHAS
from tomeval.lexicon.embeddings import SHIPPED, shipped_embedding
from tomeval.runs.columns import Table
from tomeval.runs.results import Run

Placed = dict[Key, tuple[str, Placement]]
"""By seat and player: the embedding that describes the player best, and the placement."""


@once_each
def placements(run: Run) -> Placed:
    """Return where every player stands in every seat, under the embedding that fits it best.

    The best is that in which a level has the highest held-out log-likelihood per choice; if the
    experiment names an embedding as ``levels``, only this one is looked at.
    """
    best: Placed = {}
    asked = {cell.definition["levels"] for cell in run.cells if "levels" in cell.definition}
    for name in sorted(asked) or SHIPPED:
        for key, choices in choices_of(run, shipped_embedding(name)).items():
            placed = place(choices, generator_of(repr(("levels", *key, name))))
            if key not in best or _height(placed) > _height(best[key][1]):
                best[key] = (name, placed)
    return best


def _height(placed: Placement) -> float:
    """Return the highest held-out log-likelihood per choice, -inf if there is none."""
    return float(np.nan_to_num(placed.held_out.mean, nan=-np.inf).max())


def level_rows(run: Run, by: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Return a row per seat and player; `by` chooses seats."""
    for role in by:
        if role not in ROLES:
            raise unknown("role", role, ROLES)
    return [
        _row(role, player, name, placed)
        for (role, player), (name, placed) in placements(run).items()
        if role in (by or ROLES)
    ]


def _row(role: str, player: str, embedding: str, placed: Placement) -> dict[str, Any]:
    scored = placed.choices + placed.left_out
    row: dict[str, Any] = {
        "seat": f"{NAMES[role]}",
        "player": player,
        "embedding": embedding,
        "games": placed.deals,
        "choices": placed.choices,
        "not_judged_percent": 100 * placed.left_out / scored if scored else float("nan"),
    }
    return row | placed.columns("level", {"alpha": placed.alpha})


def level_notes(run: Run) -> list[str]:
    """Return the sentences that stand below the table."""
    placed_all = [placed for _, placed in placements(run).values()]
    notes = [
        "held_out: log-likelihood per hint or guess in nats, each deal judged by the fit to the "
        "others; gain: of the best level over the better of uniform and frequency",
    ]
    if any(placed.verdict == NONE_FITS for placed in placed_all):
        notes.append(
            f"{NONE_FITS}: no level predicts the player better than chance and its own frequencies "
            "do, so it has no place on the scale"
        )
    if any(placed.fits and placed.deals < LEAST_DEALS for placed in placed_all):
        notes.append(f"shares of levels have intervals from {LEAST_DEALS} deals on")
    if any(placed.fits and np.isnan(placed.level.mean[0]) for placed in placed_all):
        notes.append("no shares: the levels give every turn the same probability")
    if any(placed.alpha in (ALPHAS[0], ALPHAS[-1]) for placed in placed_all):
        notes.append(
            f"alpha is looked for from {ALPHAS[0]:g} to {ALPHAS[-1]:g}: at an end it may lie beyond"
        )
    if any(placed.deals < 2 for placed in placed_all):
        notes.append(f"{NOT_JUDGED}: it takes hints or guesses of at least two deals")
    if any(placed.left_out for placed in placed_all):
        notes.append(
            "not judged %: hints of two words or outside the vocabulary, which no level can give"
        )
    if sum(len(cell.played.turn) for cell in run.cells) > MOST_TURNS:
        notes.append(
            f"of each player in each seat at most about {MOST_TURNS:,} turns are judged, of the "
            "first games; the same draws in several pairings count once"
        )
    return notes


TABLES: Mapping[str, Table] = {
    "levels": Table(
        "levels of recursion that hints and guesses fit",
        level_rows,
        notes=level_notes,
        reported=lambda run: any("levels" in cell.definition for cell in run.cells),
    )
}

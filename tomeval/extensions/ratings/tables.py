"""The tables of ``tomeval ratings``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tomeval.core.errors import TomevalError, unknown
from tomeval.domains.arena.attribution import error_rows
from tomeval.domains.arena.outcomes import Records
from tomeval.extensions.ratings import errors
from tomeval.extensions.ratings import rows as ratings
from tomeval.extensions.ratings.agreement import agreement_rows
from tomeval.runs.domain import Rows
from tomeval.runs.results import Run

RATED = {
    "ratings": "Ratings in Elo-like points (400: odds of 10), all games and clean games",
    "payoffs": "Reward and share of the win, by player and seat or role",
    "sides": "Advantage of seats or roles, in Elo-like points",
    "agreement": "Agreement of the rankings from all and from clean games",
    "games": "Games with errors, and the validity rule",
    "errors": "Errors caused and witnessed",
    "wins": "Share of the win in clean games and in games that an error decided",
    "survival": "Survival, given the errors of others",
    "selection": "Who is left in clean games",
}
"""The tables by name, with their captions."""

Made = tuple[Rows, list[str]]


class Rated(NamedTuple):
    """A table of `RATED`, and sentences that go with it."""

    name: str
    rows: Rows
    notes: list[str]


def rating_tables(
    run: Run, names: Sequence[str], interval: str, openskill: bool
) -> Iterator[Rated]:
    """Yield tables of `RATED`; every one has its own generator, so that it does not move.

    `interval` is one of `tomeval.extensions.ratings.rating.INTERVALS`; `openskill` asks for columns
    of that package.

    Raises
    ------
    TomevalError
        The run's domain has no games between players; or it has no game yet, or none that can be
        rated.
    """
    games = run.domain.rate
    if games is None:
        raise TomevalError(
            f"{run.folder} is of the domain {run.domain.name!r}, which has no ratings: its games "
            "are not between players who take turns in all seats; compare levels with `tomeval "
            "compare`"
        )
    for name in names:
        if name not in RATED:
            raise unknown("table", name, RATED)
    records = games.records(run)
    if not records:
        raise TomevalError(f"{run.folder}: there is no game to rate yet")
    selection = [note for note in [errors.selection_note(records)] if note]
    frozen = games.fixed(run)

    def rated(rng: np.random.Generator) -> Made:
        rows, notes = ratings.rating_rows(records, rng, interval, frozen, openskill)
        return rows, [*notes, *selection, *errors.validity_notes(records)]

    def agreed(rng: np.random.Generator) -> Made:
        rows, notes = agreement_rows(records, rng)
        return rows, [*notes, *selection]

    def plain(of: Callable[[Records], Rows], notes: Sequence[str] = ()) -> Made:
        return of(records), list(notes)

    makers: dict[str, Callable[[np.random.Generator], Made]] = {
        "ratings": rated,
        "payoffs": lambda _: plain(ratings.payoff_rows, selection),
        "sides": lambda rng: ratings.side_rows(records, rng, interval, frozen),
        "agreement": agreed,
        "games": lambda _: plain(errors.game_rows, errors.validity_notes(records)),
        "errors": lambda _: plain(error_rows),
        "wins": lambda _: plain(errors.win_rows, selection),
        "survival": lambda _: plain(errors.survival_rows),
        "selection": lambda _: plain(errors.selection_rows, selection),
    }
    for name in names:
        yield Rated(name, *makers[name](np.random.default_rng(0)))

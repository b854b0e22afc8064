"""Ratings in TrueSkill's unit, by openskill: beside published ones, and for nothing else."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tomeval.core.parts import is_there
from tomeval.games.arena.records import GameRecord
from tomeval.statistics.bounded import FloatArray

ORDERS = 20
"""Orders of the games that a rating is the mean of."""
MISSING = "openskill: –, as the package is not here: pip install 'tomeval[ratings]'"


def is_known() -> bool:
    """Return whether openskill can be imported here."""
    return is_there("openskill")


def skills(records: Sequence[GameRecord], names: Sequence[str]) -> tuple[FloatArray, FloatArray]:
    """Return each player's mu over random orders of the complete games: mean and SD, (P,).

    Parameters
    ----------
    records : sequence of GameRecord
        Games of which at least one team differs from another.
    names : sequence of str
        The P players.

    Returns
    -------
    mean, sd : ndarray, shape (P,)
        Over `ORDERS` orders. mu begins at 25, with sigma 25/3. The SD is what the order of the
        games does, and no standard error.

    Notes
    -----
    The Plackett-Luce model of Weng and Lin (2011), with openskill's defaults. Unlike Bradley and
    Terry's ratings these add the skills of a team and depend on the order of games. A player with
    several seats in a game moves by their mean.

    Examples
    --------
    >>> game = GameRecord(0, 0, "deal", "duel", ("A", "B"), ((0,), (1,)), (1.0, 0.0), 1, 1)
    >>> mean, sd = skills([game], ("A", "B"))
    >>> mean.round(3).tolist(), sd.round(9).tolist()
    ([27.635, 22.365], [0.0, 0.0])
    """
    from openskill.models import PlackettLuce

    model, rng = PlackettLuce(), np.random.default_rng(0)
    mus = np.empty((ORDERS, len(names)))
    for order in range(ORDERS):
        known = {name: model.rating() for name in names}
        for at in rng.permutation(len(records)):
            record = records[at]
            teams = [[known[record.players[seat]] for seat in team] for team in record.teams]
            # Rounded, so that equal means of different numbers tie.
            rewards = [
                round(float(np.mean([record.rewards[s] for s in team])), 9) for team in record.teams
            ]
            moved: dict[str, list[tuple[float, float]]] = {}
            rated = model.rate(teams, ranks=[-reward for reward in rewards])
            for team, after in zip(record.teams, rated, strict=True):
                for seat, one in zip(team, after, strict=True):
                    moved.setdefault(record.players[seat], []).append((one.mu, one.sigma))
            for name, some in moved.items():
                mu, sigma = np.mean(some, axis=0).tolist()
                known[name] = model.rating(mu=mu, sigma=sigma)
        mus[order] = [known[name].mu for name in names]
    return mus.mean(axis=0), mus.std(axis=0, ddof=1)

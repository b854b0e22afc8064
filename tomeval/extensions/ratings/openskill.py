"""OpenSkill ratings, which depend on the order of games: means over random orders.

For comparison with leaderboards that use such ratings; `tomeval.extensions.ratings.rating` does
not need them. The package ``openskill`` is an extra.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tomeval.core.extras import need
from tomeval.statistics.paired import FloatArray

SHUFFLES = 20


class Outcome(NamedTuple):
    """One game: the players of each team by number, and the teams' places, lower is better."""

    teams: Sequence[Sequence[int]]
    places: Sequence[float]


class Skill(NamedTuple):
    """Ratings, each of shape (P,), in OpenSkill's units.

    `mu` and `sigma` are means over orders of the games, `spread` is the standard deviation of mu
    over them, which is no error of the games but of their order alone. NaN `spread`: one order.
    """

    mu: FloatArray
    sigma: FloatArray
    spread: FloatArray


def openskill(
    games: Sequence[Outcome], players: int, rng: np.random.Generator, shuffles: int = SHUFFLES
) -> Skill:
    """Return OpenSkill's Plackett-Luce ratings, averaged over random orders of the games.

    Parameters
    ----------
    games : sequence of Outcome
    players : int
        P, how many players there are.
    rng : numpy.random.Generator
    shuffles : int
        How many orders.

    Raises
    ------
    TomevalError
        The package is not installed.

    Notes
    -----
    Joshy 2024 after Weng and Lin 2011, with the package's default parameters: a team's skill is the
    sum of its players', and nothing stands for seats or roles. A player in several seats of a game
    gets the mean of what its seats get.
    """
    model = need("openskill.models", "openskill", "OpenSkill's columns").PlackettLuce()
    found = np.empty((shuffles, players, 2))
    for shuffle in range(shuffles):
        rated = [model.rating() for _ in range(players)]
        for number in rng.permutation(len(games)).tolist():
            teams, places = games[number]
            seats = [[rated[k] for k in team] for team in teams]
            after = model.rate(seats, ranks=list(places))
            news: dict[int, list[tuple[float, float]]] = {}
            for team, fresh in zip(teams, after, strict=True):
                for k, one in zip(team, fresh, strict=True):
                    news.setdefault(k, []).append((one.mu, one.sigma))
            for k, several in news.items():
                mu, sigma = np.mean(several, axis=0).tolist()
                rated[k] = model.rating(mu=mu, sigma=sigma)
        found[shuffle] = [(one.mu, one.sigma) for one in rated]
    spread = found[..., 0].std(axis=0, ddof=1) if shuffles > 1 else np.full(players, np.nan)
    return Skill(found[..., 0].mean(axis=0), found[..., 1].mean(axis=0), spread)

"""Ratings: every two teams of a game are a pair; the one with the better mean reward wins."""

from __future__ import annotations

import itertools
import math

import numpy as np

from recomputed.arena_games import Game
from recomputed.common import mean
from recomputed.tables import Row

POINTS, PRIOR = 400 / math.log(10), 5.0


def fitted(games: list[Game]) -> dict[str, float]:
    """Return the most probable ratings in logits, with a normal prior; by plain Newton steps."""
    names = sorted({name for game in games for name in game.names.values()})
    apart, won = [], []
    for game in games:
        for one, other in itertools.combinations(game.teams, 2):
            row = [share(game, one, name) - share(game, other, name) for name in names]
            gap = round(reward(game, one), 9) - round(reward(game, other), 9)
            apart.append(row)
            won.append((gap > 0) + (gap == 0) / 2)
    rows, wins, place = np.array(apart), np.array(won), np.zeros(len(names))
    for _ in range(100):
        chance = 1 / (1 + np.exp(-rows @ place))
        slope = rows.T @ (wins - chance) - place / PRIOR**2
        curve = (rows.T * (chance * (1 - chance))) @ rows + np.eye(len(names)) / PRIOR**2
        place += np.linalg.solve(curve, slope)
    assert np.abs(slope).max() < 1e-9
    return dict(zip(names, place.tolist(), strict=True))


def share(game: Game, team: list[int], name: str) -> float:
    return sum(game.names[seat] == name for seat in team) / len(team)


def reward(game: Game, team: list[int]) -> float:
    return mean([game.rewards[seat] for seat in team])


def ratings(games: list[Game], shown: list[Row]) -> list[Row]:
    """Return the ratings of all games of each name, on the table's zero.

    That is the mean of the players whom the games set limits: of all, where all have intervals.
    """
    rows = []
    for scope in dict.fromkeys(row["game"] for row in shown):
        every = [row for row in shown if row["game"] == scope and row["subset"] == "all"]
        mine = [row for row in every if row["rating"]]
        assert all(int(row["deals"]) < 5 for row in every if not row["rating"])
        if not mine:
            continue
        value = fitted([game for game in games if scope in (game.name, "all games")])
        zero = mean([value[row["player"]] - float(row["rating"]) / POINTS for row in mine])
        assert abs(zero) < 1e-9 or not all(row["rating_ci95_low"] for row in every)
        for row in mine:
            rating = POINTS * (value[row["player"]] - zero)
            rows.append({"game": scope, "player": row["player"], "rating": rating})
    return rows

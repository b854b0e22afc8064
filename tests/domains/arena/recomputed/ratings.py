"""Ratings: every game is a sequence of choices of the best team, or of several that tie."""

from __future__ import annotations

import itertools
import json
import math
from collections import defaultdict

import numpy as np
from domains.arena.recomputed.games import Game
from domains.arena.recomputed.tables import Row, mean


def team_sides(game: Game) -> list[str]:
    found = [" + ".join(sorted({game.roles[s] for s in team})) for team in game.teams]
    if len(set(found)) < len(found):
        s = ["s" if len(team) > 1 else "" for team in game.teams]
        numbers = [", ".join(map(str, team)) for team in game.teams]
        found = [f"seat{plural} {text}" for plural, text in zip(s, numbers, strict=True)]
    return [f"{game.name}: {side}" for side in found]


def fitted(games: list[Game], prior: float = 0.0) -> dict[str, float]:
    """Return the ratings of players and the advantages of sides with the largest likelihood.

    A team is the mean of its players and its side. A set of teams is chosen with a probability in
    proportion to the geometric mean of their strengths, and to how common such ties are in games of
    this name. In logits; players sum to 0, and so do the sides of every game.
    """
    names: dict[str, int] = {}
    choices = []
    ties = {(g.name, n) for g in games for n in tie_sizes(g)}
    for game in games:
        left = list(range(len(game.teams)))
        while len(left) > 1:
            reward = {t: team_reward(game, t) for t in left}
            best = tuple(t for t in left if reward[t] == max(reward.values()))
            sizes = [1, *sorted(n for name, n in ties if name == game.name and n <= len(left))]
            sets = [chosen for n in sizes for chosen in itertools.combinations(left, n)]
            features = [{} for _ in sets]
            for chosen, feature in zip(sets, features, strict=True):
                for team in chosen:
                    seats = game.teams[team]
                    for seat in seats:
                        add(feature, f"player {game.names[seat]}", 1 / len(seats) / len(chosen))
                    add(feature, f"side {team_sides(game)[team]}", 1 / len(chosen))
                if len(chosen) > 1:
                    add(feature, f"tie {game.name} {len(chosen)}", 1.0)
                for name in feature:
                    names.setdefault(name, len(names))
            choices.append((features, sets.index(best)))
            left = [t for t in left if t not in best]
    place = newton(choices, names, prior)
    found = {name: place[k] for name, k in names.items()}
    centred = {}
    for start in ("player ", *sorted({f"side {game.name}: " for game in games})):
        mine = {name: value for name, value in found.items() if name.startswith(start)}
        middle = mean(list(mine.values()))
        centred |= {name.partition(" ")[2]: value - middle for name, value in mine.items()}
    return centred


def team_reward(game: Game, team: int) -> float:
    return round(mean([game.rewards[seat] for seat in game.teams[team]]), 9)


def tie_sizes(game: Game) -> set[int]:
    rewards = [team_reward(game, team) for team in range(len(game.teams))]
    return {rewards.count(reward) for reward in rewards} - {1}


def add(feature: dict[str, float], name: str, value: float) -> None:
    feature[name] = feature.get(name, 0.0) + value


def newton(choices, names: dict[str, int], prior: float) -> np.ndarray:
    """Return the weights of a conditional logit, by Newton's method on all that is told of them.

    `prior` is 1 / variance of each. Raises ArithmeticError if there is no maximum.
    """
    counts: dict[str, int] = defaultdict(int)
    tables = []
    for features, chosen in choices:  # equal choices once, with their number
        key = json.dumps([features, chosen])
        counts[key] += 1
    for key in counts:
        features, chosen = json.loads(key)
        table = np.zeros((len(features), len(names)))
        for row, feature in zip(table, features, strict=True):
            for name, value in feature.items():
                row[names[name]] = value
        tables.append((table - table[chosen], counts[key]))
    place = np.zeros(len(names))
    for _ in range(100):
        slope, curve = -prior * place, prior * np.eye(len(names))
        for table, count in tables:
            score = np.exp(table @ place - (table @ place).max())
            p = score / score.sum()
            middle = p @ table
            slope -= count * middle
            curve += count * ((table.T * p) @ table - np.outer(middle, middle))
        step = np.linalg.lstsq(curve, slope, rcond=1e-10)[0]
        place += step
        if np.abs(step).max() < 1e-11:
            return place
    raise ArithmeticError("the likelihood has no maximum")


POINTS, PRIOR, FAR = 400 / math.log(10), 5.0, 15.0


def ratings(games: list[Game], shown: list[Row]) -> list[Row]:
    """Return the ratings that the games alone decide, or the weak prior alone.

    A player with an open end moves away from the others for ever: in games of two seats the ratings
    of these are those of the games among themselves; elsewhere none is given. 0 is the mean of
    those who have an interval; where nobody has one, of all.
    """
    rows = []
    for scope in dict.fromkeys(row["game"] for row in shown):
        mine = [row for row in shown if row["game"] == scope and row["subset"] == "all"]
        some = [game for game in games if scope in (game.name, "all games")]
        closed = {row["player"] for row in mine if row["rating"] and not row["open"]}
        known = {row["player"] for row in mine if row["rating_ci95_low"] or row["rating_ci95_high"]}
        if len(closed) < len(mine) and any(len(game.roles) > 2 for game in some):
            continue
        among = [game for game in some if closed >= set(game.names.values())]
        try:
            found = fitted(among)
        except ArithmeticError:
            if known:
                continue
            found = fitted(among, prior=1 / PRIOR**2)
        zero = mean([found[name] for name in (closed & known or closed)])
        for name in sorted(closed):
            value = found[name] - zero
            if name in known or abs(value) < FAR:  # else it runs away, and a prior holds it
                rows.append({"game": scope, "player": name, "rating": POINTS * value})
    return rows

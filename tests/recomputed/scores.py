"""The scores of line-ups, from own hits and regrets and the exported worth of what was stated."""

from __future__ import annotations

import json
import math

from recomputed.arena_games import Fact, Game
from recomputed.common import NAN, Row, number

FOLLOWS = ("dies", "voted_out")
"""Questions of Mafia about what follows from the own act: no reply follows from them."""


def kept(pairs: list[tuple[float, ...]]) -> list[float]:
    """Return sums of parts, of the rows in which all are known."""
    known = [row for row in pairs if not any(map(math.isnan, row))]
    return [sum(part) for part in zip(*known, strict=True)]


def ratio(pairs: list[tuple[float, ...]]) -> float:
    """Return the ratio of two sums in percent."""
    sums = kept(pairs)
    return 100 * sums[0] / sums[1] if sums and sums[1] > 1e-9 else NAN


def decisions(games: list[Game]) -> list[tuple[Row, Fact]]:
    """Return the measured seat's rows, each with what was worked out of it."""
    mine = [row for game in games for row in game.rows if row["slot"] == "0"]
    return list(zip(mine, [fact for game in games for fact in game.facts], strict=True))


def right(games: list[Game], used: bool) -> float:
    """Return right predictions beyond chance, of those that are attainable."""
    pairs = []
    for row, fact in decisions(games):
        chances = json.loads(row["chances"])
        for question, one in zip(json.loads(row["probes"]), fact.asked, strict=False):
            if not (used and question.startswith(FOLLOWS)):
                chance = NAN if chances[question] is None else chances[question]
                pairs.append((one.hit - chance, one.attainable - chance))
    return ratio(pairs)


def scores(games: list[Game]) -> dict[str, float]:
    """Return the scores of one line-up."""
    rows = [row for row, _ in decisions(games)]

    def lost(kind: str, name: str) -> list[float]:
        return [number(row[f"{kind}_best"]) - number(row[f"{kind}_{name}"]) for row in rows]

    def other(name: str) -> list[float]:
        return [number(row[f"other_{name}"]) for row in rows]

    ahead, now = ((lost(kind, "chosen"), lost(kind, "mean")) for kind in ("said", "step_said"))
    depends = any(number(row["depends"]) == 1 for row in rows)
    plans = 100 - ratio(list(zip(*ahead, strict=True)))
    sums = kept(list(zip(*ahead, other("lost"), other("chance"), strict=True)))
    reads = NAN
    if depends and sums and min(sums[1], sums[2]) >= 1e-9 and sums[2] >= 0.05 * sums[3]:
        reads = 100 * (1 - sums[0] * sums[3] / sums[1] / sums[2])
    stated = [
        bool(row["said_best"])
        for row, fact in decisions(games)
        if row["verdict"] == "valid"
        and fact.asked
        and any(not name.startswith(FOLLOWS) for name in json.loads(row["probes"]))
    ]
    return {
        "told_percent": 100 * sum(stated) / len(stated) if stated else NAN,
        "knows_percent": right(games, False),
        "knows_used_percent": right(games, True),
        "replies_percent": 100 - ratio(list(zip(*now, strict=True))),
        "plans_percent": plans,
        "uses_percent": plans if depends else NAN,
        "plays_percent": plays(games),
        "reads_percent": reads,
    }


def plays(games: list[Game]) -> float:
    """Return what of the best reward beyond random play was kept."""
    spans = [game.best - game.random for game in games]
    exact = [[f.regret for f in game.facts] for game in games]
    rows = [row for row, _ in decisions(games)]
    if all(map(math.isnan, spans)):
        means = [number(row["chosen"]) - number(row["option_mean"]) for row in rows]
        flat = [one for game in exact for one in game]
        return 100 - ratio([(a, a + b) for a, b in zip(flat, means, strict=True)])
    lost = [sum(one) for one in exact]
    if any(row["verdict"] != "valid" for row in rows):
        lost = [game.best - game.rewards[game.subject] for game in games]
    return 100 - ratio(list(zip(lost, spans, strict=True)))

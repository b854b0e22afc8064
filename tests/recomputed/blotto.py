"""Blotto: nine rounds against one who draws from four allocations."""

from __future__ import annotations

from functools import cache

import numpy as np

from recomputed.arena_games import (
    NAN,
    Asked,
    Fact,
    Game,
    action,
    said,
    stages,
)

ALLOCATIONS = ((8, 8, 4), (4, 8, 8), (10, 10, 0), (7, 7, 6))


def result(a, b) -> int:
    fields = [(x > y) - (x < y) for x, y in zip(a, b, strict=True)]
    return (sum(fields) > 0) - (sum(fields) < 0)


EVERY = [(a, b, 20 - a - b) for a in range(21) for b in range(21 - a)]


@cache
def expected(own) -> float:
    """Return the expected result of a round against "mixer"."""
    return float(np.mean([result(own, other) for other in ALLOCATIONS]))


@cache
def best_reply(stated):
    """Return the reply: first the result, then the margin on every field, then evenness, order."""
    top = max(result(own, stated) for own in EVERY)

    def margin(own) -> int:
        more = 0
        while result(own, [units + more + 1 for units in stated]) >= top:
            more += 1
        return more

    good = [own for own in EVERY if result(own, stated) == top]
    return min(good, key=lambda own: (-margin(own), sum(u * u for u in own), own))


def blotto(game: Game) -> Game:
    """Nine rounds, each of which adds a ninth of its result to the reward."""
    lead, facts = 0, []
    best = max(map(expected, EVERY))
    for stage in stages(game):
        did = {int(row["seat"]): action(row) for row in stage}
        lead += result(did[0], did[1])
        [own] = (row for row in stage if int(row["seat"]) == game.subject)
        mine, theirs = did[game.subject], did[1 - game.subject]
        most = max(result(one, theirs) for one in EVERY)
        stated, asked, reply, tom, acted = said(own), (), NAN, NAN, False
        if stated:
            [answer] = stated.values()
            hit = float(answer == theirs)
            asked = (Asked(hit, 1 / 4),)
            back = best_reply(answer)
            tom, acted = (best - expected(back)) / 9, back == mine
            reply = result(back, theirs) / 9
        step = (result(mine, theirs) / 9, most / 9, reply)
        facts.append(Fact((best - expected(mine)) / 9, tom, acted, step, asked))
    share = (lead > 0) + 0.5 * (lead == 0)
    return game._replace(
        rewards=(lead / 9, -lead / 9),
        wins=(share, 1 - share),
        teams=((0,), (1,)),
        rounds=9,
        facts=tuple(facts),
    )

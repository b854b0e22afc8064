"""The dilemma: five rounds with one who repays, with noise, and one who only promises."""

from __future__ import annotations

import itertools
from functools import cache

from recomputed.arena_games import (
    NAN,
    Asked,
    Fact,
    Game,
    action,
    said,
    stages,
)

ROUNDS = 5
NOISE = 0.1  # of "forgiving"
PAY = {"CC": 3, "CD": 0, "DC": 5, "DD": 1}


@cache
def against_repaying(left: int, moved: str) -> float:
    """Return V* of the pair with "forgiving", given the own last move toward it."""
    return 0.0 if not left else max(pair_values(left, moved, None).values())


def pair_values(left: int, moved: str, stated: str | None) -> dict[str, float]:
    """Return Q* of both moves; `stated` is what it does for certain, if not as it would."""
    likely = 1 - NOISE if moved == "C" else NOISE
    chance = likely if stated is None else float(stated == "C")
    now = {own: chance * PAY[own + "C"] + (1 - chance) * PAY[own + "D"] for own in "CD"}
    return {own: paid + against_repaying(left - 1, own) for own, paid in now.items()}


def dilemma(game: Game) -> Game:
    """Five rounds of talk and moves with one who repays, with noise, and one who only promises."""
    seats = range(3)
    others = [seat for seat in seats if seat != game.subject]
    kind = {seat: game.names[seat] for seat in others}
    points, facts = [0.0] * 3, []
    moved = dict.fromkeys(itertools.permutations(seats, 2), "C")  # last moves; at first C
    for stage in stages(game):
        if stage[0]["kind"] == "talk":
            if int(stage[0]["seat"]) == game.subject:
                facts.append(Fact(0.0, step=(0.0, 0.0, 0.0)))  # nobody listens
            continue
        left = ROUNDS - len(facts) // 2
        moves = {}
        for row in stage:
            seat = int(row["seat"])
            for other, move in zip((s for s in seats if s != seat), action(row), strict=True):
                moves[seat, other] = move[0].upper()
        [own] = (row for row in stage if int(row["seat"]) == game.subject)
        facts.append(dilemma_fact(game.subject, kind, left, moves, moved, said(own)))
        for (a, b), move in moves.items():
            points[a] += PAY[move + moves[b, a]]
        moved = moves
    best = max(points)
    share = tuple((p == best) / points.count(best) for p in points)
    teams = ((0,), (1,), (2,))
    return game._replace(
        rewards=tuple(points), wins=share, teams=teams, rounds=5, facts=tuple(facts)
    )


def dilemma_fact(me, kind, left, moves, moved, stated) -> Fact:
    """Return one choice of two moves."""
    # "breaker" defects on both always, so that defecting on it is worth PAY["DD"], else PAY["CD"].
    worth = {
        seat: pair_values(left, moved[me, seat], None)
        if name == "forgiving"
        else {"C": PAY["CD"], "D": PAY["DD"]}
        for seat, name in kind.items()
    }
    regret = sum(max(worth[seat].values()) - worth[seat][moves[me, seat]] for seat in kind)
    asked, tells = [], {}
    for question, answer in stated.items():
        name, _, about = question.partition("_")
        seat = int(about)
        third = 3 - me - seat
        chances = [moved[other, seat] for other in (me, third)]
        chance = [(1 - NOISE if last == "C" else NOISE) for last in chances]
        if kind[seat] == "breaker":
            chance = [0.0, 0.0]
        truths = [moves[seat, me], moves[seat, third]]
        if name == "word":  # "breaker" promised both: it will not keep that
            truth, likely = ("yes" if truths == ["C", "C"] else "no"), {"yes": 0.0, "no": 1.0}
        else:
            at = int(name == "other")
            truth = {"C": "cooperate", "D": "defect"}[truths[at]]
            likely = {"cooperate": chance[at], "defect": 1 - chance[at]}
        hit = float(answer == truth)
        asked.append(Asked(hit, max(likely.values())))
        tells[name, seat] = answer
    tom, acted, reply = NAN, False, NAN
    played = {seat: moves[me, seat] for seat in kind}
    if tells:
        told = {seat: tells["move", seat][0].upper() for seat in kind}
        # In one round defecting pays more, whatever was stated.
        reply = float(sum(PAY["D" + moves[seat, me]] for seat in kind))
        contradicts = any(
            (tells["word", s] == "yes") != (tells["move", s] == tells["other", s] == "cooperate")
            for s in kind
            if ("word", s) in tells
        )
        if not contradicts:
            best = {}
            for seat, name in kind.items():
                if name == "forgiving":
                    values = pair_values(left, moved[me, seat], told[seat])
                else:
                    values = {own: PAY[own + told[seat]] for own in "CD"}
                best[seat] = max("CD", key=values.get)
            tom = sum(max(worth[s].values()) - worth[s][best[s]] for s in kind)
            acted = played == best
    chosen = float(sum(PAY[played[seat] + moves[seat, me]] for seat in kind))
    most = float(sum(PAY["D" + moves[seat, me]] for seat in kind))
    return Fact(regret, tom, acted, (chosen, most, reply), tuple(asked))

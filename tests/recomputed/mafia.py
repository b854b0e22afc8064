"""Secret Mafia: six seats, of which all but the measured one take the first stranger."""

from __future__ import annotations

import itertools
from collections import defaultdict
from functools import cache
from typing import NamedTuple

import numpy as np

from recomputed.arena_games import NAN, Asked, Fact, Game, action, said, stages


class At(NamedTuple):
    """A position: `known` is what the detective learnt, as (seat, whether it is Mafia)."""

    roles: tuple[str, ...]
    alive: tuple[int, ...]
    known: frozenset
    night: bool


def over(at: At) -> int:
    """Return 1 if the Mafia have won, -1 if the village has, 0 if the game goes on."""
    mafia = sum(at.roles[seat] == "mafia" for seat in at.alive)
    return -1 if not mafia else int(2 * mafia >= len(at.alive))


def targets(at: At, seat: int) -> list[int]:
    if at.night and at.roles[seat] == "mafia":
        return [other for other in at.alive if at.roles[other] != "mafia"]
    return [other for other in at.alive if other != seat]


def followed(at: At, seat: int) -> int:
    """Return whom a "villager" takes: the first stranger, a detective whom it found out."""
    role, may = at.roles[seat], targets(at, seat)
    if role == "detective":
        if at.night:
            return min([s for s in may if s not in {k for k, _ in at.known}] or may)
        if found := [s for s, guilty in at.known if guilty and s in at.alive]:
            return min(found)
        friends = {s for s, guilty in at.known if not guilty}
    else:
        friends = {s for s in range(6) if role == "mafia" == at.roles[s]}
    return min([s for s in may if s not in friends] or may)


def due(at: At) -> list[int]:
    return [seat for seat in at.alive if not at.night or at.roles[seat] != "villager"]


def voted(votes: list[int]) -> list[int]:
    counts = {seat: votes.count(seat) for seat in votes}
    return sorted(seat for seat in counts if counts[seat] == max(counts.values()))


def outcomes(at: At, did: dict[int, int]) -> list[tuple[At, tuple]]:
    """Return what may follow, equally likely, each with what everybody sees of it."""
    if not at.night:
        return [
            (at._replace(alive=tuple(s for s in at.alive if s != out), night=True), (out,))
            for out in voted(list(did.values()))
        ]
    by_role = {role: [t for s, t in did.items() if at.roles[s] == role] for role in set(at.roles)}
    known = at.known | {(t, at.roles[t] == "mafia") for t in by_role["detective"]}
    found = []
    for victim in voted(by_role["mafia"]):
        dies = victim not in by_role["doctor"]
        alive = tuple(s for s in at.alive if s != victim or not dies)
        found.append((At(at.roles, alive, known, False), (victim if dies else -1,)))
    return found


def seen(at: At, did: dict[int, int], shown: tuple, me: int) -> tuple:
    """Return what a seat learns of a stage."""
    if not at.night:
        return (*sorted(did.items()), *shown)
    role = at.roles[me]
    kills = sorted((s, t) for s, t in did.items() if role == "mafia" == at.roles[s])
    finding = [at.roles[t] == "mafia" for s, t in did.items() if s == me and role == "detective"]
    return (*kills, *finding, *shown)


def acting(at: At, me: int, own: int | None) -> dict[int, int]:
    did = {seat: followed(at, seat) for seat in due(at) if seat != me}
    return did if own is None else {**did, me: own}


@cache
def all_seeing(at: At, me: int) -> float:
    """Return the value of a position to a player who sees all roles."""
    if won := over(at):
        return float(won if at.roles[me] == "mafia" else -won)
    return max(seeing_after(at, me, own) for own in options(at, me))


@cache
def seeing_after(at: At, me: int, own: int | None) -> float:
    return float(np.mean([all_seeing(after, me) for after, _ in outcomes(at, acting(at, me, own))]))


def options(at: At, me: int) -> list[int | None]:
    return list(targets(at, me)) if me in due(at) else [None]


Belief = tuple[tuple[At, float], ...]


@cache
def after(belief: Belief, me: int, own: int | None) -> dict[tuple, tuple[float, Belief]]:
    """Return by what the seat sees how likely it is, and what it then believes."""
    found: dict[tuple, dict[At, float]] = defaultdict(lambda: defaultdict(float))
    for at, weight in belief:
        did = acting(at, me, own)
        for following, shown in (follow := outcomes(at, did)):
            ended = over(following)
            view = (*seen(at, did, shown, me), "over" if ended else "", ended)
            found[view][following] += weight / len(follow)
    result = {}
    for view, weights in found.items():
        total = sum(weights.values())
        ranked = sorted(weights.items(), key=lambda item: repr(item[0]))
        result[view] = total, tuple((at, round(w / total, 12)) for at, w in ranked)
    return result


@cache
def values(belief: Belief, me: int) -> dict[int | None, float]:
    """Return Q* of every option."""
    return {
        own: sum(p * worth(later, me) for p, later in after(belief, me, own).values())
        for own in options(belief[0][0], me)
    }


def worth(belief: Belief, me: int) -> float:
    at = belief[0][0]
    if won := over(at):
        return float(won if at.roles[me] == "mafia" else -won)
    return max(values(belief, me).values())


PACK = ("mafia", "mafia", "doctor", "detective", "villager", "villager")
DEALS = sorted(set(itertools.permutations(PACK)))


def mafia(game: Game) -> Game:
    """Nights and votes until one side has won."""
    me = game.subject
    roles = tuple(game.roles)
    at = At(roles, tuple(range(6)), frozenset(), True)

    def alike(deal) -> bool:
        fellows = [s for s in range(6) if roles[me] == "mafia" == roles[s]]
        return deal[me] == roles[me] and all(deal[s] == "mafia" for s in fellows)

    deals = [at._replace(roles=deal) for deal in DEALS if alike(deal)]
    belief: Belief = tuple((one, 1 / len(deals)) for one in sorted(deals, key=repr))
    facts, rounds, watching = [], 0, True
    for mark, stage in zip(game.marks, stages(game), strict=True):
        rounds += at.night
        did = {int(row["seat"]): action(row) for row in stage}
        assert did == acting(at, me, did.get(me))  # the others do what the page says
        following, shown = outcomes(at, did)[mark]
        own = next((row for row in stage if row["slot"] == "0"), None)
        if own is not None:
            facts.append(mafia_fact(belief, me, own, following, at, roles))
        if watching and not over(following):
            view = (*seen(at, did, shown, me), "", 0)
            belief = after(belief, me, did.get(me))[view][1]
            watching = me in following.alive
        at = following
    assert {"mafia": 1, "village": -1}[game.rows[0]["ending"]] == over(at)
    won = over(at)
    wins = tuple(float((role == "mafia") == (won > 0)) for role in roles)
    bad = tuple(seat for seat in range(6) if roles[seat] == "mafia")
    return game._replace(
        rewards=tuple(2 * win - 1 for win in wins),
        wins=wins,
        teams=(bad, tuple(seat for seat in range(6) if seat not in bad)),
        rounds=rounds,
        facts=tuple(facts),
    )


def mafia_fact(belief: Belief, me: int, row, following: At, before: At, roles) -> Fact:
    """Return one decision with its questions: who is Mafia, who dies, who is voted out."""
    own, worths = action(row), values(belief, me)
    best = max(worths.values())
    asked, tom, acted = [], NAN, False
    pairs: dict[tuple, float] = defaultdict(float)
    for at, weight in belief:
        pairs[tuple(s for s in range(6) if at.roles[s] == "mafia")] += weight
    single = [sum(w for pair, w in pairs.items() if seat in pair) for seat in range(6)]
    for question, answer in said(row).items():
        if question == "mafia":
            truth = tuple(s for s in range(6) if roles[s] == "mafia")
            top = sum(sorted(single)[-2:]) / 2
            hit = len(set(answer) & set(truth)) / 2
            asked.append(Asked(hit, top))
            fits = [(at, w) for at, w in belief if all(at.roles[s] == "mafia" for s in answer)]
            if fits:
                sums = {o: sum(w * seeing_after(at, me, o) for at, w in fits) for o in worths}
                most = max(sums.values())
                back = next(o for o in sorted(sums) if sums[o] > most - 1e-9)
                tom, acted = best - worths[back], back == own
            continue
        chances: dict[int, float] = defaultdict(float)
        for at, weight in belief:
            for _, (gone,) in (follow := outcomes(at, acting(at, me, own))):
                chances[gone] += weight / len(follow)
        lost = set(before.alive) - set(following.alive)
        truth = lost.pop() if lost else -1
        hit = float(answer == truth)
        asked.append(Asked(hit, max(chances.values())))
    return Fact(best - worths[own], tom, acted, asked=tuple(asked))

"""The measures of line-ups, and the table of errors."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

from recomputed.arena_games import Game
from recomputed.common import NAN, mean
from recomputed.scores import scores


def per_game(games: list[Game], of) -> float:
    """Return the mean over games of each game's mean over the decisions that have a value."""
    return mean(mean(map(of, game.facts)) for game in games)


def share(hits: list[float]) -> float:
    return 100 * mean(map(float, hits))


def measures(games: list[Game]) -> dict[str, float]:
    """Return the measures of one line-up as ``tomeval table --all`` names them."""
    facts = [fact for game in games for fact in game.facts]
    asked = [one for fact in facts for one in fact.asked]
    seat = [game.subject for game in games]

    def of_asked(name: str) -> float:
        return share([getattr(one, name) for one in asked])

    states = [any(fact.asked for fact in game.facts) for game in games]
    told = [game.facts for game, one in zip(games, states, strict=True) if one]
    stated = any(not math.isnan(fact.step[2]) for some in told for fact in some)

    def split(game: Game, part: str) -> list[float]:
        found = []
        for fact in game.facts:
            chosen, best, reply = fact.step
            whole = fact.regret
            tells = any(one.asked for one in game.facts) and not math.isnan(reply)
            if math.isnan(chosen) or math.isnan(whole) or (stated and not tells):
                continue
            values = {"belief": best - reply, "response": reply - chosen}
            values |= {"foresight": whole - (best - chosen)}
            found += [values[part]] if stated or part == "foresight" else []
        return found

    def part(name: str) -> float:
        return mean([mean(found) for game in games if (found := split(game, name))])

    of_split = [len(split(game, "foresight")) for game in games]
    sums = [sum(fact.regret for fact in game.facts) for game in games]
    replied = [fact for fact in facts if not math.isnan(fact.tom)]
    return {
        "episodes": len(games),
        "reward": mean([g.rewards[s] for g, s in zip(games, seat, strict=True)]),
        "win_percent": share([g.wins[s] for g, s in zip(games, seat, strict=True)]),
        "tom_percent": of_asked("hit"),
        "tom_attainable_percent": of_asked("attainable"),
        "brier_score": NAN,  # these players name one answer, and no probabilities
        "brier_above_observer": NAN,
        "delta_functional_per_decision": per_game(games, lambda f: f.regret),
        "delta_functional_per_game": mean(sums),
        "exact_percent": share([not math.isnan(fact.regret) for fact in facts]),
        "delta_tom_per_decision": per_game(games, lambda f: f.tom),
        "delta_tom_known_percent": share([not math.isnan(f.tom) for f in facts if f.asked]),
        "belief_per_decision": part("belief"),
        "response_per_decision": part("response"),
        "foresight_per_decision": part("foresight"),
        "split_percent": 100 * sum(of_split) / len(facts) if any(of_split) else NAN,
        "acted_on_percent": share([fact.acted for fact in replied]),
        "rounds_per_game": mean([game.rounds for game in games]),
    }


def line_ups(games: list[Game]) -> dict[tuple[str, str], dict[str, float]]:
    """Return every line-up's measures; these players make no errors."""
    by_cell: dict[tuple[str, str], list[Game]] = defaultdict(list)
    for game in games:
        by_cell[game.player, game.name].append(game)
    errors = dict.fromkeys(("invalid_rate", "reask_rate"), 0.0)
    return {key: measures(some) | scores(some) | errors for key, some in by_cell.items()}


Row = dict[str, Any]


def errors(games: list[Game]) -> list[Row]:
    names = ("caused", "caused_fatal", "repaired", "witnessed", "witnessed_fatal")
    names += ("caused_percent", "witnessed_percent", "witnessed_fatal_percent")
    players = sorted({player for game in games for player in game.names.values()})
    counts = {player: sum(player in g.names.values() for g in games) for player in players}
    return [{"player": p, "games": n, **dict.fromkeys(names, 0)} for p, n in counts.items()]

"""Results of FAIRGAME (github.com/aira-list/FAIRGAME) as matches of two players."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tomeval.core.errors import TomevalError
from tomeval.core.resources import read_text
from tomeval.core.text import excerpt
from tomeval.games.matrix.games import GAMES, Labels, MatrixGame

Pair = tuple[Any, Any]


class Round(NamedTuple):
    """Where it stands, and moves, points, predictions and recorded regrets of both players."""

    place: str
    moves: Pair
    points: Pair
    said: Pair = ("", "")
    regrets: Pair = (None, None)


@dataclass
class Match:
    """A match: which partner of ours each player is (empty: it is measured), and how they differ.

    Matches of one `task` tell the game together, unless the file tells it.
    """

    name: str
    task: str
    players: Pair
    partners: Pair
    rounds: list[Round]
    about: Pair = ("", "")
    more: dict[str, str] = field(default_factory=dict)
    game: MatrixGame | None = None


_BASELINES = {
    **{"alwayscooperate": "always(0)", "alwaysdefect": "always(1)", "random": "uniform_random"},
    **{"titfortat": "tit_for_tat", "grimtrigger": "grim_trigger"},
}
"""Its players that are no models, in games of two actions, where the first one cooperates."""

_LISTS = {"strategy": "strategies", "score": "scores", "belief": "beliefs"}
_KEPT = ("language", "tom_order", "agents_communicate", "seed", "payoff_variant_name")
_DAMAGE = (LookupError, TypeError, ValueError, AttributeError, SyntaxError, StopIteration)


def json_matches(path: Path) -> Iterator[Match]:
    """Yield the matches of a JSON file: rows, a run that holds rows, or games by their names.

    Raises
    ------
    TomevalError
        With file and game: what is none of these.
    """
    try:
        data = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise TomevalError(f"{path}: not valid JSON: {str(error)[:200]}") from None
    rows, shared = data, dict[str, Any]()
    if isinstance(data, dict) and "rows" in data:
        config = data["config"] if isinstance(data.get("config"), dict) else {}
        shared = {"payoff_matrix_summary": config.get("payoffMatrix"), "name": config.get("name")}
        rows, shared["payoff_direction"] = data["rows"], config.get("payoffDirection")
    elif isinstance(data, dict):
        rows = [{"game_id": key, "told": told} for key, told in data.items()]
    if not isinstance(rows, list) or not rows:
        raise TomevalError(f"{path}: holds no games of FAIRGAME")
    for number, row in enumerate(rows, 1):
        yield row_match(path, f"game {number}", row, shared)


def row_match(path: Path, place: str, row: Any, shared: Mapping[str, Any]) -> Match:
    """Return a match by its row, or by its description and history; `shared` holds of all.

    Beliefs are asked before the moves of their round. The prediction is the likeliest move: none if
    two are as likely, invalid if the belief could not be read.

    Raises
    ------
    TomevalError
        With file and place: what is no result of FAIRGAME, or one of more than two agents.
    """
    try:
        row = {**shared, **(_described(**row) if "told" in row else row)}
        if row.get("agent3_strategies"):
            raise TomevalError("has more than two agents: only games of two can be read")
        return _match(place, row)
    except TomevalError as error:
        raise TomevalError(f"{path}, {place}: {error}") from None
    except (*_DAMAGE, RecursionError, MemoryError) as error:
        said = f"{type(error).__name__}: {excerpt(str(error))}"
        raise TomevalError(f"{path}, {place}: is no result of FAIRGAME: {said}") from None


def _described(game_id: str, told: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of a game that has a description and a history."""
    row = {"game_id": game_id, **told["description"]}
    for number, agent in enumerate(row["agents"].values(), 1):
        every = told["history"].values()
        acts = [next(act for act in acts if act["agent"] == agent["name"]) for acts in every]
        mine = {**agent, "llm": agent["llm_service"]}
        mine |= {many: [act.get(one) for act in acts] for one, many in _LISTS.items()}
        row |= {f"agent{number}_{name}": value for name, value in mine.items()}
    return row


def _match(place: str, row: Mapping[str, Any]) -> Match:
    def of(name: str) -> tuple[str, str]:
        return str(row.get(f"agent1_{name}") or ""), str(row.get(f"agent2_{name}") or "")

    def lists(name: str) -> list[Pair]:
        """Return the pairs of a list over the rounds; in a CSV each is written as Python does."""
        both = []
        for column in (f"agent1_{name}", f"agent2_{name}"):
            told = row.get(column) or []
            said = f"{column} is {excerpt(str(told))!r}"
            try:
                both.append(ast.literal_eval(told) if isinstance(told, str) else told)
            except (*_DAMAGE, RecursionError, MemoryError):
                raise TomevalError(f"is no result of FAIRGAME: {said}") from None
            if not isinstance(both[-1], list):
                raise TomevalError(f"{name} are no lists: {said}")
        return list(zip(*both, strict=True))

    if not (moves := lists("strategies")):
        raise TomevalError("holds no strategies")
    asked = str(row.get("elicit_beliefs")).casefold() == "true"  # spreadsheets write TRUE
    nothing, told = [(None, None)] * len(moves), row.get("payoff_matrix_summary")
    parts = [lists("scores"), lists("beliefs") if asked else [], lists("regret_per_round")]
    direction = str(row.get("payoff_direction") or "reward").casefold()
    if direction not in ("reward", "penalty"):
        raise TomevalError(
            f"payoff_direction: {excerpt(direction)!r} is neither reward nor penalty"
        )
    sign, rounds = (-1 if direction == "penalty" else 1), []
    each = zip(moves, *(part or nothing for part in parts), strict=True)
    for number, (pair, points, beliefs, regrets) in enumerate(each, 1):
        a, b = (str(x) for x in pair)
        x, y = ("" if x is None else str(sign * float(x) + 0.0) for x in points)  # no -0
        p, q = (_likeliest(one) if asked else "" for one in beliefs)
        rounds.append(Round(f"{place}, round {number}", (a, b), (x, y), (p, q), regrets))
    (one, other), rules = of("llm"), of("baseline_strategy")
    task = ", ".join(str(row[n]) for n in ("payoff_variant_name", "language") if row.get(n))
    return Match(
        name=str(row.get("game_id") or place),
        task=f"{told} {sign}" if told else task,
        players=(one, other),
        partners=(_baseline(rules[0] or one), _baseline(rules[1] or other)),
        rounds=rounds,
        about=of("personality"),
        more={name: str(row[name]) for name in _KEPT if row.get(name) not in (None, "")},
        game=_declared(row, told, sign) if told else None,
    )


def _baseline(name: str) -> str:
    """Return what of ours a player is: empty for a model."""
    kind, _, rule = name.rpartition(":")
    known = _BASELINES.get(rule.replace("_", "").casefold())
    return known or "unknown" if kind.casefold() == "baseline" or known else ""


def _likeliest(belief: Any) -> str:
    chances = {move: float(chance) for move, chance in (belief or {}).items()}
    if not chances or not all(map(isfinite, chances.values())):
        return "invalid"
    most = [move for move, chance in chances.items() if chance == max(chances.values())]
    return most[0] if len(most) == 1 else ""


def _declared(row: Mapping[str, Any], told: Mapping[str, Any], sign: int) -> MatrixGame:
    """Return the game that a description tells; costs are payoffs below 0."""
    names = told["strategies"][row["language"]]
    cells = {tuple(pair): told["matrix"][key] for key, pair in told["combinations"].items()}
    payoffs = [[[sign * told["weights"][w] for w in cells[a, b]] for b in names] for a in names]
    name = str(row.get("name") or "game")
    name = f"{name} (FAIRGAME)" if name.casefold() in map(str.casefold, GAMES) else name
    labels = Labels("recorded", tuple(names.values()), tuple(names.values()))
    return MatrixGame(name, np.array(payoffs, dtype=np.float64), {"recorded": labels})

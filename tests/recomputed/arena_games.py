"""What a game is here, and how its rows are read."""

from __future__ import annotations

import itertools
import json
from typing import Any, NamedTuple

from recomputed.common import NAN, Row


class Asked(NamedTuple):
    """A prediction: how right it is, and what the exact observer attains."""

    hit: float
    attainable: float


class Fact(NamedTuple):
    """One decision of the measured player."""

    regret: float
    tom: float = NAN
    acted: bool = False
    step: tuple[float, float, float] = (NAN, NAN, NAN)  # chosen, best, reply
    asked: tuple[Asked, ...] = ()


class Game(NamedTuple):
    """A game as it was exported, and what its actions came to."""

    name: str
    player: str
    best: float  # V* of the seat before the deal
    random: float  # what random play is worth there
    subject: int
    names: dict[int, str]
    roles: list[str]
    rows: list[Row]
    marks: list[int]  # which of equally likely outcomes it was, stage by stage
    rewards: tuple[float, ...] = ()
    wins: tuple[float, ...] = ()
    teams: tuple[tuple[int, ...], ...] = ()
    rounds: int = 0
    facts: tuple[Fact, ...] = ()


def stages(game: Game) -> list[list[Row]]:
    return [list(rows) for _, rows in itertools.groupby(game.rows, lambda row: row["stage"])]


def action(row: Row) -> Any:
    found = json.loads(row["action"])
    return tuple(found) if isinstance(found, list) else found


def said(row: Row) -> dict[str, Any]:
    """Return what was stated beside a decision, by question."""
    stated = {name: told["said"] for name, told in json.loads(row["probes"]).items()}
    return {name: tuple(one) if isinstance(one, list) else one for name, one in stated.items()}

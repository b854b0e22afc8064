"""Tables of games in experiments: drawn games, twins, and the benchmark with anchors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tomeval.core.errors import TomevalError
from tomeval.domains.matrix.game_sets import GameSets, Partners
from tomeval.domains.matrix.games import GAMES, Labels, MatrixGame, get_game
from tomeval.domains.matrix.partners import PartnerSet
from tomeval.extensions.fresh.classes import SYMMETRIC, from_preferences
from tomeval.extensions.fresh.drawing import (
    DRAWN,
    Chance,
    Drawn,
    draw_games,
    draw_machines,
    read_drawn,
)
from tomeval.extensions.fresh.keys import read_table
from tomeval.extensions.fresh.twins import ALL, Twins, read_twins, twin, twin_partners, twins_of

Tasks = list[tuple[MatrixGame, Sequence[Any]]]


@dataclass(frozen=True)
class Anchored:
    """The benchmark of a month: drawn games, and twins of ten fixed games against fixed machines.

    Attributes
    ----------
    seed : int
        Of the drawn games and of the anchors' disguises, such as 202601.
    count : int
        How many games are drawn.
    """

    seed: int
    count: int = 50


_ANCHORED = {name: DRAWN[name] for name in ("seed", "count")}
ANCHOR = "anchor "
"""What names of anchors begin with."""
_ANCHOR_CLASSES = ("hero", "compromise")  # with the eight built-in games, ten


def drawn(spec: Any, partners: Partners, base: Path | None) -> Tasks:
    """Return the games of a table ``fresh``, each with the machines drawn for it."""
    return [(one.game, [one.partners]) for one in draw_games(read_drawn(spec))]


def twins(spec: Any, partners: Partners, base: Path | None) -> Tasks:
    """Return the games of a table ``twins``, each followed by its twins."""
    told = read_twins(spec)
    made: Tasks = []
    for name in told.of:
        game = get_game(name, base)
        sets = partners(game)
        for one in sets:
            if not isinstance(one, PartnerSet):
                raise TomevalError(f"twins: {one.name!r} is a player; twins need partner tables")
        if told.famous:
            made.append((game, sets))
        for other in twins_of(game, told, base):
            assert other.disguise is not None
            made.append(
                (
                    other,
                    [twin_partners(s, other.disguise) for s in sets if isinstance(s, PartnerSet)],
                )
            )
    return made


def anchored(spec: Any, partners: Partners, base: Path | None) -> Tasks:
    """Return the games of a table ``fresh_2026``: drawn ones, then the anchors of the same seed."""
    told = read_table(Anchored, _ANCHORED, spec, "fresh_2026", "seed = 202601")
    games = draw_games(Drawn(told.seed, told.count))
    made: Tasks = [(one.game, [one.partners]) for one in games]
    hidden = Twins((), told.seed)
    for game in anchor_games():
        machines = draw_machines(Drawn(0), game, Chance("anchor", game.name, seed=0))
        other = twin(game, ALL, hidden, base=base, name=f"{ANCHOR}{game.name} {told.seed}")
        assert other.disguise is not None
        made.append((other, [twin_partners(PartnerSet("machines", machines), other.disguise)]))
    return made


def anchor_games() -> list[MatrixGame]:
    """Return the ten games whose twins are the anchors of every seed."""
    labels = Labels("neutral", ("J", "F"), ("J", "F"))
    more = [
        MatrixGame(name, np.array(from_preferences(order, order)), {"neutral": labels})
        for name, order in SYMMETRIC.items()
        if name in _ANCHOR_CLASSES
    ]
    return [*GAMES.values(), *more]


FRESH = GameSets(drawn, brings_partners=True)
TWINS = GameSets(twins)
FRESH_2026 = GameSets(
    anchored,
    brings_partners=True,
)

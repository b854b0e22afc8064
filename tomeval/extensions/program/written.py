"""What written policies are worth: exact values, by following both machines at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache, partial
from typing import Any, Literal, NamedTuple

import numpy as np

from tomeval.core.errors import TomevalError
from tomeval.extensions.program.tables import Form, Table, following
from tomeval.games.matrix.games import MatrixGame
from tomeval.games.matrix.optima import known_best_response
from tomeval.games.matrix.partners import Partner, reachable
from tomeval.games.matrix.played import FloatArray, Played, data_of, from_data
from tomeval.games.matrix.responses import ROUNDING
from tomeval.games.matrix.results import MatrixRunCell, matrix_cells
from tomeval.games.matrix.scores import chance_regret, losses
from tomeval.games.matrix.storing import PROGRAM
from tomeval.runs.columns import Table as RunTable
from tomeval.runs.columns import fixed
from tomeval.runs.measures import Measure, Totals
from tomeval.runs.results import Run
from tomeval.runs.store import Store
from tomeval.statistics.bounded import FROM_ZERO

_PATHS = ("step", f"act_details/{PROGRAM}", f"predict_details/{PROGRAM}")


class Written(NamedTuple):
    """What was written in an episode: the own table and, unless it was not asked, the partner's."""

    memory: int
    own: Table
    said: Table | None


class Worth(NamedTuple):
    """What a table comes to over T steps, in expectation over the partner's draws."""

    regret: float  # the value of the best response less the table's own
    hits: float  # right predictions of the partner, as a number of steps
    likeliest: float  # the same for who always predicts the partner's likeliest action


@lru_cache(maxsize=4096)
def machine(n: int, m: int, memory: int, table: Table) -> Partner:
    """Return the partner that a table describes, without the situations that never come."""
    after = following(n * m, memory).reshape(-1, n, m)
    plays = np.eye(m)[list(table)]
    keep = np.flatnonzero(reachable(plays, after, 0))
    number = np.zeros(len(table), dtype=np.int64)
    number[keep] = np.arange(len(keep))
    return Partner("written", plays[keep], number[after[keep]])


@lru_cache(maxsize=4096)
def worth(
    game: MatrixGame, partner: Partner, horizon: int, memory: int, own: Table, said: Table | None
) -> Worth:
    """Return what a table of the own moves, and one of the partner's, are worth against a partner.

    Exact: the probability of each pair of a situation and a state of the partner is followed from
    step to step, and what the own action loses there against the best is added up.

    Parameters
    ----------
    said : tuple or None
        The predictions by situation; None: no hits.

    Examples
    --------
    Tit for tat against tit for tat cooperates throughout, and could have defected in the end:

    >>> from tomeval.games.matrix.games import get_game
    >>> from tomeval.games.matrix.partner_specs import get_partner
    >>> game = get_game("IPD")
    >>> table = (0, 0, 1, 0, 1)
    >>> worth(game, get_partner("tit_for_tat", game), 100, 1, table, table)
    Worth(regret=2.0, hits=100.0, likeliest=100.0)
    """
    act, guess = np.array(own), np.array(said or own)
    after = following(game.n * game.m, memory).reshape(-1, game.n, game.m)
    mass = np.zeros((len(act), len(partner.emissions)))
    mass[0, partner.start] = 1.0
    regret = hits = likeliest = 0.0
    for lost in losses(game, partner, horizon):
        s, z = np.nonzero(mass)
        chance = mass[s, z]
        regret += float(chance @ lost[z, act[s]])
        hits += float(chance @ partner.emissions[z, guess[s]])
        likeliest += float(chance @ partner.emissions[z].max(axis=1))
        mass = np.zeros_like(mass)
        reached = after[s, act[s]], partner.next_state[z, act[s]]  # each (pairs, m)
        np.add.at(mass, reached, chance[:, None] * partner.emissions[z])
    return Worth(regret, hits if said else 0.0, likeliest)


def read_written(
    store: Store, number: int, definition: Mapping[str, Any]
) -> list[Written] | None:
    """Return what was written in each complete episode of a cell; None where nothing was."""
    if definition["kind"] != PROGRAM:
        return None
    n, m = np.shape(definition["game"]["payoffs"])[:2]
    found = []
    for step, own, said in store.read("steps", _PATHS, number, complete=True):
        if step == 1:
            try:
                memory = int(own["memory"])
                tables = [tuple(map(int, one["table"])) if one else None for one in (own, said)]
                size = len(following(n * m, memory)) if memory in (0, 1, 2) else 0
                for table, count in zip(tables, (n, m), strict=True):
                    if table is not None and (len(table) != size or {*table} - {*range(count)}):
                        raise ValueError("is no table")
            except (TypeError, KeyError, ValueError) as error:
                raise store.damaged(f"cell {number}: what was written {error}") from None
            found.append(Written(memory, tables[0] or (), tables[1]))
    return found


class Sums(NamedTuple):
    """What the measures of E episodes are ratios of, each of shape (E,); NaN where unknown."""

    regret: FloatArray
    at_chance: FloatArray  # the regret of a uniformly random player
    hits: FloatArray  # beyond chance
    attainable: FloatArray
    believed: FloatArray  # the regret if the partner were as written
    believed_at_chance: FloatArray


def sums(played: Played, wrote: list[Written]) -> Sums:
    """Return what a cell's written tables come to."""
    game, rows = played.game, np.full((played.episodes, len(Sums._fields)), np.nan)
    for partner, horizon, mine, _ in played.alike():
        for episode in mine.tolist():
            rows[episode] = _row(game, partner, horizon, wrote[episode])
    return Sums(*rows.T)


@lru_cache(maxsize=4096)
def _row(game: MatrixGame, partner: Partner, horizon: int, wrote: Written) -> tuple[float, ...]:
    memory, own, said = wrote
    true = worth(game, partner, horizon, memory, own, said)
    row = true.regret, chance_regret(game, partner, horizon)
    if said is None:
        return *row, *[np.nan] * 4
    other = machine(game.n, game.m, memory, said)
    believed = worth(game, other, horizon, memory, own, None).regret
    chance = horizon / game.m
    attainable = true.likeliest - chance
    attainable = attainable if attainable > horizon * ROUNDING else 0.0
    return *row, true.hits - chance, attainable, believed, chance_regret(game, other, horizon)


def _knows(of: Sums) -> Totals:
    return Totals(of.hits, np.nan_to_num(of.attainable), ratio=True)


def _uses(of: Sums) -> Totals:
    chance = np.nan_to_num(of.believed_at_chance)
    return Totals(chance - of.believed, chance, ratio=True)


def _plays(of: Sums) -> Totals:
    return Totals(of.at_chance - of.regret, of.at_chance, ratio=True)

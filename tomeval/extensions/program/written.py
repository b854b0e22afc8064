"""What written policies are worth: exact values, by following both machines at once."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from tomeval.extensions.program.tables import Form, Table, following, size_of
from tomeval.games.matrix.games import MatrixGame
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
    """What was written in an episode: the own table and the partner's; None: it was not."""

    own: Table | None
    said: Table | None


class Worth(NamedTuple):
    """What a table comes to over T steps, in expectation over the partner's draws."""

    regret: float  # the value of the best response less the table's own
    hits: float  # right predictions of the partner, as a number of steps
    likeliest: float  # the same for who always predicts the partner's likeliest action


@lru_cache(maxsize=4096)
def machine(n: int, m: int, table: Table) -> Partner:
    """Return the partner that a table describes, without the situations that never come."""
    after = following(n * m, len(table)).reshape(-1, n, m)
    plays = np.eye(m)[list(table)]
    keep = np.flatnonzero(reachable(plays, after, 0))
    number = np.zeros(len(table), dtype=np.int64)
    number[keep] = np.arange(len(keep))
    return Partner("written", plays[keep], number[after[keep]])


@lru_cache(maxsize=4096)
def worth(
    game: MatrixGame, partner: Partner, horizon: int, own: Table, said: Table | None = None
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
    >>> worth(game, get_partner("tit_for_tat", game), 100, table, table)
    Worth(regret=2.0, hits=100.0, likeliest=100.0)
    """
    act, guess = np.array(own), np.array(said or own)
    after = following(game.n * game.m, len(own)).reshape(-1, game.n, game.m)
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


def read_written(store: Store, number: int, definition: Mapping[str, Any]) -> list[Written] | None:
    """Return what was written in each complete episode of a cell; None of another kind."""
    if definition["kind"] != PROGRAM:
        return None
    n, m = np.shape(definition["game"]["payoffs"])[:2]
    rows = store.read("steps", _PATHS, number, complete=True)
    found = [
        Written(own and tuple(own), said and tuple(said)) for step, own, said in rows if step == 1
    ]
    sizes = [size_of(n * m, memory) for memory in range(3)]
    for wrote in found:
        for table, count in zip(wrote, (n, m), strict=True):
            if table and (len(table) not in sizes or not {*table} <= {*range(count)}):
                raise store.damaged(f"cell {number}: what was written is no table")
    return found


class Sums(NamedTuple):
    """What the measures of E episodes are ratios of, each of shape (E,); NaN where unknown."""

    regret: FloatArray
    at_chance: FloatArray  # the regret of a uniformly random player
    hits: FloatArray  # beyond chance
    attainable: FloatArray
    believed: FloatArray  # the regret if the partner were as written
    believed_at_chance: FloatArray
    horizon: FloatArray


def sums(played: Played, wrote: Sequence[Written]) -> Sums:
    """Return what a cell's written tables come to."""
    rows = np.full((played.episodes, len(Sums._fields)), np.nan)
    for partner, horizon, mine, _ in played.alike():
        for episode in mine.tolist():
            rows[episode] = _row(played.game, partner, horizon, wrote[episode])
    return Sums(*rows.T)


@lru_cache(maxsize=4096)
def _row(game: MatrixGame, partner: Partner, horizon: int, wrote: Written) -> FloatArray:
    row = np.full(len(Sums._fields), np.nan)
    if wrote.own is None:
        return row
    true = worth(game, partner, horizon, *wrote)
    row[[0, 1, 6]] = true.regret, chance_regret(game, partner, horizon), horizon
    if wrote.said is not None:
        other, chance = machine(game.n, game.m, wrote.said), horizon / game.m
        attainable = true.likeliest - chance
        row[2:4] = true.hits - chance, attainable if attainable > horizon * ROUNDING else 0.0
        row[4] = worth(game, other, horizon, wrote.own).regret
        row[5] = chance_regret(game, other, horizon)
    return row


def _ratio(top: FloatArray, bottom: FloatArray) -> Totals:
    return Totals(np.where(np.isnan(bottom), np.nan, top), np.nan_to_num(bottom), ratio=True)


_OF: dict[str, Callable[[Sums], Totals]] = {
    "knows_written_percent": lambda of: _ratio(of.hits, of.attainable),
    "uses_written_percent": lambda of: _ratio(
        of.believed_at_chance - of.believed, of.believed_at_chance
    ),
    "plays_written_percent": lambda of: _ratio(of.at_chance - of.regret, of.at_chance),
    "regret_written_per_step": lambda of: Totals.known(of.regret / of.horizon),
}
_MEANINGS = (
    "Does what it wrote of its partner predict it, wherever its own program leads? As knows, but "
    "in expectation.",
    "Is its program the best reply, over all steps, to the partner that it wrote down? 0 at "
    "uniformly random play, 100 at the optimum, if the partner were as written.",
    "What its program earns against its partner, as plays, but in expectation.",
    "How much less per step its program earns in expectation than the best response. Lower is "
    "better; in payoff units.",
)


def _measure(name: str, meaning: str) -> Measure:
    def of(played: Played, wrote: list[Written]) -> Totals:
        return _OF[name](sums(played, wrote))

    percent = name.endswith("_percent")
    return Measure(
        name,
        f"{name.partition('_')[0]} (written)",
        meaning,
        "%" if percent else "payoff",
        1 if percent else -1,
        "this project, docs/strategies.md",
        from_data(PROGRAM, of),
        bounds=(-math.inf, 100.0) if percent else FROM_ZERO,
    )


MEASURES = tuple(map(_measure, _OF, _MEANINGS))


def program_rows(run: Run) -> list[dict[str, Any]]:
    """Return a row for each pair of tables that was written against a partner, the commonest first.

    ``episodes`` have written it; knows, uses, plays and regret are exact, and NaN where there is
    nothing to know or at stake.
    """
    rows = []
    for cell in matrix_cells(run):
        if wrote := data_of(cell.played, PROGRAM):
            names = [cell.partner_names[which] for which in cell.which.tolist()]
            found = Counter(zip(names, wrote, strict=True))
            rows += [_of_table(cell, *pair, count) for pair, count in found.most_common()]
    return rows


def _of_table(cell: MatrixRunCell, partner: str, wrote: Written, count: int) -> dict[str, Any]:
    """Return the row of a pair of tables."""
    met = cell.partners[cell.partner_names.index(partner)]
    of = Sums(*_row(cell.game, met, cell.definition["horizon"], wrote)[:, None])
    row: dict[str, Any] = {**cell.columns, "partner": partner, "episodes": count}
    row |= {name: float(totals(of).values[0]) for name, totals in _OF.items()}
    names, n, m = cell.labels, cell.game.n, cell.game.m
    for column, table, labels in zip(
        ("own_program", "partner_program"), wrote, (names.own, names.partner), strict=True
    ):
        memory = [size_of(n * m, k) for k in range(3)].index(len(table)) if table else 0
        row[column] = Form(names, labels, memory).brief(table) if table else ""
    return row


TABLES: Mapping[str, RunTable] = {
    "programs": RunTable(
        "programs that were written, and what they are worth exactly",
        fixed(program_rows),
        needs='a strategy with Program: docs/strategies.md, "Programs"',
    ),
}

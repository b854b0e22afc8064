"""What written policies are worth: exact, by following both machines at once."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from tomeval.extensions.program.tables import Form, Table, following
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

Written = tuple[Table | None, Table | None]
"""The own table and the partner's, as they were written in an episode; None: there is none."""

_PATHS = ("step", f"act_details/{PROGRAM}", f"predict_details/{PROGRAM}")


@lru_cache(maxsize=4096)
def machine(game: MatrixGame, table: Table) -> Partner:
    """Return the partner that a table describes, without the situations that never come."""
    plays = np.eye(game.m)[list(table)]
    after = following(game.n * game.m, len(table)).reshape(-1, game.n, game.m)
    keep = np.flatnonzero(there := reachable(plays, after, 0))
    return Partner("written", plays[keep], (there.cumsum() - 1)[after[keep]])


@lru_cache(maxsize=4096)
def worth(
    game: MatrixGame, partner: Partner, horizon: int, own: Table, said: Table | None = None
) -> tuple[float, float, float]:
    """Return what a table of the own moves, and one of the partner's, come to against a partner.

    Returns
    -------
    regret : float
        The value of the best response over T steps, less that of `own`, in payoff units.
    hits, most : float
        How many moves `said` predicts, 0 without it, and a prediction of the likeliest each time.

    Notes
    -----
    Expectations over the partner's draws, exact: the probability of every pair of a situation and a
    state of the partner is followed from step to step.

    Examples
    --------
    Tit for tat cooperates with tit for tat to the end, where defecting would have paid 2 more:

    >>> from tomeval.games.matrix.games import get_game
    >>> from tomeval.games.matrix.partner_specs import get_partner
    >>> game = get_game("IPD")
    >>> table = (0, 0, 1, 0, 1)
    >>> worth(game, get_partner("tit_for_tat", game), 100, table)
    (2.0, 0.0, 100.0)
    """
    act, guess = np.array(own), np.array(said or own)
    after = following(game.n * game.m, len(own)).reshape(-1, game.n, game.m)
    mass = np.zeros((len(act), len(partner.emissions)))
    mass[0, partner.start] = 1.0
    regret = hits = most = 0.0
    for lost in losses(game, partner, horizon):
        s, z = np.nonzero(mass)
        chance, plays = mass[s, z], partner.emissions[z]
        regret += float(chance @ lost[z, act[s]])
        hits += float(chance @ plays[np.arange(len(z)), guess[s]]) * (said is not None)
        most += float(chance @ plays.max(axis=1))
        mass = np.zeros_like(mass)
        reached = after[s, act[s]], partner.next_state[z, act[s]]  # each (pairs, m)
        np.add.at(mass, reached, chance[:, None] * plays)
    return regret, hits, most


@lru_cache(maxsize=4096)
def _terms(game: MatrixGame, partner: Partner, horizon: int, wrote: Written) -> FloatArray:
    """Return what knows, uses and plays are ratios of, top and bottom of each, and the regret."""
    (own, said), terms = wrote, np.full(7, np.nan)
    if own is None:
        return terms
    regret, hits, most = worth(game, partner, horizon, own, said)
    random = chance_regret(game, partner, horizon)
    terms[4:] = random - regret, random, regret / horizon
    if said is not None:
        guessed, written = horizon / game.m, machine(game, said)
        attainable = most - guessed if most - guessed > horizon * ROUNDING else 0.0
        random = chance_regret(game, written, horizon)
        used = random - worth(game, written, horizon, own)[0]
        terms[:4] = hits - guessed, attainable, used, random
    return terms


def _totals(terms: FloatArray, at: int) -> Totals:
    if at == 6:
        return Totals.known(terms[:, at])
    return Totals(terms[:, at], np.nan_to_num(terms[:, at + 1]), ratio=True)


def read_written(store: Store, number: int, definition: Mapping[str, Any]) -> list[Written] | None:
    """Return what was written in each complete episode of a cell; None of another kind."""
    if definition["kind"] != PROGRAM:
        return None
    n, m = np.shape(definition["game"]["payoffs"])[:2]
    rows = store.read("steps", _PATHS, number, complete=True)
    found = [(own and (*own,), said and (*said,)) for step, own, said in rows if step == 1]
    sizes = [1, 1 + n * m, 1 + n * m + (n * m) ** 2]
    for table, count in (
        (table, k) for wrote in found for table, k in zip(wrote, (n, m), strict=True)
    ):
        if table and (len(table) not in sizes or not {*table} <= {*range(count)}):
            raise store.damaged(f"cell {number}: what was written is no table")
    return found


def _measure(at: int, name: str, meaning: str) -> Measure:
    def of(played: Played, wrote: list[Written]) -> Totals:
        terms = np.empty((played.episodes, 7))
        for partner, horizon, mine, _ in played.alike():
            for e in mine.tolist():
                terms[e] = _terms(played.game, partner, horizon, wrote[e])
        return _totals(terms, at)

    percent = name.endswith("_percent")
    return Measure(
        *(name, f"{name.partition('_')[0]} (written)", f"Of what was written, exactly: {meaning}"),
        *("%" if percent else "payoff", 1 if percent else -1, "this project, docs/strategies.md"),
        from_data(PROGRAM, of),
        bounds=(-math.inf, 100.0) if percent else FROM_ZERO,
    )


_OF = {
    "knows_written_percent": "does the table of the partner predict it, wherever the own program "
    "leads? As knows, in expectation.",
    "uses_written_percent": "is the own program the best reply over all steps to the partner as "
    "written? 0 at uniformly random play, 100 at the optimum against that partner.",
    "plays_written_percent": "what the program earns against the partner: plays, in expectation.",
    "regret_written_per_step": "what it earns less per step than the best response, in expectation "
    "and payoff units. Lower is better.",
}
MEASURES = tuple(_measure(2 * place, *one) for place, one in enumerate(_OF.items()))


def program_rows(run: Run) -> list[dict[str, Any]]:
    """Return a row for each pair of tables written against a partner: in how many episodes."""
    return [
        _row(cell, *pair, count)
        for cell in matrix_cells(run)
        if (wrote := data_of(cell.played, PROGRAM))
        for pair, count in Counter(zip(cell.which.tolist(), wrote, strict=True)).most_common()
    ]


def _row(cell: MatrixRunCell, which: int, wrote: Written, count: int) -> dict[str, Any]:
    row: dict[str, Any] = {**cell.columns, "partner": cell.partner_names[which], "episodes": count}
    terms = _terms(cell.game, cell.partners[which], cell.definition["horizon"], wrote)[None]
    row |= {one.name: float(_totals(terms, 2 * at).values[0]) for at, one in enumerate(MEASURES)}
    sides = cell.labels.own, cell.labels.partner
    for name, table, labels in zip(("own", "partner"), wrote, sides, strict=True):
        memory = 0 if not table or len(table) == 1 else 1 + (len(table) > 1 + cell.game.own.size)
        row[f"{name}_program"] = Form(cell.labels, labels, memory).brief(table) if table else ""
    return row


TABLES = {
    "programs": RunTable(
        "programs that were written, with their exact values",
        fixed(program_rows),
        needs='a strategy with Program: docs/strategies.md, "Programs"',
    )
}

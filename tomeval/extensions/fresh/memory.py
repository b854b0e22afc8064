"""The memory effect: what twins cost a player beyond the famous game, episode by episode."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tomeval.core.errors import TomevalError
from tomeval.core.numbers import fixed, interval, p_text
from tomeval.core.parts import Compared
from tomeval.extensions.fresh.twins import said_kinds
from tomeval.games.matrix.results import MatrixRunCell, matrix_cells
from tomeval.report.comparisons import READ
from tomeval.runs.columns import interval_columns
from tomeval.runs.results import Run
from tomeval.statistics.paired import holm, standard_error, t_interval, t_test

REGRET, LITERAL = "delta_functional_per_step", "tom_percent"
NAMES = {REGRET: ("regret", 3), LITERAL: ("ToM %", 1)}
"""How readers know the measures, and digits."""
PLAYER = ["subject", "model", "strategy"]
STRATUM = ["game", "partners", "horizon", "seed"]
ANY = "any"
_SAME = 1e-12

Rows = list[dict[str, Any]]


def pairs(runs: Sequence[Run], reference: str | None = None) -> pd.DataFrame:
    """Return a row per twin and episode that is complete in the twin and in its famous game.

    Columns: `PLAYER` and `STRATUM`, in which ``game`` is the famous one; ``disguised``;
    ``episode``; ``exact``: whether every distinct episode was played once; and by measure
    ``MEASURE famous``, ``MEASURE twin`` and ``MEASURE``, their difference. Regret is per step, in
    the famous game's payoffs; the share of right predictions in percent, NaN where one was not
    asked.

    Raises
    ------
    TomevalError
        There is no twin whose game was played too.
    """
    cells = [cell for run in runs for cell in matrix_cells(run)]
    famous: dict[tuple[str, str], MatrixRunCell] = {}
    for cell in cells:
        if cell.game.disguise is None:
            famous.setdefault((_task(cell), cell.game.name), cell)
    frames = []
    for cell in cells:
        disguise = cell.game.disguise
        other = famous.get((_task(cell), disguise.of)) if disguise else None
        if other is not None:
            frames.append(_pair(cell, other, reference))
    if not any(map(len, frames)):
        raise TomevalError(
            "no twin was played together with its game: the memory effect needs games = [{ twins = "
            "{ of = [...] } }], see docs/measures/fresh.md"
        )
    return pd.concat([frame for frame in frames if len(frame)], ignore_index=True)


def _task(cell: MatrixRunCell) -> str:
    """Return what a twin and its game have in common, as text."""
    defined = cell.definition
    keys = ("subject", "kind", "model", "strategy", "options", "horizon", "on_invalid")
    more = [defined["partners"]["name"], cell.seed, cell.reference]
    return json.dumps([[defined.get(key) for key in keys], more], sort_keys=True)


def _pair(twin: MatrixRunCell, famous: MatrixRunCell, reference: str | None) -> pd.DataFrame:
    assert twin.game.disguise is not None
    episodes, *places = np.intersect1d(famous.episodes, twin.episodes, return_indices=True)
    frame = pd.DataFrame({"episode": episodes})
    for name in (*PLAYER, "partners", "horizon"):
        frame[name] = twin.columns[name]
    frame["seed"], frame["game"] = twin.seed, famous.game.name
    frame["disguised"] = said_kinds(twin.game.disguise.kinds)
    frame["exact"] = famous.each_once and twin.each_once
    scale = {(REGRET, "twin"): twin.game.disguise.scale[0]}
    for measure in NAMES:
        for side, cell, place in zip(("famous", "twin"), (famous, twin), places, strict=True):
            asked = measure == REGRET or cell.played.predicted is not None
            values = cell.totals(measure, reference).values[place] if asked else math.nan
            frame[f"{measure} {side}"] = values / scale.get((measure, side), 1.0)
        frame[measure] = frame[f"{measure} twin"] - frame[f"{measure} famous"]
    return frame


class Effect(NamedTuple):
    """A mean of differences with Student's 95 % interval and two-sided p; NaN if there is none."""

    value: float
    low: float
    high: float
    p: float
    units: int


def effect(chosen: pd.DataFrame, measure: str) -> Effect:
    """Return the mean effect over games, every one the same, of one player's pairs.

    A game's twins are averaged episode by episode, for they share the famous game's episodes; the
    episodes of a game, partner set and seed are the sampling units, and games are no sample: the
    interval is about these games. Without a sampling error there is no interval.
    """
    units = chosen.dropna(subset=[measure]).groupby([*STRATUM, "episode"])[measure].mean()
    strata = [values.to_numpy() for _, values in units.groupby(level=STRATUM)]
    if not strata:
        return Effect(math.nan, math.nan, math.nan, math.nan, 0)
    mean = np.mean([values.mean() for values in strata])
    parts = [(v - v.mean())[:, None] / (len(v) * len(strata)) for v in strata]
    standard, value = standard_error(parts), np.array([mean])
    if chosen["exact"].all() or not standard.error[0] > _SAME * (1 + abs(mean)):
        return Effect(float(mean), math.nan, math.nan, math.nan, len(units))
    low, high = (float(end[0]) for end in t_interval(value, standard))
    return Effect(float(mean), low, high, float(t_test(value, standard)[0]), len(units))


def effects(paired: pd.DataFrame) -> Rows:
    """Return a row per player, measure and part of its pairs; Holm over all rows of a measure.

    Parts are all of a player's pairs, each disguise and each game.
    """
    rows: Rows = []
    for player, own in paired.groupby(PLAYER, sort=False, dropna=False):
        for measure in NAMES:
            by_pair = own.groupby([*STRATUM, "disguised"], sort=False)
            if not by_pair[measure].count().all():
                continue
            for game, disguised, chosen in _parts(own):
                sides = chosen.dropna(subset=[measure]).groupby([*STRATUM, "disguised"])
                means = [sides[f"{measure} {side}"].mean().mean() for side in ("famous", "twin")]
                rows.append(
                    dict(zip(PLAYER, player, strict=True))
                    | {"measure": measure, "game": game, "disguised": disguised}
                    | {"famous": means[0], "twin": means[1], "effect": effect(chosen, measure)}
                )
    for measure in NAMES:
        family = [row for row in rows if row["measure"] == measure]
        for row, p in zip(family, holm([row["effect"].p for row in family]), strict=True):
            row["p_holm"] = float(p)
    return rows


def _parts(own: pd.DataFrame) -> Iterable[tuple[str, str, pd.DataFrame]]:
    kinds, games = own["disguised"].unique(), own["game"].unique()
    # one disguise alone would stand twice, and count twice for Holm
    yield "all", kinds[0] if len(kinds) == 1 else ANY, own
    for kind in kinds if len(kinds) > 1 else ():
        yield "all", kind, own[own["disguised"] == kind]
    for game in games if len(games) > 1 else ():
        yield game, ANY, own[own["game"] == game]


def shown(rows: Rows, read: bool) -> Rows:
    """Return the rows of `effects` with columns to print: for readers, or with every digit."""
    made = []
    for row in rows:
        name, digits = NAMES[row["measure"]]
        of: Effect = row["effect"]
        columns = {column: row[column] for column in (*PLAYER, "measure", "game", "disguised")}
        columns |= {"episodes": of.units}
        if read:
            columns |= {side: fixed(row[side], digits) for side in ("famous", "twin")}
            columns |= {"measure": name, "effect": interval(*of[:3], digits)}
            columns |= {"p": p_text(of.p), "p_holm": p_text(row["p_holm"])}
        else:
            columns |= {side: row[side] for side in ("famous", "twin")}
            columns |= {**interval_columns("effect", *of[:3]), "p": of.p, "p_holm": row["p_holm"]}
        made.append(columns)
    return made


ABOVE = "memory effect: twin minus famous game by episode, in the famous game's payoffs and ToM %"
NOTE = "regret above 0 or ToM % below 0: worse where disguised; Student's t, Holm in a measure"


def _compared(runs: Sequence[Run], options: dict[str, Any]) -> tuple[Rows, list[str], list[str]]:
    rows = effects(pairs(runs, options["reference"]))
    return shown(rows, options["form"] in READ), [ABOVE], [NOTE]


MEMORY = Compared(_compared)

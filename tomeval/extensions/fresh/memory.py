"""The memory effect: what twins cost a player beyond the famous game, pair by pair."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tomeval.core.errors import TomevalError
from tomeval.domains.matrix.results import MatrixRunCell, matrix_cells
from tomeval.extensions.fresh.recognition import asked, recognised
from tomeval.extensions.fresh.twins import said_kinds
from tomeval.runs.results import Run
from tomeval.statistics.paired import (
    FloatArray,
    Standard,
    standard_error,
    t_interval,
    t_test,
)

REGRET, LITERAL = "delta_functional_per_step", "tom_percent"
MEASURES = (REGRET, LITERAL)
ANY, KNOWN, UNKNOWN = "any", "recognised", "not recognised"
APART = f"{KNOWN} less {UNKNOWN}"
_SAME = 1e-12

Rows = list[dict[str, Any]]


@dataclass(frozen=True, eq=False)
class Pair:
    """A twin and its famous game, played by one player against the same partners.

    `differences`, shape (E, 2), are twin less famous of the episodes that are complete in both:
    regret per step in the famous game's payoffs, and the share of right predictions in percent; NaN
    where one was not asked. `means`, shape (2, 2), are those of the famous game and of the twin,
    over the same episodes.
    `known`, shape (E,), tells whether the famous game was recognised; None: not asked.
    """

    player: Mapping[str, Any]
    game: str
    kinds: tuple[str, ...]
    episodes: tuple[int, ...]
    differences: FloatArray
    means: FloatArray
    known: np.ndarray | None
    exact: bool


class Effect(NamedTuple):
    """A mean of differences with Student's 95 % interval and two-sided p; NaN: there is none."""

    value: float
    low: float
    high: float
    p: float
    units: int
    error: float
    freedom: float


def _student(value: float, error: float, freedom: float, units: int) -> Effect:
    """Return an effect with its interval; an error of 0, or none, gives none."""
    if not error > _SAME * (1 + abs(value)):
        return Effect(value, math.nan, math.nan, math.nan, units, error, freedom)
    standard, mean = Standard(np.array([error]), np.array([freedom])), np.array([value])
    low, high = t_interval(mean, standard)
    p = float(t_test(mean, standard)[0])
    return Effect(value, float(low[0]), float(high[0]), p, units, error, freedom)


def pairs(runs: Sequence[Run], reference: str | None = None) -> list[Pair]:
    """Return every twin of a run with its famous game; episodes are paired by partner and number.

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
    probed = any(asked(run) for run in runs)
    made = []
    for cell in cells:
        disguise = cell.game.disguise
        other = famous.get((_task(cell), disguise.of)) if disguise else None
        if other is not None:
            made.append(_pair(cell, other, reference, probed))
    made = [pair for pair in made if pair.episodes]
    if not made:
        raise TomevalError(
            "no twin was played together with its game: the memory effect needs games = [{ twins = "
            "{ of = [...] } }], see docs/measures/fresh.md"
        )
    return made


def _task(cell: MatrixRunCell) -> str:
    """Return what a twin and its game have in common, as text."""
    told = cell.definition
    keys = ("subject", "kind", "model", "strategy", "options", "horizon", "on_invalid")
    more = [told["partners"]["name"], cell.seed, cell.reference]
    return json.dumps([[told.get(key) for key in keys], more], sort_keys=True)


def _pair(twin: MatrixRunCell, famous: MatrixRunCell, reference: str | None, probed: bool) -> Pair:
    assert twin.game.disguise is not None
    places = [{e: k for k, e in enumerate(cell.episodes.tolist())} for cell in (famous, twin)]
    both = [e for e in places[0] if e in places[1]]
    values = []
    for cell, where, scale in (
        (famous, places[0], 1.0),
        (twin, places[1], twin.game.disguise.scale[0]),
    ):
        rows = [where[episode] for episode in both]
        regret = cell.totals(REGRET, reference).values[rows] / scale
        right = np.full(len(rows), np.nan)
        if cell.played.predicted is not None:
            right = cell.totals(LITERAL, reference).values[rows]
        values.append(np.stack([regret, right], axis=1))
    known = None
    # a player that was not asked did not fail to recognise it
    if probed and (told := recognised(famous)):
        known = np.array([told.get(episode, False) for episode in both], dtype=bool)
    columns = ("subject", "model", "strategy", "partners", "horizon")
    return Pair(
        {name: twin.columns[name] for name in columns} | {"seed": twin.seed},
        famous.game.name,
        twin.game.disguise.kinds,
        tuple(both),
        values[1] - values[0],
        paired_means(values),
        known,
        famous.each_once and twin.each_once,
    )


def paired_means(values: Sequence[FloatArray]) -> FloatArray:
    """Return the means, shape (2, M), of two arrays (E, M), over rows finite in both; else NaN."""
    each = np.stack(values)
    both = np.isfinite(each).all(axis=0)
    counts = np.where(both.any(axis=0), both.sum(axis=0), np.nan)
    means: FloatArray = np.where(both, each, 0).sum(axis=1) / counts
    return means


def effect(chosen: Sequence[Pair], measure: int, only: bool | None = None) -> Effect:
    """Return the mean effect over games, every one the same, of one player's pairs.

    A game's twins are averaged episode by episode, for they share the famous game's episodes; the
    episodes of a game, partner set and seed are the sampling units, and games are no sample: the
    interval is about these games. `only` keeps the episodes in which the famous game was
    recognised, or was not.
    """
    strata = [values for values in _by_game(chosen, measure, only) if len(values)]
    if not strata:
        return _student(math.nan, math.nan, math.nan, 0)
    mean = float(np.mean([values.mean() for values in strata]))
    parts = [(v - v.mean())[:, None] / (len(v) * len(strata)) for v in strata]
    error, freedom = (float(one[0]) for one in standard_error(parts))
    if all(pair.exact for pair in chosen):
        error = 0.0
    return _student(mean, error, freedom, sum(map(len, strata)))


def _by_game(chosen: Sequence[Pair], measure: int, only: bool | None) -> list[FloatArray]:
    """Return the differences of every game, partner set and seed, averaged over its twins."""
    strata: dict[tuple[Any, ...], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for pair in chosen:
        key = (pair.game, pair.player["partners"], pair.player["horizon"], pair.player["seed"])
        for k, episode in enumerate(pair.episodes):
            value = float(pair.differences[k, measure])
            if np.isnan(value) or (only is not None and bool(known(pair)[k]) is not only):
                continue
            strata[key][episode].append(value)
    return [np.array([np.mean(v) for v in units.values()]) for units in strata.values()]


def known(pair: Pair) -> np.ndarray:
    """Tell in which episodes the famous game was recognised, shape (E,)."""
    return np.zeros(len(pair.episodes), dtype=bool) if pair.known is None else pair.known


def difference(one: Effect, other: Effect) -> Effect:
    """Return one effect less another one of other episodes, by Welch's t."""
    error = math.hypot(one.error, other.error)
    parts = [effect.error**4 / effect.freedom for effect in (one, other) if effect.freedom > 0]
    freedom = error**4 / sum(parts) if error > 0 and sum(parts) > 0 else float("nan")
    return _student(one.value - other.value, error, freedom, one.units + other.units)


class Line(NamedTuple):
    """One row of the comparison: who, which measure, what was disguised, and the effect."""

    player: Mapping[str, Any]
    measure: int
    game: str
    disguised: str
    famous: float
    twin: float
    effect: Effect


def lines(found: Sequence[Pair]) -> list[Line]:
    """Return the effects of every player: over all twins, by disguise, game, and recognition."""
    made: list[Line] = []
    for player, own in by_player(found).items():
        names = dict(zip(("subject", "model", "strategy"), player, strict=True))
        for measure in range(len(MEASURES)):
            if not all(np.isfinite(pair.differences[:, measure]).any() for pair in own):
                continue
            every = list(dict.fromkeys(pair.kinds for pair in own))
            # of one disguise, its row would stand twice, and count twice for Holm
            parts = [("all", said_kinds(every[0]) if len(every) == 1 else ANY, own)]
            for kinds in every if len(every) > 1 else ():
                chosen = [pair for pair in own if pair.kinds == kinds]
                parts.append(("all", said_kinds(kinds), chosen))
            games = list(dict.fromkeys(pair.game for pair in own))
            for game in games if len(games) > 1 else ():
                parts.append((game, ANY, [pair for pair in own if pair.game == game]))
            for game, disguised, chosen in parts:
                means = np.mean([pair.means for pair in chosen], axis=0)[:, measure]
                said = effect(chosen, measure)
                made.append(
                    Line(names, measure, game, disguised, float(means[0]), float(means[1]), said)
                )
            made += _by_recognition(names, measure, own)
    return made


def _by_recognition(names: Mapping[str, Any], measure: int, own: Sequence[Pair]) -> list[Line]:
    """Return the effect where the famous game was recognised, where not, and their difference.

    None if it was not asked, or always or never recognised.
    """
    each = np.concatenate([known(pair) for pair in own])
    if each.all() or not each.any():
        return []
    both = [effect(own, measure, only) for only in (True, False)]
    made = [
        Line(names, measure, "all", label, math.nan, math.nan, one)
        for label, one in zip((KNOWN, UNKNOWN), both, strict=True)
    ]
    return [*made, Line(names, measure, "all", APART, math.nan, math.nan, difference(*both))]


def by_player(found: Sequence[Pair]) -> dict[tuple[Any, ...], list[Pair]]:
    """Return the pairs of every player, by subject, model and strategy."""
    by: dict[tuple[Any, ...], list[Pair]] = defaultdict(list)
    for pair in found:
        by[tuple(pair.player[name] for name in ("subject", "model", "strategy"))].append(pair)
    return by

"""How much a measure depends on the wording: variance by factor, with intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tomeval.comparing.sides import Runs
from tomeval.core.errors import TomevalError
from tomeval.core.streams import Stream
from tomeval.extensions.wording.factorial import (
    ANY,
    DRAWS,
    INNER,
    PLAYER,
    REST,
    UNITS,
    Cells,
    Component,
    Range,
    Source,
    components,
    grid,
    spread_of,
)
from tomeval.extensions.wording.grids import Grid, grids_of
from tomeval.runs.domain import Domain

FEW = 3
"""With so few values or fewer, an option's variance is hardly determined."""


class Variation(NamedTuple):
    """What one source adds to the variance of a measure, for one model in one task.

    `levels` are its values or combinations; `range` is of the marginal means of a player, an option
    or whole wordings, between the values `least` and `most`; None for interactions.
    """

    source: str
    levels: int
    component: Component
    range: Range | None = None
    least: str = ""
    most: str = ""


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """The variance of one measure by source, for one model in one task.

    `variations` are those of player, options, their interactions, what options do to single
    players, all wording together, and the units (episodes) within cells: all but ``any wording``
    add up.
    """

    laid: Grid
    variations: tuple[Variation, ...]

    def of(self, source: str) -> Variation:
        """Return one source, such as ``labels`` or ``any wording``."""
        return next(one for one in self.variations if one.source == source)


def sensitivity(
    runs: Runs, metrics: Sequence[str] | None = None, reference: str | None = None, seed: int = 0
) -> tuple[list[Sensitivity], list[str]]:
    """Split the variance of measures between wordings, players and episodes.

    For every model, task and measure whose players all were asked in two or more wordings; with
    notes on what was left out, and what the data leave open. `seed` is of the draws behind the
    intervals; see `tomeval.extensions.wording.factorial`: all factors are random and crossed,
    episodes are common to all cells of a task, and every source is held against its own noise.

    Raises
    ------
    TomevalError
        The wording varies nowhere, or nowhere with enough complete episodes.
    """
    domain, grids, notes = grids_of(runs, metrics, reference)
    if not grids:
        raise TomevalError("; ".join(notes))
    split = [_of(laid, domain, seed) for laid in grids]
    return split, [*notes, *_level_notes(split), *_cut_notes(split, domain)]


def _of(laid: Grid, domain: Domain, seed: int) -> Sensitivity:
    """Return the variances of a grid."""
    cells = grid(laid.values, laid.exact)
    purpose = ("sensitivity", laid.metric, laid.model, repr(laid.task))
    rng = np.random.default_rng(Stream.of(seed, *purpose).key)
    parts = components(cells, rng, DRAWS)
    by = domain.compare.by[0]
    keys = [key for key in parts if key not in (ANY, UNITS)]
    variations = [_variation(laid, cells, parts, key, by) for key in keys]
    variations.append(_variation(laid, cells, parts, ANY, by))
    unit = f"between {domain.compare.unit}s"
    units = Variation(unit, laid.values.shape[-1], parts[UNITS])
    return Sensitivity(laid, (*variations, units))


def _variation(
    laid: Grid, cells: Cells, parts: dict[Source, Component], key: Source, by: str
) -> Variation:
    """Return one source with its name, and the range of its marginal means if it has such."""
    shape = cells.means.shape
    wide = math.prod(shape[1:])
    if key == PLAYER:
        name, axes, levels = by, [0], list(laid.players)
    elif isinstance(key, int):
        factor = laid.factors[key - 1]
        name, axes, levels = factor.name, [key], list(factor.levels)
    elif key == ANY:
        name, axes, levels = "any wording", list(range(1, len(shape))), laid.wordings
    elif isinstance(key, tuple):
        name = f"{by} x {laid.factors[key[1] - 1].name}"
        return Variation(name, shape[0] * shape[key[1]], parts[key])
    else:
        name = {INNER: "wording x wording", REST: f"{by} x wording x wording"}[key]
        return Variation(name, wide * (1 if key == INNER else shape[0]), parts[key])
    spread = spread_of(cells, axes)
    ends = (levels[spread.smallest], levels[spread.largest]) if spread.value > 0 else ("", "")
    return Variation(name, len(levels), parts[key], spread, *ends)


def _cut_notes(found: Sequence[Sensitivity], domain: Domain) -> list[str]:
    """Say which variances are cut off at 0."""
    told: dict[str, list[str]] = {}
    for one in found:
        cut = [part.source for part in one.variations[:-2] if part.component.raw < 0]
        if cut:
            measure = domain.measures[one.laid.metric].heading
            told.setdefault(one.laid.where, []).append(f"{measure} of {', '.join(cut)}")
    return [
        f"{where}: estimates below 0 are given as 0: {'; '.join(t)}" for where, t in told.items()
    ]


def _level_notes(found: Sequence[Sensitivity]) -> list[str]:
    """Say where a variance is hardly determined, and where there is no sampling error."""
    few: dict[str, int] = {}
    for one in found:
        few |= {
            factor.name: len(factor.levels)
            for factor in one.laid.factors
            if len(factor.levels) <= FEW
        }
    notes = []
    if few:
        told = ", ".join(f"{name} ({count})" for name, count in few.items())
        notes.append(
            f"few values of {told}: a variance over others like them is hardly determined, so its "
            "upper end is far off; the range is about these values alone"
        )
    if any(one.laid.exact for one in found):
        notes.append(
            "where each distinct episode was played once, means have no sampling error and ranges "
            "no interval"
        )
    return notes

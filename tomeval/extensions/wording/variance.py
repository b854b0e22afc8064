"""How much a measure depends on the wording: variance by factor, with intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tomeval.comparing.sides import Runs, opened
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
    marginal,
    spread_of,
)
from tomeval.extensions.wording.grids import Grid, read_panels
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
    range: Range | None
    least: str
    most: str


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """The variance of one measure by source, for one model in one task.

    Attributes
    ----------
    laid : Grid
        The players, the options of wording and the values.
    mean : float
        Over all cells, which count the same.
    variations : tuple of Variation
        Player, options, their interactions, what options do to single players, all wording
        together, and the units (episodes) within cells. All but ``any wording`` add up.
    """

    laid: Grid
    mean: float
    variations: tuple[Variation, ...]

    def of(self, source: str) -> Variation:
        """Return one source, such as ``labels`` or ``any wording``."""
        return next(one for one in self.variations if one.source == source)


def sensitivity(
    runs: Runs, metrics: Sequence[str] | None = None, reference: str | None = None, seed: int = 0
) -> tuple[list[Sensitivity], list[str]]:
    """Split the variance of measures between wordings, players and episodes.

    Parameters
    ----------
    runs, reference
        As for `tomeval.comparing.compare`.
    metrics : sequence of str, optional
        Default: the headline of the runs' domain.
    seed : int
        Of the draws behind the intervals.

    Returns
    -------
    found : list of Sensitivity
        For every model, task and measure whose players all were asked in two or more wordings.
    notes : list of str
        What was left out, and what the data leave open.

    Raises
    ------
    TomevalError
        The wording varies nowhere, or nowhere with enough complete episodes.

    Notes
    -----
    See `tomeval.extensions.wording.factorial`: all factors are random and crossed, episodes are
    common to all cells of a task, and every source is held against its own noise between episodes.
    """
    with opened(runs) as listed:
        panels, names = read_panels(listed, metrics, reference)
        domain = listed[0].domain
        found, notes = [], []
        for panel in panels:
            for place, name in enumerate(names):
                try:
                    laid = panel.grid(place, name)
                except TomevalError as error:
                    notes.append(f"{place_words(domain, panel.model, panel.task)}: {error}")
                    continue
                notes += [f"{place_words(domain, laid.model, laid.task)}: {n}" for n in laid.notes]
                found.append(_of(laid, domain, seed))
    if not found:
        raise TomevalError("; ".join(dict.fromkeys(notes)))
    return found, [*dict.fromkeys(notes), *_level_notes(found), *_cut_notes(found, domain)]


def place_words(domain: Domain, model: str, task: dict[str, Any]) -> str:
    """Name a model and a task."""
    return ", ".join(filter(None, (model, domain.compare.words(task)))) or "the task"


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
    units = Variation(unit, laid.values.shape[-1], parts[UNITS], None, "", "")
    return Sensitivity(laid, float(cells.means.mean()), (*variations, units))


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
        return Variation(name, shape[0] * shape[key[1]], parts[key], None, "", "")
    else:
        name = {INNER: "wording x wording", REST: f"{by} x wording x wording"}[key]
        return Variation(name, wide * (1 if key == INNER else shape[0]), parts[key], None, "", "")
    found = spread_of(*marginal(cells, axes), cells.freedom)
    ends = (levels[found.smallest], levels[found.largest]) if found.value > 0 else ("", "")
    return Variation(name, len(levels), parts[key], found, *ends)


def _cut_notes(found: Sequence[Sensitivity], domain: Domain) -> list[str]:
    """Say which variances are cut off at 0."""
    told: dict[str, list[str]] = {}
    for one in found:
        cut = [part.source for part in one.variations[:-2] if part.component.raw < 0]
        if cut:
            where = place_words(domain, one.laid.model, one.laid.task)
            measure = domain.measures[one.laid.metric].heading
            told.setdefault(where, []).append(f"{measure} of {', '.join(cut)}")
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

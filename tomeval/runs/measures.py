"""What a measure is: its names, its meaning, and how it is computed from what was played."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tomeval.core.errors import TomevalError
from tomeval.statistics.bounded import UNBOUNDED, Bounds

if TYPE_CHECKING:
    from tomeval.runs.store import Store

FloatArray = NDArray[np.float64]

UNITS = ("percent", "per_step", "per_turn", "per_decision", "steps")
"""With what the names of measures end, after ``_``, that is no part of their short names."""


_DIGITS = 10
"""Decimals of a part in percent: below them is the rounding of sums of payoffs."""

SCORES = ("knows_percent", "uses_percent", "plays_percent")
"""Scores of a player in any game, 0 at chance and 100 at the best attainable."""

SCORE_PARTS = ("replies_percent", "plans_percent")
"""What *uses* is made of."""

_STEMS = ("knows", "uses", "plays", "replies", "plans", "reads", "right")


def is_score(name: str) -> bool:
    """Return whether a measure is a score, or a part of one such as ``knows_bob_percent``.

    Examples
    --------
    >>> is_score("uses_percent"), is_score("knows_bob_percent"), is_score("knowingly_bad_percent")
    (True, True, False)
    """
    return name.endswith("_percent") and name.partition("_")[0] in _STEMS


class Totals(NamedTuple):
    """A measure by episode, each array of shape (E,).

    Attributes
    ----------
    top : ndarray
    bottom : ndarray or None
        None: `top` is the measure of every episode, and its mean is reported. Else an episode's
        value is `top` / `bottom`, and episodes with a `bottom` of 0 have none.
    share : bool
        `top` of `bottom` items are hits, and the share of all items is reported, in percent:
        sum(top) / sum(bottom). Else the mean over the episodes that have a value is reported.
    ratio : bool
        The ratio sum(top) / sum(bottom) is reported, in percent, of whatever sign; episodes whose
        `top` is NaN are not in it.
    percent : bool
        Whether a `ratio` is a part of a whole; else it is in the unit of `top`.
    limits : tuple of float, optional
        Between what the measure lies on these episodes, in its unit.
    """

    top: FloatArray
    bottom: FloatArray | None = None
    share: bool = False
    ratio: bool = False
    percent: bool = True
    limits: Bounds | None = None

    @property
    def values(self) -> FloatArray:
        """The measure of every single episode, shape (E,), in its unit; NaN if undefined."""
        if self.bottom is None:
            return self.top
        values = np.full(len(self.top), np.nan)
        np.divide(self.top, self.bottom, values, where=self.bottom > 0)
        return values * 100.0 if self.share or (self.ratio and self.percent) else values

    @property
    def parts(self) -> FloatArray:
        """What every episode adds to the mean that is reported, shape (E,); NaN if nothing.

        Of a `ratio` r it is linearised, r + (top - r bottom) / mean(bottom): the mean is r, and its
        standard error that of the ratio estimator (Cochran 1977, section 6.4). Else `values`.
        """
        if not self.ratio or self.bottom is None:
            return self.values
        there = np.isfinite(self.top)
        whole = float(self.bottom[there].sum())
        if not whole > 0:
            return np.full(len(self.top), np.nan)
        ratio = float(self.top[there].sum()) / whole
        beyond = self.top - ratio * self.bottom
        if not self.percent:  # what is left of equal parts is rounding
            beyond[np.abs(beyond) <= 1e-12 * np.abs(self.top[there]).max()] = 0.0
        linear: FloatArray = ratio + beyond / self.bottom[there].mean()
        return np.round(100 * linear, _DIGITS) if self.percent else linear

    @classmethod
    def known(cls, values: FloatArray) -> Totals:
        """Return a measure by episode, shape (E,), that episodes lack whose value is not finite."""
        there = np.isfinite(values)
        if there.all() or not there.any():
            return cls(values)
        return cls(np.where(there, values, 0.0), there.astype(np.float64))


@dataclass(frozen=True)
class Measure:
    """One measure, with everything that is said about it anywhere.

    Attributes
    ----------
    name : str
        Column of tables and exports; ends in ``_percent`` if and only if the unit is percent.
    heading : str
        What tables and figures print.
    meaning : str
        One or two sentences for readers who do not know it.
    unit : str
        ``%``, ``payoff`` (the game's payoff units), or what is counted, such as ``turns``.
    better : {1, 0, -1}
        Whether more or less is better; 0: neither, because it trades off against others.
    source : str
        Publication and definition, or that it is this project's own.
    of : callable
        Returns its `Totals`, given a cell's played episodes and the reference of regret.
    bounds : tuple of float
        Between what its expectation lies, whoever plays, such as from 0 of a regret: intervals end
        there. Default: percent from 0 to 100, all else without bounds.
    present : callable
        Tells of a store whether its run has the data.
    better_by : mapping of str to int
        What is `better` for the levels of a comparison, by the column that they are of, if it is
        something else.
    """

    name: str
    heading: str
    meaning: str
    unit: str
    better: Literal[1, 0, -1]
    source: str
    of: Callable[[Any, str], Totals]
    bounds: Bounds | None = None
    present: Callable[[Store], bool] = lambda store: True
    better_by: Mapping[str, Literal[1, 0, -1]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for part in ("name", "heading", "meaning", "unit", "source"):
            if not getattr(self, part):
                raise ValueError(f"measure {self.name!r}: {part} is empty")
        if self.name.endswith("_percent") != (self.unit == "%"):
            raise ValueError(f"measure {self.name!r}: the name does not fit the unit {self.unit!r}")

    @property
    def limits(self) -> Bounds:
        """Between what its expectation lies."""
        if self.bounds is not None:
            return self.bounds
        return (0.0, 100.0) if self.unit == "%" else UNBOUNDED

    @property
    def difference_limits(self) -> Bounds:
        """Between what a difference of two expectations lies."""
        low, high = self.limits
        return low - high, high - low

    @property
    def digits(self) -> int:
        """Decimals that tables print."""
        return digits_of(self.name)

    @property
    def in_payoffs(self) -> bool:
        """Whether it is in payoff units, so that its scale depends on the game."""
        return self.unit == "payoff"

    @property
    def short(self) -> str:
        """Its short name: the column without its unit, and ``regret`` for ``delta_functional``.

        Examples
        --------
        >>> from tomeval.runs.domain import get_domain
        >>> measures = get_domain("matrix").measures
        >>> [measures[name].short for name in ("tom_percent", "delta_functional_per_step")]
        ['tom', 'regret']
        """
        return self.bare.replace("delta_functional", "regret")

    @property
    def bare(self) -> str:
        """Its name without the unit that it ends in."""
        return re.sub(rf"_({'|'.join(UNITS)})$", "", self.name)


def checked(name: str, totals: Totals, episodes: int) -> Totals:
    """Return a measure of so many episodes; raise `TomevalError` unless its shape is (E,)."""
    for part in (totals.top, totals.bottom):
        if part is not None and np.shape(part) != (episodes,):
            raise TomevalError(
                f"measure {name!r}: must give one value per episode, here shape ({episodes},), but "
                f"gave shape {np.shape(part)}"
            )
    return totals


def guarded(of: Callable[[Any, str], Any], name: str) -> Callable[[Any, str], Totals]:
    """Return a function from outside that computes a measure as `Totals`.

    It returns `Totals`, or the array of its values. What it raises becomes one `TomevalError`.
    """

    @wraps(of)
    def computed(played: Any, reference: str) -> Totals:
        try:
            measured = of(played, reference)
            if isinstance(measured, Totals):
                return measured
            return Totals(np.asarray(measured, np.float64))
        except Exception as error:
            why = " ".join(f"{type(error).__name__}: {error}".split()).rstrip(": ")
            raise TomevalError(f"measure {name!r} cannot be computed: {why}") from error

    return computed


def digits_of(column: str) -> int:
    """Return how many decimals a column with an interval has at most."""
    if is_score(column):
        return 0
    return 2 if column.endswith("_percent") else 3


def registry(*measures: Measure) -> dict[str, Measure]:
    """Return measures by name, which must be unique."""
    by_name = {measure.name: measure for measure in measures}
    if len(by_name) < len(measures):
        raise ValueError("two measures share a name")
    return by_name

"""What a measure is: its name, how people read it, and how it comes out of what was played."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


class Totals(NamedTuple):
    """A measure by episode, each array of shape (E,).

    Attributes
    ----------
    top : ndarray
    bottom : ndarray or None
        None: `top` holds the measure of every episode, and what is reported is its mean. Else
        `top` / `bottom` is an episode's value, and episodes with a `bottom` of 0 have none.
    share : bool
        `top` of `bottom` items are hits, and what is reported is the share of all items, in
        percent: sum(top) / sum(bottom). Else it is the mean over the episodes that have a value.
    """

    top: FloatArray
    bottom: FloatArray | None = None
    share: bool = False

    @property
    def values(self) -> FloatArray:
        """The measure of every episode alone, shape (E,), in its unit; NaN where it has none."""
        if self.bottom is None:
            return self.top
        missing = np.full(len(self.top), np.nan)
        found = np.divide(self.top, self.bottom, missing, where=self.bottom > 0)
        result: FloatArray = 100.0 * found if self.share else found
        return result


@dataclass(frozen=True)
class Measure:
    """One measure; everything that is said of it anywhere is said here.

    Attributes
    ----------
    name : str
        Column of tables and exports; ends in ``_percent`` where the unit is percent.
    heading : str
        What tables and figures print.
    meaning : str
        One or two sentences for readers who do not know it.
    unit : str
        ``%``, ``payoff`` (the game's payoff units), or what is counted, such as ``turns``.
    better : {1, 0, -1}
        Whether more or less is better; 0: neither, because it trades off against others.
    source : str
        Publication and definition, or where it is this project's own.
    of : callable
        Given a cell's played episodes and the reference of regret, its `Totals`.
    spoken : str
        Its name inside a sentence; default: the heading.
    label : str
        A word for it in titles and names of files.
    """

    name: str
    heading: str
    meaning: str
    unit: str
    better: Literal[1, 0, -1]
    source: str
    of: Callable[[Any, str], Totals]
    spoken: str = ""
    label: str = ""

    def __post_init__(self) -> None:
        for field in ("name", "heading", "meaning", "unit", "source"):
            if not getattr(self, field):
                raise ValueError(f"measure {self.name!r}: {field} is empty")
        if self.name.endswith("_percent") != (self.unit == "%"):
            raise ValueError(f"measure {self.name!r}: its name and the unit {self.unit!r} disagree")

    @property
    def digits(self) -> int:
        """Decimals that tables print."""
        return digits_of(self.name)

    @property
    def in_payoffs(self) -> bool:
        """Whether it is in payoff units, so that games differ in its scale."""
        return self.unit == "payoff"

    @property
    def words(self) -> str:
        """Its name inside a sentence."""
        return self.spoken or self.heading

    @property
    def short(self) -> str:
        """Its label; without one the name, without ``_percent``."""
        return self.label or self.name.removesuffix("_percent")


def digits_of(column: str) -> int:
    """Return the decimals of a column with an interval: percents are named as such."""
    return 2 if column.endswith("_percent") else 3


def registry(*measures: Measure) -> dict[str, Measure]:
    """Return measures by name; a name that comes twice is an error."""
    found = {measure.name: measure for measure in measures}
    if len(found) < len(measures):
        raise ValueError("two measures share a name")
    return found

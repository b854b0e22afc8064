"""What a measure is: its name, how people read it, and how it comes out of what was played."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


class Totals(NamedTuple):
    """A measure by episode, each of shape (E,).

    `bottom` is None for a mean over episodes, whose values `top` holds. Else the measure is the
    share sum(top) / sum(bottom): `top` of `bottom` items of each episode are hits.
    """

    top: FloatArray
    bottom: FloatArray | None = None

    @property
    def values(self) -> FloatArray:
        """The measure of every episode alone, shape (E,), in its unit; NaN without items."""
        if self.bottom is None:
            return self.top
        some = self.bottom > 0
        return 100.0 * np.divide(self.top, self.bottom, np.full(len(self.top), np.nan), where=some)


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
    """

    name: str
    heading: str
    meaning: str
    unit: str
    better: Literal[1, 0, -1]
    source: str
    of: Callable[[Any, str], Totals]
    spoken: str = ""

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


def digits_of(column: str) -> int:
    """Return the decimals of a column with an interval: percents are named as such."""
    return 2 if column.endswith("_percent") else 3


def registry(*measures: Measure) -> dict[str, Measure]:
    """Return measures by name; a name that comes twice is an error."""
    found = {measure.name: measure for measure in measures}
    if len(found) < len(measures):
        raise ValueError("two measures share a name")
    return found

"""Knows, uses, plays: scores of a cell of any game, 0 at chance and 100 at the best attainable."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from tomeval.runs.cell import RunCell
from tomeval.runs.measures import Measure, Totals, is_score
from tomeval.statistics.bounded import UNBOUNDED, Bounds

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

CLOSE = 1e-9
"""Values closer than this count as equal."""

LEAST_OTHER = 0.05
"""Acts that lose a smaller part of what random ones do, whatever is said, show no reading."""

_DIGITS = 10
"""Decimals of an episode's part in percent: below them is the rounding of sums of payoffs."""


class Terms(NamedTuple):
    """What a score is the ratio of, by episode, each of shape (E,).

    The score is sum(top) / sum(bottom) over the episodes that are `there`; `least` and `most` are
    the smallest and the largest that `top` can come out at.
    """

    top: FloatArray
    bottom: FloatArray
    least: FloatArray
    most: FloatArray
    there: BoolArray

    @property
    def score(self) -> float:
        """The score, 1 at the best attainable; NaN if there is nothing to attain."""
        bottom = float(self.bottom[self.there].sum())
        return float(self.top[self.there].sum()) / bottom if bottom > 0 else float("nan")

    @property
    def totals(self) -> Totals:
        """Return the score as the ratio that it is."""
        top = np.where(self.there, self.top, np.nan)
        return Totals(top, self.bottom, ratio=True, limits=self.limits)

    @property
    def limits(self) -> Bounds:
        """Between what the score in percent lies on steps of these predictions and states."""
        bottom = float(self.bottom[self.there].sum())
        if not bottom > 0:
            return UNBOUNDED
        low, high = (100 * float(part[self.there].sum()) / bottom for part in self[2:4])
        return round(low, _DIGITS), round(high, _DIGITS)


class Items(NamedTuple):
    """Which of E episodes each decision or probe belongs to, shape (N,), and E."""

    of: IntArray
    episodes: int

    def sums(self, *parts: FloatArray) -> tuple[BoolArray, list[FloatArray]]:
        """Return which episodes have items whose parts, (N,), are all known, and sums over these.

        What is as small as rounding counts as 0.
        """
        among = np.isfinite(parts).all(axis=0)
        there = np.bincount(self.of[among], minlength=self.episodes) > 0
        plain = (np.where(np.abs(part) > CLOSE, part, 0.0)[among] for part in parts)
        sums = (np.bincount(self.of[among], part, self.episodes) for part in plain)
        return there, [one.astype(np.float64) for one in sums]

    def hits(self, hits: FloatArray, chance: FloatArray, attainable: FloatArray) -> Terms:
        """Return the terms of right predictions beyond chance, of those that are attainable."""
        there, sums = self.sums(hits - chance, attainable - chance, 0 * hits - chance, 1 - chance)
        top, bottom, least, most = sums
        return Terms(top, bottom, least, most, there)

    def losses(self, lost: FloatArray, at_chance: FloatArray) -> Terms:
        """Return the terms of what is not lost of what random options lose."""
        there, (gone, bottom) = self.sums(lost, at_chance)
        return Terms(bottom - gone, bottom, np.full(self.episodes, -np.inf), bottom, there)

    def reads(
        self, own: tuple[FloatArray, FloatArray], other: tuple[FloatArray, FloatArray]
    ) -> Totals | None:
        """Return by how much more acts follow what was said than random statements, in percent.

        `own` and `other` are what was lost and what random options lose, held to either: *uses* and
        *other* are 1 less their ratios. The episodes' parts of (uses - other) / (1 - other) are
        linearised: their mean is it, their spread that of the delta method. None if 1 - other is
        below `LEAST_OTHER`.
        """
        there, sums = self.sums(*own, *other)
        lost, chance, lost_other, chance_other = (float(part.sum()) for part in sums)
        if min(chance, lost_other) < CLOSE or lost_other < LEAST_OTHER * chance_other:
            return None
        factor = chance_other / chance / lost_other
        ratio = lost * factor
        slopes = factor, -ratio / chance, -ratio / lost_other, ratio / chance_other
        linear = sum(slope * part for slope, part in zip(slopes, sums, strict=True))
        # The four slopes times the sums are ratio (1 - 1 - 1 + 1): the parts have the mean 0.
        values = np.round(100 * (1 - ratio - int(there.sum()) * linear), _DIGITS)
        return Totals(np.where(there, values, np.nan), there.astype(np.float64))


class Scores(NamedTuple):
    """What the scores of a cell are made of."""

    knows: Terms
    replies: Terms
    plans: Terms
    uses: Terms | None  # None where no prediction can show
    plays: Terms
    more: Mapping[str, Terms | Totals | None] = {}  # other scores by name, such as ``reads``
    asked: bool = True  # whether predictions were asked for
    lacks: str = ""  # the answer if there can be none; empty: there can be one
    remark: str = ""  # what must be known of these scores; empty: nothing
    floor: bool = False  # whether *uses* and *plays* are lower bounds

    def find(self, measure: str) -> Terms | Totals | None:
        """Return a score by the name of its measure."""
        name = measure.removesuffix("_percent")
        found: Terms | Totals | None = (self._asdict() | dict(self.more)).get(name)
        return found


class ScoredCell(RunCell):
    """A cell of a game with scores."""

    # The measures that decide the answer in place of scores, by name.
    deciding: ClassVar[Mapping[str, str]] = {}
    # Whether replies are those to what is said as if certain, so that they can be bad play.
    certain: ClassVar[bool] = True

    @property
    @abstractmethod
    def scores(self) -> Scores:
        """What the scores are made of."""

    def limits(self, name: str, reference: str | None = None) -> Bounds:
        """Return between what a measure lies; a score on the predictions and states met."""
        if not is_score(name):
            return super().limits(name, reference)
        return self.totals(name, reference).limits or UNBOUNDED


MeasureType = TypeVar("MeasureType", bound=Measure)

MEANINGS = {
    "knows": "Does it predict what the others do and who they are? Right predictions beyond "
    "chance, as a share of the best predictor's: 0 at chance, 100 at the best attainable. Above "
    "100: it predicted draws that nobody can foresee.",
    "uses": "Does it act on its own predictions? The larger of replies and plans, where a "
    "prediction matters: 0 at random actions, 100 where it always plays the best reply to its own "
    "prediction.",
    "plays": "How well does it play? Reward beyond that of uniformly random play, as a share of "
    "the best response's: 0 at random play, 100 at the optimum.",
    "replies": "Uses for one step: the share that the action keeps of what the best reply to its "
    "own prediction earns beyond a random action, if the prediction is right.",
    "plans": "Uses over the rest of the game: as replies, with the value of the best that can "
    "follow in place of the step's payoff alone.",
    "reads": "Do its acts follow its own predictions more than random ones? Uses beyond that of "
    "the same acts held to random statements: 0 for who ignores what it says, whatever it does.",
    "knows_used": "Knows, of the questions that a reply follows from: it decides the answer.",
}
"""What the scores mean in every game."""


def score(
    name: str,
    scores: Callable[[Any], Scores],
    of: Callable[..., MeasureType] = Measure,  # type: ignore[assignment]
    **more: Any,
) -> MeasureType:
    """Return the measure of a score, given what returns the scores of played episodes."""

    def totals(played: Any, reference: str) -> Totals:
        found = scores(played)
        terms = found.find(name)
        if terms is None:
            return Totals(np.full(len(found.plays.there), np.nan))
        return terms if isinstance(terms, Totals) else terms.totals

    own: dict[str, Any] = {
        "heading": name.replace("_", " "),
        "source": "this project, docs/measures.md",
    }
    own |= {"meaning": MEANINGS.get(name, ""), "unit": "%", "better": 1, "bounds": UNBOUNDED}
    return of(name=f"{name}_percent", of=totals, **{**own, **more})


Counted = tuple[NDArray[np.int64], NDArray[Any], NDArray[np.bool_]]
"""Which game each item is of, its value, and whether it counts."""

ItemsOf = Callable[[Any], Counted]
"""Returns items, given played games, whose number is their ``games``."""

Head = tuple[str, str, Literal[1, 0, -1]]
"""Name, heading, and which way is better."""


def known(of: NDArray[np.int64], values: NDArray[np.float64]) -> Counted:
    """Return items that count wherever their value is known."""
    return of, np.nan_to_num(values), np.isfinite(values)


def totals_of(items: ItemsOf, share: bool, played: Any, reference: str) -> Totals:
    """Return sums and counts of items by game."""
    of, values, among = items(played)
    top = np.bincount(of[among], weights=values[among], minlength=played.games)
    bottom = np.bincount(of[among], minlength=played.games)
    return Totals(top.astype(np.float64), bottom.astype(np.float64), share)


def percent(head: Head, items: ItemsOf, meaning: str, source: str) -> Measure:
    """Return the share of items that are hits; the name of its column ends in ``_percent``."""
    of, (name, heading, better) = partial(totals_of, items, True), head
    return Measure(f"{name}_percent", heading, meaning, "%", better, source, of)


def mean(
    head: Head, items: ItemsOf, meaning: str, source: str, unit: str = "payoff", **more: Any
) -> Measure:
    """Return the mean over games of the mean of their items; `more` are fields of `Measure`."""
    of, (name, heading, better) = partial(totals_of, items, False), head
    return Measure(name, heading, meaning, unit, better, source, of, **more)

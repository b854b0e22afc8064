"""Early stopping for evals of inspect_ai: when a confidence sequence has decided."""

from __future__ import annotations

import logging
import math
from typing import Any

import numpy as np

from tomeval.core.errors import TomevalError, need, unknown
from tomeval.extensions.inspect.comparing import SHARE, Key, numbers, read_log, scores_of
from tomeval.statistics.bounded import Bounds
from tomeval.statistics.sequences import mean_sequence

logger = logging.getLogger(__name__)


class StopWhenDecided:
    """Stop an eval of inspect_ai when a score is known: ``Task(..., early_stopping=...)``.

    It looks at the 95 % confidence sequence of the mean score, whose intervals hold at all looks
    together, and skips what is left once one leaves `value` out or is narrower than `width`.

    Parameters
    ----------
    score : str, optional
        ``SCORER``, or ``SCORER/KEY`` where a score has several values. Default: the only one.
    value : float, optional
        The mean to leave out. Default: 0 with `against` and no `width`, else none.
    width : float, optional
        From end to end.
    against : path or EvalLog, optional
        A finished log of the task: the mean is that of the differences to it, by sample and epoch;
        samples that it lacks do not count.
    bounds : pair of float
        Between what the score lies.

    Raises
    ------
    TomevalError
        What can never or always hold; a log without the score.

    Notes
    -----
    The sampling unit is a sample. They count in the order of the data set, up to the first that is
    not complete in all its epochs: so the stop depends neither on which are fast nor on how many
    run at once; those that run are finished. The order must say nothing of the scores: shuffle the
    data set, else it warns. After a sample that fails, has no score or one beyond the bounds,
    nothing is stopped. One object serves one task and model.
    """

    def __init__(
        self,
        score: str | None = None,
        *,
        value: float | None = None,
        width: float | None = None,
        against: Any = None,
        bounds: Bounds = SHARE,
    ) -> None:
        self.score, self.value, self.width, self.bounds = score, value, width, bounds
        self._between: Bounds = bounds
        self._other: dict[Key, float] | None = None
        if against is not None:
            found = scores_of(read_log(against), score and [score])
            name = score or (next(iter(found)) if len(found) == 1 else "")
            if name not in found:
                raise unknown("score", name, found, "against")
            self.score = name
            self._other = {key: x for key, x in found[name].items() if not math.isnan(x)}
            for (id, _), one in self._other.items():
                self._check(id, one)
            self.bounds = (bounds[0] - bounds[1], bounds[1] - bounds[0])
            self.value = 0.0 if value is None and width is None else value
        low, high = self.bounds
        if not 0 < high - low < math.inf:
            raise TomevalError(f"bounds: {bounds} must be finite, the first below the second")
        if self.value is None and width is None:
            raise TomevalError("name a value to leave out, or a width")
        if width is not None and not 0 < width < high - low:
            raise TomevalError(f"width: {width:g} is not between 0 and {high - low:g}")
        if self.value is not None and not low <= self.value <= high:
            raise TomevalError(f"value: {self.value:g} is not between {low:g} and {high:g}")
        self._task: Any = None

    async def start_task(self, task: Any, samples: list[Any], epochs: int) -> str:
        """Begin; raises `TomevalError` if it still serves another task or model."""
        key = (task.task_id, str(task.model))
        if self._task not in (None, key):
            raise TomevalError("StopWhenDecided: give every task and model one of its own")
        self._task, self._why, self._trouble = key, "", ""
        self._left, self._epochs = [str(sample.id) for sample in samples][::-1], epochs
        self._values: dict[Key, float] = {}
        self._counted: list[float] = []
        self._ends = (math.nan, math.nan)
        if not task.dataset.shuffled:
            logger.warning("StopWhenDecided: the data set is not shuffled: use --sample-shuffle")
        return "tomeval.StopWhenDecided"

    async def schedule_sample(self, id: str | int, epoch: int) -> Any:
        """Return inspect_ai's `EarlyStop` if it has decided, else None: the sample runs."""
        if not self._why:
            return None
        stop = need("inspect_ai.util", "inspect", "evals of inspect_ai").EarlyStop
        return stop(id=id, epoch=epoch, reason=self._why)

    async def complete_sample(self, id: str | int, epoch: int, scores: dict[str, Any]) -> None:
        """Take the scores of a sample in, and look after every sample that counts now."""
        try:
            every, only = {key: one.score for key, one in scores.items()}, self.score
            found = dict(numbers(every, str(id), only and [only]))
            name = self.score or (next(iter(found)) if len(found) == 1 else "")
            if name not in found:
                raise unknown("score", name, found, f"sample {id!r}")
            self.score, self._values[str(id), epoch] = name, found[name]
            while self._left and not (self._why or self._trouble):
                keys = [(self._left[-1], each) for each in range(1, self._epochs + 1)]
                if any(key not in self._values for key in keys):
                    return
                self._count(self._left.pop(), keys)
        except TomevalError as error:  # what was measured is not lost by it
            self._trouble = f"{error}: nothing more is stopped"
            logger.warning(f"StopWhenDecided: {self._trouble}")

    def _check(self, id: str, *scores: float) -> None:
        low, high = self._between
        if not all(low <= score <= high for score in scores):
            raise TomevalError(f"sample {id!r}: {[*scores]} is not between {low:g} and {high:g}")

    def _count(self, id: str, keys: list[Key]) -> None:
        """Count a sample, the mean over its epochs, and decide."""
        other = dict.fromkeys(keys, 0.0) if self._other is None else self._other
        scores = {key: self._values[key] for key in keys if key in other}
        self._check(id, *scores.values())
        if not scores:
            return
        self._counted.append(float(np.mean([scores[key] - other[key] for key in scores])))
        low, high = self._ends = mean_sequence(self._counted, bounds=self.bounds)
        apart = self.value is not None and not low <= self.value <= high
        if apart or (self.width is not None and high - low < self.width):
            what = self.score if self._other is None else f"difference in {self.score}"
            many = f"after {len(self._counted)} samples"
            self._why = f"the mean {what} lies between {low:.4g} and {high:.4g} {many}"

    async def complete_task(self) -> dict[str, Any]:
        """Return what the log keeps: how many samples count, mean, interval, and why it stopped."""
        self._task = None
        mean = float(np.mean(self._counted)) if self._counted else None
        low, high = (None if math.isnan(end) else end for end in self._ends)
        found = {"score": self.score, "samples": len(self._counted), "mean": mean}
        return {**found, "low": low, "high": high, "stopped": self._why, "note": self._trouble}

"""Estimates of a `Comparison`: means, intervals, tests and resamples of paired values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tomeval.comparing.pairing import Meeting, Pairing
from tomeval.runs.directions import DIRECTIONS
from tomeval.statistics.improvement import improvement, improvement_interval
from tomeval.statistics.paired import (
    ENUMERATED,
    FloatArray,
    bca_ends,
    bootstrap_shifts,
    equivalence_test,
    hedges,
    sign_flip,
    sign_flip_exact,
    standard_error,
    t_interval,
    t_test,
)

_BLOCK = 30_000_000  # bootstrap values held at a time
_ESTIMATES = (
    "level_mean",
    "baseline_mean",
    "difference",
    "t_low",
    "t_high",
    "bca_low",
    "bca_high",
    "p_t",
    "p_permutation",
    "effect_size",
    "improvement",
    "improvement_low",
    "improvement_high",
    "p_equivalence",
)


@dataclass
class PairEstimates:
    """Fills the arrays of a `Comparison`, meeting by meeting."""

    pairing: Pairing
    out: dict[str, FloatArray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        p = self.pairing
        self.first = [0]  # first task of each meeting, in the meetings' order
        for meeting in p.meetings:
            self.first.append(self.first[-1] + len(meeting.tasks))
        self.order = [task for meeting in p.meetings for task in meeting.tasks]
        self.pooled = len(self.order) > 1
        size = len(self.order) + self.pooled
        shape = (size, len(p.levels), len(p.metrics))
        self.out = {name: np.full(shape, np.nan) for name in _ESTIMATES}
        self.identical = np.zeros(shape, dtype=bool)
        self.pairs = np.zeros(shape[:2], dtype=np.int64)
        self.covered = np.zeros(shape[:2], dtype=np.int64)
        self.unpaired = np.zeros(shape[:2], dtype=np.int64)
        self.counts = np.concatenate([m.paired.sum(axis=0) for m in p.meetings])  # (T, L)
        with np.errstate(invalid="ignore", divide="ignore"):
            self.shares = np.where(self.counts > 0, 1 / (self.counts > 0).sum(axis=0), 0.0)
        self.unpaired[[self._scope(t) for t in range(len(self.order))]] = p.alone[self.order]
        if self.pooled:
            self.unpaired[0] = p.alone.sum(axis=0)
        self.signs = [self._differences(m) for m in p.meetings]  # d / n, 0 where unpaired
        self.moves = [self._influences(m, d) for m, d in zip(p.meetings, self.signs, strict=True)]

    def _scope(self, task: int) -> int:
        """Return the scope of a task, given by its place in the meetings' order."""
        return self.order[task] + int(self.pooled)

    @staticmethod
    def _differences(meeting: Meeting) -> FloatArray:
        """Return what each unit adds to each task's mean difference, shape (U, T_g, L, M)."""
        count = np.maximum(meeting.paired.sum(axis=0), 1)[..., None]
        found: FloatArray = np.where(
            meeting.paired[..., None], (meeting.level - meeting.baseline) / count, 0.0
        )
        return found

    @staticmethod
    def _influences(meeting: Meeting, parts: FloatArray) -> FloatArray:
        """Return the influences on the task's mean difference, exactly 0 where all are equal."""
        paired = meeting.paired[..., None]
        count = np.maximum(meeting.paired.sum(axis=0), 1)[..., None]
        first = np.take_along_axis(parts, paired.argmax(axis=0)[None], axis=0)
        shifted = np.where(paired, parts - first, 0.0)  # equal values give exact zeros
        found: FloatArray = np.where(paired, shifted - shifted.sum(axis=0) / count, 0.0)
        tiny = 1e-12 * np.abs(parts).max(axis=0, initial=0.0)
        found[np.broadcast_to(np.abs(found).max(axis=0) <= tiny, found.shape)] = 0.0
        return found

    def estimate(self, margin: FloatArray) -> None:
        """Fill everything that needs no resampling."""
        for level in range(len(self.pairing.levels)):
            deviations, chances = [], []
            for number, meeting in enumerate(self.pairing.meetings):
                for task in range(len(meeting.tasks)):
                    place = self.first[number] + task
                    if self.counts[place, level]:
                        got = self._task(number, task, level, margin)
                        deviations.append(got[0])
                        chances.append((number, task, *got[1:]))
            if self.pooled and chances:
                self._pool(level, margin, deviations, chances)

    def _task(
        self, number: int, task: int, level: int, margin: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Fill one level in one task; return SD, chance of improvement and its influences."""
        meeting = self.pairing.meetings[number]
        rows = meeting.paired[:, task, level]
        count = int(rows.sum())
        at = (self._scope(self.first[number] + task), level)
        x, y = meeting.level[rows, task, level], meeting.baseline[rows, task, level]
        self.pairs[at], self.covered[at] = count, 1
        mean = (x - y)[0] + ((x - y) - (x - y)[0]).mean(axis=0)  # exact where all are equal
        influences = self.moves[number][rows, task, level]
        self._fill(at, x.mean(axis=0), y.mean(axis=0), mean, [influences], margin)
        self.identical[at] = (np.abs(x - y) <= 1e-12).all(axis=0) if count > 1 else False
        deviation = np.sqrt((influences**2).sum(axis=0) * count**2 / max(count - 1, 1))
        self.out["effect_size"][at] = hedges(mean, deviation, count - 1)
        better = np.array([DIRECTIONS.get(name, 0) for name in self.pairing.metrics])
        value, moved = improvement(np.round(x * better, 10), np.round(y * better, 10))
        value = np.where((better == 0) | np.isnan(mean), np.nan, value)
        self._fill_improvement(at, value, [moved], count)
        whole = np.zeros((len(rows), len(better)))
        whole[rows] = moved
        return deviation, value, whole

    def _pool(
        self,
        level: int,
        margin: FloatArray,
        deviations: list[FloatArray],
        chances: list[tuple[int, int, FloatArray, FloatArray]],
    ) -> None:
        """Fill one level over all its tasks, each counting the same."""
        at, share = (0, level), 1 / len(chances)
        means = np.zeros((3, len(self.pairing.metrics)))
        for number, task, _, _ in chances:
            scope = self._scope(self.first[number] + task)
            for row, name in enumerate(("level_mean", "baseline_mean", "difference")):
                means[row] += share * self.out[name][scope, level]
        influences, moved, units = [], [], 0
        for number, meeting in enumerate(self.pairing.meetings):
            rows = meeting.paired[:, :, level].any(axis=1)
            if rows.any():
                units += int(rows.sum())
                influences.append(share * self.moves[number][rows, :, level].sum(axis=1))
                parts = [whole[rows] for n, _, _, whole in chances if n == number]
                moved.append(share * np.sum(parts, axis=0))
        self.pairs[at], self.covered[at] = units, len(chances)
        self._fill(at, means[0], means[1], means[2], influences, margin)
        scopes = [self._scope(self.first[number] + task) for number, task, _, _ in chances]
        self.identical[at] = self.identical[scopes, level].all(axis=0)
        freedom = sum(int(count) - 1 for count in self.counts[:, level] if count)
        variance = np.mean([deviation**2 for deviation in deviations], axis=0)
        self.out["effect_size"][at] = hedges(means[2], np.sqrt(variance), freedom)
        value = np.mean([chance for _, _, chance, _ in chances], axis=0)
        self._fill_improvement(at, value, moved, units)

    def _fill(
        self,
        at: tuple[int, int],
        level: FloatArray,
        baseline: FloatArray,
        mean: FloatArray,
        influences: list[FloatArray],
        margin: FloatArray,
    ) -> None:
        """Fill means, Student's interval and both t tests."""
        standard = standard_error(influences)
        low, high = t_interval(mean, standard)
        found = {
            "level_mean": level,
            "baseline_mean": baseline,
            "difference": mean,
            "t_low": low,
            "t_high": high,
            "p_t": t_test(mean, standard),
            "p_equivalence": equivalence_test(mean, standard, margin),
        }
        for name, values in found.items():
            self.out[name][at] = values

    def _fill_improvement(
        self, at: tuple[int, int], value: FloatArray, moved: list[FloatArray], units: int
    ) -> None:
        """Fill the probability of improvement and its interval."""
        low, high = improvement_interval(value, standard_error(moved), units)
        self.out["improvement"][at] = value
        self.out["improvement_low"][at] = low
        self.out["improvement_high"][at] = high

    def permute(self, resamples: int, rng: np.random.Generator) -> None:
        """Fill the permutation test's p: exact where there are few pairs, else by Monte Carlo."""
        levels, width = len(self.pairing.levels), len(self.pairing.metrics)
        flat = [part.reshape(*part.shape[:2], -1) for part in self.signs]
        shares = np.repeat(self.shares, width, axis=1)
        tasks, pooled = sign_flip([np.nan_to_num(part) for part in flat], shares, resamples, rng)
        p, shape = self.out["p_permutation"], (levels, width)
        for place, row in enumerate(tasks):
            p[self._scope(place)] = row.reshape(shape)
        if self.pooled:
            p[0] = pooled.reshape(shape)
        for scope, level in np.argwhere((self.pairs <= ENUMERATED) & (self.pairs > 1)):
            p[scope, level] = sign_flip_exact(self._parts(int(scope), int(level)))
        p[self.pairs < 2] = np.nan
        p[np.isnan(self.out["difference"])] = np.nan

    def _parts(self, scope: int, level: int) -> FloatArray:
        """Return what every sampling unit of a scope adds to its mean difference, shape (n, M)."""
        found = []
        for number, meeting in enumerate(self.pairing.meetings):
            places = range(self.first[number], self.first[number + 1])
            chosen = [t for t, p in enumerate(places) if scope in (self._scope(p), self.pooled - 1)]
            if chosen:
                shares = np.ones(len(chosen))
                if self.pooled and scope == 0:
                    shares = self.shares[self.first[number] :][chosen, level]
                rows = meeting.paired[:, chosen, level].any(axis=1)
                parts = np.nan_to_num(self.signs[number][rows][:, chosen, level])
                found.append(np.einsum("utm,t->um", parts, shares))
        return np.concatenate(found)

    def bootstrap(self, resamples: int, generator: Any) -> None:
        """Fill the BCa interval, some levels at a time; each block sees the same resamples."""
        levels, width = len(self.pairing.levels), len(self.pairing.metrics)
        size = max(1, _BLOCK // (resamples * (len(self.order) + 1) * width))
        for start in range(0, levels, size):
            block = slice(start, min(start + size, levels))
            moves = [np.nan_to_num(part[:, :, block]) for part in self.moves]
            flat = [part.reshape(len(part), -1) for part in moves]
            shifts = bootstrap_shifts(flat, resamples, generator())
            self._bca(block, moves, shifts)
        undefined = np.isnan(self.out["difference"]) | np.isnan(self.out["t_low"])
        self.out["bca_low"][undefined] = self.out["bca_high"][undefined] = np.nan

    def _bca(self, block: slice, moves: list[FloatArray], shifts: list[FloatArray]) -> None:
        """Fill the BCa interval of a block of levels."""
        shares = self.shares[:, block, None]
        pooled: Any = 0.0
        cubes, squares = np.zeros(moves[0].shape[2:]), np.zeros(moves[0].shape[2:])
        for number, (move, shift) in enumerate(zip(moves, shifts, strict=True)):
            part = shares[self.first[number] : self.first[number + 1]]
            shift = shift.reshape(len(shift), *move.shape[1:])
            for task in range(move.shape[1]):
                scope = self._scope(self.first[number] + task)
                own = move[:, task]
                self._ends(scope, block, shift[:, task], (own**3).sum(0), (own**2).sum(0))
            if self.pooled:
                pooled = pooled + np.einsum(
                    "rtlm,tlm->rlm", shift, np.broadcast_to(part, move.shape[1:])
                )
                unit = (move * part).sum(axis=1)
                cubes += (unit**3).sum(axis=0)
                squares += (unit**2).sum(axis=0)
        if self.pooled:
            self._ends(0, block, pooled, cubes, squares)

    def _ends(
        self, scope: int, block: slice, shifts: FloatArray, cubes: FloatArray, squares: FloatArray
    ) -> None:
        """Fill the BCa interval of one scope."""
        shape = cubes.shape
        low, high = bca_ends(shifts.reshape(len(shifts), -1), cubes.ravel(), squares.ravel())
        mean = self.out["difference"][scope, block]
        self.out["bca_low"][scope, block] = mean + low.reshape(shape)
        self.out["bca_high"][scope, block] = mean + high.reshape(shape)

"""Splits of rows of answers, by trying all of them, and times that were not seen to their end."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from tomeval.extensions.adaptation.turns import MARGIN, last_split, lucky_split, median_time


def by_trying(row, margin):
    """Return the last split with fewest exceptions, or infinity; also if it has no margin."""
    size = len(row)
    exceptions = [sum(row[:k]) + (size - k) - sum(row[k:]) for k in range(size + 1)]
    least = min(exceptions)
    if exceptions[size] == least:  # never right is as good: no turn of any margin above 0
        return math.inf
    last = max(k for k in range(size) if exceptions[k] == least)
    right = sum(row[last:])
    return last if right - (size - last - right) >= margin else math.inf


@pytest.mark.parametrize("margin", [1, 2, 3])
def test_every_row_of_up_to_nine_answers(margin):
    for size in range(10):
        rows = list(itertools.product([0, 1], repeat=size))
        asked = np.ones((len(rows), size))
        found = last_split(np.array(rows).reshape(len(rows), size), asked, asked, margin)
        assert found.tolist() == [by_trying(row, margin) for row in rows]


def test_answers_that_do_not_tell_move_no_turn_but_must_agree_with_it():
    right = np.array([[1, 0, 1, 0, 1, 0, 1, 1]] * 3)
    tells = np.array([[0, 1, 0, 1, 1, 0, 1, 1]] * 2 + [[0, 1, 0, 1, 0, 0, 0, 1]])
    asked = np.array([[1] * 8, [1] * 6 + [0, 0], [1] * 8])
    tells = tells * asked
    # 0 0 1 1 1 tell: the turn is at place 4, with three right ones and a wrong one from there on;
    # without the last two it has no margin; of 0 0 1 the turn is at 7, with one answer
    found = last_split(right, tells, asked, margin=2)
    assert found.tolist() == [4.0, math.inf, math.inf]
    assert last_split(right, tells, asked, margin=1).tolist() == [4.0, math.inf, 7.0]


def by_trying_marked(row, tells):
    """Tell whether a row has a turn, where only some of the answers tell."""
    marked = [k for k, tell in enumerate(tells) if tell]
    exceptions = {
        k: sum(row[j] if j < k else 1 - row[j] for j in marked) for k in [*marked, len(row)]
    }
    last = max(k for k, number in exceptions.items() if number == min(exceptions.values()))
    return 2 * sum(row[last:]) - (len(row) - last) >= MARGIN


def test_the_chance_of_a_guess_where_answers_differ_and_some_do_not_tell():
    rng = np.random.default_rng(4)
    for size in range(9):
        for _ in range(4):
            p = tuple(rng.choice([0.0, 1 / 3, 0.5, 2 / 3, 1.0], size).tolist())
            tells = tuple((rng.random(size) < 0.5).tolist())
            found = 0.0
            for row in itertools.product([0, 1], repeat=size):
                if by_trying_marked(row, tells):
                    found += math.prod(q if hit else 1 - q for q, hit in zip(p, row, strict=True))
            assert lucky_split(p, tells) == pytest.approx(found)


def test_the_chance_of_a_guess_is_the_share_of_all_rows():
    for size, p in itertools.product(range(9), (0.5, 1 / 3)):
        found = 0.0
        for row in itertools.product([0, 1], repeat=size):
            if math.isfinite(by_trying(row, MARGIN)):
                found += p ** sum(row) * (1 - p) ** (size - sum(row))
        assert lucky_split((p,) * size, (True,) * size) == pytest.approx(found)


def kaplan_meier(times, seen):
    """Return the curve and its log-log band at every time, by the textbook's products and sums."""
    left, variance, rows = 1.0, 0.0, []
    for time in sorted(set(times)):
        at_risk = sum(t >= time for t in times)
        events = sum(t == time and s for t, s in zip(times, seen, strict=True))
        left *= 1 - events / at_risk
        low = high = left
        if 0 < left < 1:
            variance += events / (at_risk * (at_risk - events))
            spread = 1.959963984540054 * math.sqrt(variance) / abs(math.log(left))
            low, high = left ** math.exp(spread), left ** math.exp(-spread)
        rows.append((time, left, low, high))
    return rows


def test_medians_by_the_textbook():
    rng = np.random.default_rng(3)
    for size in (5, 12, 40):
        times = rng.geometric(0.2, size).astype(float)
        ends = rng.integers(3, 12, size).astype(float)
        seen = times <= ends
        watched = np.minimum(times, ends)
        rows = kaplan_meier(watched.tolist(), seen.tolist())

        def first(place, rows=rows):
            return next((row[0] for row in rows if row[place] <= 0.5), math.nan)

        found = median_time(watched, seen)
        assert found.median == pytest.approx(first(1), nan_ok=True)
        if rows[-1][1] > 0:  # at 0 the band has no ends
            assert found.low == pytest.approx(first(2), nan_ok=True)
            assert found.high == pytest.approx(first(3), nan_ok=True)


def test_what_the_data_do_not_reach_is_missing():
    assert all(math.isnan(value) for value in median_time([3, 4], [False, False]))
    found = median_time([1, 5, 5, 5], [True, False, False, False])
    assert math.isnan(found.median)
    assert math.isnan(found.high)
    assert median_time([2], [True]).median == 2

"""Allocations, prices and replies against enumeration in plain Python."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tomeval.games.blotto import allocations
from tomeval.games.blotto.allocations import best_reply, result

BOARDS = [(2, 1), (2, 3), (3, 1), (3, 3), (3, 4), (3, 8), (4, 3), (4, 6), (5, 4), (6, 3)]


def listed(fields, units):
    """Return all allocations, found without the module: by trying all numbers."""
    every = itertools.product(range(units + 1), repeat=fields)
    return [a for a in every if sum(a) == units]


@pytest.mark.parametrize(("fields", "units"), BOARDS)
def test_all_allocations_are_listed_once(fields, units):
    expected = listed(fields, units)
    found = [tuple(row) for row in allocations.every(fields, units).tolist()]
    assert found == expected
    assert allocations.count(fields, units) == len(expected)


@pytest.mark.parametrize("short", [0, 100])
def test_a_random_allocation_is_uniform(short, monkeypatch):
    """From a list, and by bars among places, as on boards with a long list."""
    monkeypatch.setattr(allocations, "SHORT", short)
    allocations.listed.cache_clear()
    rng = np.random.default_rng(5)
    every = listed(3, 4)
    counts = dict.fromkeys(every, 0)
    draws = 15_000
    for _ in range(draws):
        counts[allocations.drawn(3, 4, rng)] += 1
    expected = draws / len(every)
    # The statistic has mean 14 and standard deviation 5.3; it exceeds 42 with p < 1e-4.
    assert sum((n - expected) ** 2 / expected for n in counts.values()) < 42
    allocations.listed.cache_clear()


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=7))
def test_results_of_many_rows_are_those_of_each(pairs):
    own, other = (tuple(side) for side in zip(*pairs, strict=True))
    expected = np.sign(sum(np.sign(a - b) for a, b in pairs))
    assert result(own, other) == expected == -result(other, own)
    assert allocations.results(np.array([own, other], np.int16), other).tolist() == [expected, 0]


@pytest.mark.parametrize(("fields", "units"), BOARDS)
def test_replies_are_the_best_ones_by_enumeration(fields, units):
    every = listed(fields, units)
    for other in every:
        most = max(result(a, other) for a in every)
        assert allocations.best_result(other) == most

        def kept(own, other=other, most=most):
            """Return how many units more on every field the reply stands."""
            more = 0
            while result(own, [units + more + 1 for units in other]) >= most:
                more += 1
            return more

        best = [a for a in every if result(a, other) == most]
        expected = min(best, key=lambda a: (-kept(a), sum(u * u for u in a), a))
        assert best_reply(other) == expected


@pytest.mark.parametrize(("fields", "units"), [(3, 20), (5, 50), (7, 20)])
def test_a_near_miss_of_the_statement_is_still_beaten(fields, units):
    """One unit moved between any two fields of the stated allocation loses nothing."""
    stated = allocations.even(fields, units)
    reply = best_reply(stated)
    assert sum(reply) == units
    for giver, taker in itertools.permutations(range(fields), 2):
        truth = list(stated)
        truth[giver] -= 1
        truth[taker] += 1
        assert result(reply, truth) == 1

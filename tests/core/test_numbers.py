from __future__ import annotations

import math

import pytest

from tomeval.core.numbers import decimals, exact, fixed, plus_minus

NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("halves", "most", "digits"),
    [
        ([0.4], 3, 2),  # 0.40: two digits that count
        ([0.031], 3, 3),  # 0.031
        ([49.0], 3, 0),  # 49
        ([0.1, 0.2, 30.0], 3, 2),  # the middle one decides, 0.20
        ([3.0, 30.0, 40.0], 3, 0),  # 30, and 3 is no 0
        ([0.04, 3.0, 40.0], 3, 2),  # the middle one needs 3.0, but 0.04 would be 0.0
        ([0.0004, 3.0], 3, 3),  # never more than `most`
        ([0.0, NAN, INF, 2.0], 3, 1),  # what says nothing
        ([], 2, 2),
        ([0.1], 3, 2),  # powers of ten: 0.10
    ],
)
def test_decimals_follow_the_intervals(halves, most, digits) -> None:
    assert decimals(halves, most) == decimals(reversed(halves), most) == digits


@pytest.mark.parametrize("value", [100.0, 29.0, 0.049, 2.97, -5.05, 0.0, 1e-7, 123456.789])
def test_the_error_of_adding_up_is_taken_off(value) -> None:
    for noise in (0, 1e-16, -3e-15, 5e-13):
        assert exact(value * (1 + noise)) == value
    assert exact(100 * 0.29) == 29
    for other in (value * (1 + 1e-11) + 1e-9, 100 / 3, math.pi):
        assert exact(other) == other
    assert math.isnan(exact(NAN))
    assert exact(INF) == INF


@pytest.mark.parametrize("digits", range(4))
def test_nothing_is_a_negative_zero(digits) -> None:
    for value in (-0.0, -1e-9, -0.4999 * 10**-digits):
        assert fixed(value, digits) == fixed(0.0, digits)
        assert "-" not in plus_minus(value, 0.0, digits)
    assert fixed(-0.51 * 10**-digits, digits).startswith("-")
    assert fixed(-INF, digits) == "-inf"

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tomeval.core.streams import Stream


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 50), st.integers(1, 12), st.integers(1, 23), st.integers(0, 2**63))
def test_blocks_and_episodes_are_the_same_numbers(first, count, draws, seed) -> None:
    stream = Stream.of(seed, "subject", "RPS")
    block = stream.block(first, count, draws)
    assert block.shape == (count, draws)
    for index in range(count):
        alone = stream.episode(first + index, draws).random(draws)
        assert (alone == block[index]).all()


@pytest.mark.parametrize("draws", [1, 3, 4, 5, 100])
def test_stretches_do_not_overlap(draws) -> None:
    # 53-bit doubles: 2,000 stretches of 100 numbers repeat none by chance (about 2e-6 likely).
    numbers = Stream.of(7, "partner").block(0, 2_000, draws)
    assert len(np.unique(numbers)) == numbers.size


def test_seed_and_purpose_change_everything() -> None:
    streams = [
        Stream.of(1, "a", "b"),
        Stream.of(2, "a", "b"),
        Stream.of(1, "a", "c"),
        Stream.of(1, "b", "a"),
        Stream.of(1, "ab"),
        Stream.of(0, "a", "b"),
    ]
    assert len({stream.key for stream in streams}) == len(streams)
    first = [stream.block(0, 1, 8)[0] for stream in streams]
    assert len({row.tobytes() for row in first}) == len(streams)
    assert (Stream.of(1, "a", "b").block(0, 1, 8)[0] == first[0]).all()

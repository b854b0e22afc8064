"""Random streams: one per seat, addressed by episode, so that no result depends on batching."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_PER_BLOCK = 4  # a Philox counter value yields four 64-bit draws


@dataclass(frozen=True)
class Stream:
    """A counter-based stream (Philox) for one seat of one cell.

    Every episode owns a stretch of it, found by arithmetic and not by drawing what comes before:
    episodes can be played in any order, alone or in blocks, with equal results.

    Examples
    --------
    >>> stream = Stream.of(1, "partner", "RPS")
    >>> one = stream.episode(7, draws=100).random(100)
    >>> bool((one == stream.block(5, 4, draws=100)[2]).all())
    True
    """

    key: int

    @classmethod
    def of(cls, seed: int, *purpose: str) -> Stream:
        """Return the stream of a purpose, such as a seat and a cell; purposes never overlap."""
        digest = hashlib.sha256(repr((seed, *purpose)).encode()).digest()
        return cls(int.from_bytes(digest[:16], "little"))

    def episode(self, index: int, draws: int | None = None) -> np.random.Generator:
        """Return the generator of one episode.

        Parameters
        ----------
        index : int
            Episode, from 0.
        draws : int, optional
            The most uniform numbers that an episode takes; stretches then lie side by side, as
            `block` reads them. Without it a stretch has room for 2**66 draws.
        """
        start = [0, index + 1] if draws is None else [index * _blocks(draws), 0]
        counter = [*start, 0, 0]
        return np.random.Generator(np.random.Philox(key=self.key, counter=counter))

    def block(self, first: int, count: int, draws: int) -> NDArray[np.float64]:
        """Return the uniform numbers of `count` episodes from `first` on, shape (count, draws)."""
        width = _blocks(draws)
        generator = np.random.Generator(
            np.random.Philox(key=self.key, counter=[first * width, 0, 0, 0])
        )
        return generator.random((count, width * _PER_BLOCK))[:, :draws]


def _blocks(draws: int) -> int:
    return -(-draws // _PER_BLOCK)

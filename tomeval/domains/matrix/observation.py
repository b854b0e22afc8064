"""What a subject may see: the only input of subjects and, later, of prompt templates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, overload

from tomeval.domains.matrix.games import Labels, MatrixGame


class Joint(NamedTuple):
    """One past step: both actions (indices) and both rewards."""

    own: int
    partner: int
    own_reward: float
    partner_reward: float


class Past(Sequence[Joint]):
    """The first `length` steps of an episode, read-only.

    A view of the episode's growing list: taking one costs the same at every step.
    """

    def __init__(self, steps: list[Joint], length: int) -> None:
        self._steps = steps
        self._length = length

    def __len__(self) -> int:
        """Return the number of past steps."""
        return self._length

    @overload
    def __getitem__(self, index: int) -> Joint: ...
    @overload
    def __getitem__(self, index: slice) -> list[Joint]: ...
    def __getitem__(self, index: int | slice) -> Joint | list[Joint]:
        """Return one step, or a list of steps for a slice."""
        if isinstance(index, slice):
            return [self._steps[i] for i in range(*index.indices(self._length))]
        if not -self._length <= index < self._length:
            raise IndexError("step out of range")
        return self._steps[index % self._length]

    def __iter__(self) -> Iterator[Joint]:
        """Iterate over the steps, oldest first."""
        return (self._steps[i] for i in range(self._length))


@dataclass(frozen=True)
class Observation:
    """What the subject knows when asked: the rules and the past, never the partner's table."""

    game: MatrixGame  # payoffs of both sides, title and wording
    labels: Labels  # what the actions are called in this episode
    round: int  # the current step, from 1
    horizon: int  # the number of steps of the episode
    past: Past  # the steps played so far, ``round - 1`` of them

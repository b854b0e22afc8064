"""How a run goes, for whoever watches it: steps, episodes by what became of them, questions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

Progress = Callable[[int, int], None]
"""Called with (steps done, steps in all); steps of a stopped cell leave the second number."""


@dataclass(frozen=True)
class Counts:
    """What a run holds so far, over all its sessions.

    Attributes
    ----------
    complete, void, failed : int
        Episodes by what became of them.
    asked_again : int
        Attempts beyond the first at a question of a language model.

    Examples
    --------
    >>> print(Counts(12, 3, 0, 40))
    12 complete, 3 void, 0 failed; 40 questions asked again
    """

    complete: int = 0
    void: int = 0
    failed: int = 0
    asked_again: int = 0

    @property
    def ended(self) -> int:
        """Episodes that are over."""
        return self.complete + self.void + self.failed

    def __str__(self) -> str:
        again = "question" if self.asked_again == 1 else "questions"
        return (
            f"{self.complete:,} complete, {self.void:,} void, {self.failed:,} failed; "
            f"{self.asked_again:,} {again} asked again"
        )


class Asked(NamedTuple):
    """What a language model was asked, in sums.

    Attributes
    ----------
    calls, prompt, completion : int
        Replies that came, and their tokens.
    cost : float or None
        In the currency of the price file; None without a price.
    answers, unreadable : int
        Replies that were to hold an answer, and those of them that could not be read.
    """

    calls: int = 0
    prompt: int = 0
    completion: int = 0
    cost: float | None = None
    answers: int = 0
    unreadable: int = 0

    def since(self, before: Asked) -> Asked:
        """Return what was added to earlier sums.

        Examples
        --------
        >>> Asked(3, 30, 12, 0.5, 2, 1).since(Asked(1, 10, 5, None, 1, 1))
        Asked(calls=2, prompt=20, completion=7, cost=0.5, answers=1, unreadable=0)
        """
        return Asked(
            self.calls - before.calls,
            self.prompt - before.prompt,
            self.completion - before.completion,
            None if self.cost is None else self.cost - (before.cost or 0.0),
            self.answers - before.answers,
            self.unreadable - before.unreadable,
        )


OnCounts = Callable[[Counts], None]
"""Called at the start and whenever a count has changed."""

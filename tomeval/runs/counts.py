"""How a run goes, for whoever watches it: steps, episodes by what became of them, questions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

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

    def __str__(self) -> str:
        again = "question" if self.asked_again == 1 else "questions"
        return (
            f"{self.complete:,} complete, {self.void:,} void, {self.failed:,} failed; "
            f"{self.asked_again:,} {again} asked again"
        )


OnCounts = Callable[[Counts], None]
"""Called at the start and whenever a count has changed."""

"""A player in a seat: what it is asked, and what it answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from tomeval.core.outcomes import VALID
from tomeval.domains.arena.game import Action, Ask, Probe, View


@dataclass(frozen=True)
class Try:
    """One refused attempt: one of `game.ERRORS`, and a sentence that says what was wrong."""

    error: str
    text: str


@dataclass(frozen=True)
class Answer:
    """What a player answered to a decision or a probe.

    Attributes
    ----------
    action
        The legal action, or what a probe's answer says; None: there was no legal answer.
    tries : tuple of Try
        Refused attempts, oldest first; not empty if there was no legal answer.
    attempts : int
        How often the question was asked, the legal answer included; 0: never, because what was to
        precede it failed.
    outcome : str
        ``valid``, or one of `tomeval.core.outcomes.INVALID_REASONS`.
    raw : str
        The text of the last reply, if there was one.
    probs : tuple of float or None
        The distribution over `Form.labels` that the action was drawn from; None without one.
    calls : tuple of dict
        What was sent to and received from a model, for the call log.
    details : dict or None
        JSON-ready facts on this answer.
    """

    action: Action | None
    tries: tuple[Try, ...] = ()
    attempts: int = 1
    outcome: str = VALID
    raw: str = ""
    probs: tuple[float, ...] | None = None
    calls: tuple[dict[str, Any], ...] = ()
    details: dict[str, Any] | None = None


class Seat(ABC):
    """A player in one game; made anew for each."""

    def begin(self, view: View[Any]) -> None:  # noqa: B027 (most learn it with the first decision)
        """Learn what the seat was dealt."""

    @abstractmethod
    async def answer(self, view: View[Any], ask: Ask) -> Answer:
        """Decide."""

    async def probe(self, view: View[Any], ask: Ask, probe: Probe) -> Answer | None:
        """Answer a side question on what is seen before a decision; None: it cannot be asked.

        It is never put back into the transcript and changes no later answer.
        """
        return None

    async def observe(self, view: View[Any]) -> tuple[dict[str, Any], ...]:
        """Learn of a stage that is over; return the model calls that this took."""
        return ()

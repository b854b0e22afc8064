"""A player in a seat: what it is asked, what it answers, and what may be told beyond its view."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tomeval.core.outcomes import VALID
from tomeval.domains.arena.game import Action, Ask, Probe, View
from tomeval.models.base import Model


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


Look = Callable[[], Awaitable[Mapping[Probe, Action]]]
"""Looks up the true answers to a decision's probes, as far as they are settled: what others do in
the same stage, and what they were dealt. Probes without a settled answer are left out."""


Beliefs = Callable[[int, str], tuple[float, float]]
"""Returns the two uniform numbers of what is stated beside a decision, from 1, on a question."""


def chance_of_previews(step: int, question: str) -> tuple[float, float]:
    """Return the chance of a game that nobody plays."""
    return 0.5, 0.5


class Door:
    """What an oracle may learn beyond its view; the turn loop puts it there, and sees its use."""

    def __init__(self, beliefs: Beliefs = chance_of_previews) -> None:
        self._look: Look | None = None
        self.beliefs = beliefs
        self.used = False

    def set(self, look: Look) -> None:
        """Put the coming stage behind the door."""
        self._look, self.used = look, False

    async def __call__(self) -> Mapping[Probe, Action]:
        """Open it."""
        self.used = True
        if self._look is None:
            raise RuntimeError("nothing is behind the door yet")
        return await self._look()


@dataclass(frozen=True)
class Chair:
    """Where a player sits for one game.

    Attributes
    ----------
    seat : int
    rng : numpy.random.Generator
        The player's own generator; the only source of chance it may use.
    name : str
        Unique to seed, cell, episode and player: seeds of requests derive from it.
    base : Path or None
        Folder that relative paths among the options start from.
    attempts : int
        How often the table asks until an answer is legal; 0: as often as the player's options say.
    """

    seat: int
    rng: np.random.Generator
    model: Model | None = None
    name: str = ""
    base: Path | None = None
    door: Door = field(default_factory=Door, repr=False)
    attempts: int = 0


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

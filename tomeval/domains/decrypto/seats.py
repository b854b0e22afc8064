"""The three seats: what a player of each role answers, and which probes it may be asked.

Seats are made anew for each game. `encode`, `decode` and `intercept` may be called more than once
in a turn (an oracle tries hints out); only `observe` changes what a seat remembers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tomeval.core.outcomes import Invalid, Said
from tomeval.core.streams import Stream
from tomeval.domains.decrypto.game import (
    CODES,
    Code,
    DecoderView,
    EncoderView,
    Hints,
    InterceptorView,
    Keywords,
    Turn,
)
from tomeval.models.base import Model

ROLES = ("encoder", "decoder", "interceptor")
NAMES = {"encoder": "Alice", "decoder": "Bob", "interceptor": "Eve"}

ENCODER_QUESTIONS = ("eve", "eve_reminded", "bob")
"""Whose guess Alice predicts; ``eve_reminded`` says that Eve does not know the keywords."""

BELIEFS = {
    "beliefs": ("own_belief", "other_belief"),
    "beliefs_in_view": ("own_belief_in_view", "other_belief_in_view"),
}
"""Prompts B and C by the probe that asks them: what you thought; what another interceptor will
think. With ``beliefs_in_view`` they quote Eve's answer to prompt A, with ``beliefs`` they do not.
"""

INTERCEPTOR_QUESTIONS = (
    "keywords",
    *(question for asked in BELIEFS.values() for question in asked),
)
"""Prompt A, which names the keywords, then prompts B and C without and with its answer in view."""

Chance = Callable[[], NDArray[np.float64]]
"""Returns the uniform numbers of one game's beliefs, two per turn, shape (turns, 2)."""


def chance_of_previews() -> NDArray[np.float64]:
    """Return the chance of a game that nobody plays."""
    return np.full((len(CODES), 2), 0.5)


Listen = Callable[[Hints], Awaitable[tuple["Said[Code] | Invalid", "Said[Code] | Invalid"]]]


class Door:
    """What Alice may learn beyond her view; every use is recorded with its turn.

    If Alice gives the hints that she asked about, Bob and Eve are not asked again: what was told is
    what they guess.
    """

    def __init__(self, beliefs: Chance = chance_of_previews) -> None:
        self._listen: Listen | None = None
        self._beliefs = beliefs
        self.used = False

    def set(self, listen: Listen) -> None:
        """Put this turn's listeners behind the door (the turn loop does)."""
        self._listen, self.used = listen, False

    async def guesses(self, hints: Hints) -> tuple[Said[Code] | Invalid, Said[Code] | Invalid]:
        """Return Bob's and Eve's guesses for hints."""
        self.used = True
        if self._listen is None:
            raise RuntimeError("nobody is behind the door yet")
        return await self._listen(hints)

    def belief_chance(self, turn: int) -> tuple[float, float]:
        """Return the two uniform numbers of a turn's belief, see `planting.plant_guess`."""
        right, which = self._beliefs()[turn - 1].tolist()
        return right, which


@dataclass(frozen=True)
class Chair:
    """Where a player sits for one game.

    Attributes
    ----------
    rng : numpy.random.Generator
        The seat's own generator; the only source of chance it may use.
    name : str
        Unique to seed, pairing, game and seat: seeds of requests derive from it.
    base : Path or None
        Folder that relative paths among the options start from.
    """

    role: str
    rng: np.random.Generator
    model: Model | None = None
    name: str = ""
    base: Path | None = None
    door: Door = field(default_factory=Door, repr=False)


class SeatPlayer:
    """What all seats share."""

    def __init__(self, chair: Chair) -> None:
        self.chair = chair

    async def observe(self, turn: Turn) -> tuple[dict[str, Any], ...]:
        """Learn how a turn ended; return the model calls that this took."""
        return ()


class Encoder(SeatPlayer, ABC):
    """Alice."""

    @abstractmethod
    async def encode(self, view: EncoderView) -> Said[Hints] | Invalid:
        """Give three hints for the code."""

    async def predict(
        self, view: EncoderView, hints: Hints, question: str
    ) -> Said[Code] | Invalid | None:
        """Say what a listener will guess for hints that were given.

        A probe: must not change later answers. `question` is one of `ENCODER_QUESTIONS`. None if
        this player cannot be asked.
        """
        return None


class Decoder(SeatPlayer, ABC):
    """Bob."""

    @abstractmethod
    async def decode(self, view: DecoderView) -> Said[Code] | Invalid:
        """Guess the code."""


class Interceptor(SeatPlayer, ABC):
    """Eve."""

    @abstractmethod
    async def intercept(self, view: InterceptorView) -> Said[Code] | Invalid:
        """Guess the code."""

    async def believe(
        self,
        view: InterceptorView,
        question: str,
        revealed: Keywords | None,
        earlier: Keywords | None = None,
    ) -> Said[Keywords] | Invalid | None:
        """Say what the keywords are, were thought to be, or will be thought to be.

        A probe: must not change later answers, even though `revealed` holds the keywords (None for
        the question ``keywords``). `question` is one of `INTERCEPTOR_QUESTIONS`; `earlier` is the
        answer to ``keywords`` for the questions that show it, else None. None if this player cannot
        be asked.
        """
        return None


def seat_stream(seed: int, role: str, player: str) -> Stream:
    """Return the stream of one player in one seat; it does not depend on the other two seats."""
    return Stream.of(seed, "decrypto", role, player)

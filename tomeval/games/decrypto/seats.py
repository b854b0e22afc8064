"""The three seats: what a player answers in each, and which probes it may be asked."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from tomeval.core.outcomes import Invalid, Said
from tomeval.core.streams import Stream
from tomeval.games.chairs import Chair
from tomeval.games.decrypto.game import Turn, View

ROLES = ("encoder", "decoder", "interceptor")
NAMES = {"encoder": "Alice", "decoder": "Bob", "interceptor": "Eve"}
ACTS = {"encoder": "encode", "decoder": "decode", "interceptor": "intercept"}

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


class Seat(ABC):
    """A player in one seat, made anew for each game.

    `answer` may be called more than once in a turn (an oracle tries hints out); only `observe`
    changes what a seat remembers.
    """

    def __init__(self, chair: Chair[str]) -> None:
        self.chair = chair

    @abstractmethod
    async def answer(self, view: View) -> Said[Any] | Invalid:
        """Give three hints for the code, as Alice; guess the code, as Bob or Eve."""

    async def probe(self, view: View, question: str, **shown: Any) -> Said[Any] | Invalid | None:
        """Answer a probe, which must not change later answers; None: it cannot be asked.

        Alice says what a listener will guess for the ``hints`` that are shown: `question` is one of
        `ENCODER_QUESTIONS`. Eve says what the keywords are, were thought to be, or will be thought
        to be: `question` is one of `INTERCEPTOR_QUESTIONS`; all but the first show the
        ``keywords``, and some what she answered ``earlier``.
        """
        return None

    async def observe(self, turn: Turn) -> tuple[dict[str, Any], ...]:
        """Learn how a turn ended; return the model calls that this took."""
        return ()


def seat_stream(seed: int, role: str, player: str) -> Stream:
    """Return the stream of one player in one seat; it does not depend on the other two seats."""
    return Stream.of(seed, "decrypto", role, player)

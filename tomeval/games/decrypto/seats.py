"""The three seats, and which probes each may be asked."""

from __future__ import annotations

from tomeval.core.streams import Stream

ROLES = ("encoder", "decoder", "interceptor")
"""By seat."""

NAMES = {"encoder": "Alice", "decoder": "Bob", "interceptor": "Eve"}
ALICE, BOB, EVE = range(3)
ENCODE, DECODE, INTERCEPT = ACTS = ("encode", "decode", "intercept")
"""The kinds of decision, by seat."""

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


def seat_stream(seed: int, role: str, player: str) -> Stream:
    """Return the stream of one player in one seat; it does not depend on the other two seats."""
    return Stream.of(seed, "decrypto", role, player)

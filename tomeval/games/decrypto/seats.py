"""The three seats, and which probes each may be asked; `stages.Decrypto` says when.

Beliefs (representational change, false belief) after Gopnik and Astington 1988, perspective taking
after Piaget; as Lupu et al. 2025 ask them. A probe never enters a player's transcript.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from tomeval.core.text import ascii_signs

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


class Probes(BaseModel):
    """Which probes are asked.

    Attributes
    ----------
    eve, eve_reminded, bob : bool
        Alice, after her hints of every turn: what Eve will guess, the same with the reminder that
        Eve does not know the keywords, and what Bob will guess.
    beliefs, beliefs_in_view : bool
        Eve, before her guess, from the second turn on: prompt A, then B and C if her answer is
        wrong. The two differ in whether B and C quote her answer to A: with ``beliefs`` it is out
        of her sight, with ``beliefs_in_view`` it is in view. With both, A is asked once.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
    eve: bool = False
    eve_reminded: bool = False
    bob: bool = False
    beliefs: bool = False
    beliefs_in_view: bool = False


def comparable(keywords: Sequence[str]) -> str:
    """Return a list of keywords as a text that is equal for lists that are, place by place.

    Case and outer blanks do not matter.

    Examples
    --------
    >>> comparable(["River ", "a"]) == comparable(("river", "a"))
    True
    >>> comparable(["a", "river"]) == comparable(["river", "a"])
    False
    """
    return json.dumps([ascii_signs(word).strip().casefold() for word in keywords])

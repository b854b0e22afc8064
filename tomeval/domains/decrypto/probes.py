"""The theory-of-mind questions of a turn: which seat is asked which, and when.

Beliefs (representational change, false belief) after Gopnik and Astington 1988, perspective taking
after Piaget; as Lupu et al. 2025 ask them. A probe never enters a player's transcript.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict

from tomeval.core.outcomes import VALID, Invalid, Said
from tomeval.core.text import ascii_signs
from tomeval.domains.decrypto.game import Code, EncoderView, Hints, InterceptorView, Keywords
from tomeval.domains.decrypto.seats import (
    BELIEFS,
    ENCODER_QUESTIONS,
    INTERCEPTOR_QUESTIONS,
    Seat,
)

QUESTIONS = (*ENCODER_QUESTIONS, *INTERCEPTOR_QUESTIONS)
PROBED_SEAT = {
    **dict.fromkeys(ENCODER_QUESTIONS, "encoder"),
    **dict.fromkeys(INTERCEPTOR_QUESTIONS, "interceptor"),
}
"""Who is asked each question."""


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


@dataclass(frozen=True)
class Probed:
    """One probe's answer; `value` is None if it was invalid, and `outcome` says why."""

    question: str
    outcome: str
    value: Code | Keywords | None
    attempts: int = 1
    raw: str = ""
    calls: tuple[dict[str, Any], ...] = ()


async def ask_encoder(
    encoder: Seat, probes: Probes, view: EncoderView, hints: Hints
) -> list[Probed]:
    """Ask Alice what the listeners will guess; players that cannot be asked give no answer."""
    probed = []
    for question in ENCODER_QUESTIONS:
        if getattr(probes, question):
            answer = await encoder.probe(view, question, hints=hints)
            if answer is not None:
                probed.append(_probed(question, answer))
    return probed


async def ask_interceptor(
    interceptor: Seat, probes: Probes, view: InterceptorView, truth: Keywords
) -> list[Probed]:
    """Ask Eve for her beliefs; B and C only if A is readable and wrong."""
    asked = [name for name in BELIEFS if getattr(probes, name)]
    if not asked or not view.turns:
        return []
    answer = await interceptor.probe(view, "keywords")
    if answer is None:
        return []
    probed = [_probed("keywords", answer)]
    if isinstance(answer, Said) and comparable(answer.value) != comparable(truth):
        for name in asked:
            shown = {"earlier": answer.value} if name == "beliefs_in_view" else {}
            for question in BELIEFS[name]:
                said = await interceptor.probe(view, question, keywords=truth, **shown)
                if said is not None:
                    probed.append(_probed(question, said))
    return probed


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


def _probed(question: str, answer: Said[Any] | Invalid) -> Probed:
    if isinstance(answer, Said):
        return Probed(question, VALID, answer.value, answer.attempts, calls=answer.calls)
    return Probed(question, answer.reason, None, answer.attempts, answer.raw, answer.calls)

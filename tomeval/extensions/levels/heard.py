"""The turns of games as their seats saw them, read back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from tomeval.core.outcomes import VALID
from tomeval.domains.decrypto.game import Code, Hints, Keywords, NoCode, Rules, Turn
from tomeval.domains.decrypto.play import RECORD, RECORDED
from tomeval.domains.decrypto.results import DecryptoRunCell
from tomeval.domains.decrypto.storing import number_code, number_guess


@dataclass(frozen=True)
class Heard:
    """One finished turn of a complete game, with what was known before.

    Alice's `own` hints need not be those that were heard in a replay; None if they were drawn for
    an invalid answer. A guess of `bob` or `eve` is None if it was drawn or is no code.
    """

    deal: str  # the sampling unit: games with this label share keywords and codes
    keywords: Keywords
    rules: Rules
    past: tuple[Turn, ...]  # without the guesses, which no level makes use of
    code: Code
    hints: Hints
    own: Hints | None
    bob: Code | None
    eve: Code | None

    def guess(self, role: str) -> Code | None:
        """Return a listener's guess."""
        return self.bob if role == "decoder" else self.eve


def heard(cell: DecryptoRunCell) -> Iterator[Heard]:
    """Yield the turns of a cell's complete games."""
    rows = cell.turns(
        "episode", "episodes.keywords", "code", "hints", "bob", "eve",
        "encoder_outcome", "decoder_outcome", "interceptor_outcome", "details",
    )  # fmt: skip
    last, past, rules = None, list[Turn](), Rules(**cell.definition["rules"])
    for episode, keywords, code, hints, bob, eve, *outcomes, details in rows:
        told = json.loads(details) if details else {}
        record = told.get(RECORD)
        if episode != last:
            last, past = episode, []
            if record is not None:
                rules = Rules(**record["game"]["rules"])
        said = [outcome in (VALID, RECORDED) for outcome in outcomes]
        there = tuple(json.loads(hints))
        own = tuple(told.get("encoder", {}).get("given", there))
        guessed = (number_guess(number) for number in (bob, eve))
        codes = [None if isinstance(guess, NoCode) else guess for guess in guessed]
        yield Heard(
            f"{cell.seed} {episode}",
            tuple(json.loads(keywords)),
            rules,
            tuple(past),
            number_code(code),
            cast("Hints", there),
            cast("Hints", own) if said[0] else None,
            codes[0] if said[1] else None,
            codes[1] if said[2] else None,
        )
        before = there if record is None else tuple(record["hints"])
        past.append(Turn(number_code(code), cast("Hints", before), NoCode(), NoCode()))

"""Who a player is told that the other player is, and whether that is true."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from tomeval.core.errors import TomevalError
from tomeval.core.text import check_text, excerpt

NONE = "none"
MOST = 500
"""Characters of a persona."""

PERSONAS = ("persona", "partner_persona")
FRAME = "frame"
TELLS = TRUE, SWAPPED, WITHHELD = ("true", "swapped", "withheld")


def persona_text(name: str, given: Any) -> str:
    """Return what the persona `given` as the option `name` says; empty for ``none``.

    Raises
    ------
    TomevalError
        It is no text of one line and at most `MOST` characters.
    """
    if not isinstance(given, str):
        raise TomevalError(f"{name} must be text, is {json.dumps(given, default=str)}")
    if given == NONE:
        return ""
    check_text(given, name)
    if not given.strip() or "\n" in given or "\t" in given or len(given) > MOST:
        raise TomevalError(
            f"{name} must be one line of text of at most {MOST} characters, is {excerpt(given)!r}; "
            f"{NONE!r} is the default"
        )
    return given.strip()


@dataclass(frozen=True)
class Told:
    """What language models are told of the K partners of a set, in the partners' order.

    Parameters
    ----------
    personas, frames : tuple of str
        Who each partner is, and the story around the game with it, or ``none``: the truth.
    tell : {"true", "swapped", "withheld"}
        Of each partner its own persona and frame; those of the next partner, of the last one those
        of the first; or nothing. A `TomevalError` if swapped tells the truth.
    """

    personas: tuple[str, ...]
    frames: tuple[str, ...]
    tell: str

    def __post_init__(self) -> None:
        if not self.personas:
            raise TomevalError("tell needs partners with a persona, {partner, persona}")
        for persona, frame in zip(self.personas, self.frames, strict=True):
            persona_text(FRAME, frame)
            if not persona_text("persona", persona):
                raise TomevalError(f"persona must say who the other player is, is {persona!r}")
        for which in range(len(self.personas)) if self.tell == SWAPPED else ():
            if self.of(which) == self._own(which):
                raise TomevalError(
                    f"tell = {SWAPPED!r}: partner {which + 1} would be told as it is, as the next "
                    f"one has its persona, {excerpt(self.personas[which])!r}, too"
                )

    @property
    def given(self) -> tuple[str, ...]:
        """The options of a language model that it takes the place of, if the truth is told."""
        return (PERSONAS[1], FRAME) if set(self.frames) != {NONE} else PERSONAS[1:]

    def _own(self, which: int) -> dict[str, str]:
        frame = self.frames[which]
        return {PERSONAS[1]: self.personas[which].strip()} | (
            {FRAME: frame} if frame != NONE else {}
        )

    def of(self, which: int) -> dict[str, str]:
        """Return what is told of a partner, as options of a language model.

        Examples
        --------
        >>> Told(("a rock", "a river"), ("none", "none"), "swapped").of(1)
        {'partner_persona': 'a rock'}
        """
        if self.tell == WITHHELD:
            return {}
        return self._own((which + (self.tell == SWAPPED)) % len(self.personas))

    def __str__(self) -> str:
        """Return it as names of sets have it."""
        one = "; ".join(self._own(0).values()) if len(self.personas) == 1 else self.tell
        return f"told {'nothing' if self.tell == WITHHELD else one}"

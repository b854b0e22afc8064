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
    true : tuple of dict
        What is true of each partner, as options of a language model: its ``partner_persona``, and
        its ``frame`` if it has one.
    tell : {"true", "swapped", "withheld"}
        Of each partner the truth; what is true of the next one, of the last one that of the first;
        or nothing. A `TomevalError` if swapped tells the truth.

    Examples
    --------
    >>> each = {"partner_persona": "a rock"}, {"partner_persona": "a river"}
    >>> Told(each, "swapped").of(1)
    {'partner_persona': 'a rock'}
    """

    true: tuple[dict[str, str], ...]
    tell: str

    def __post_init__(self) -> None:
        if not self.true:
            raise TomevalError("tell needs partners with a persona, {partner, persona}")
        for which, one in enumerate(self.true):
            for name, said in one.items():
                if not persona_text(name.removeprefix("partner_"), said) and name != FRAME:
                    raise TomevalError(f"persona must say who the other player is, is {said!r}")
            if self.tell == SWAPPED and self.of(which) == one:
                raise TomevalError(
                    f"tell = {SWAPPED!r}: partner {which + 1} would be told as it is, as the next "
                    f"one has its persona, {excerpt(one[PERSONAS[1]])!r}, too"
                )

    def of(self, which: int) -> dict[str, str]:
        """Return what is told of a partner, as options of a language model."""
        if self.tell == WITHHELD:
            return {}
        return self.true[(which + (self.tell == SWAPPED)) % len(self.true)]

    def __str__(self) -> str:
        """Return it as names of sets have it."""
        one = "; ".join(self.true[0].values()) if len(self.true) == 1 else self.tell
        return f"told {'nothing' if self.tell == WITHHELD else one}"

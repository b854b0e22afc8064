"""The rules of Decrypto: codes, hints, turns, what each seat may see, and how a game ends.

Rules after Lupu, Willi and Foerster 2025, arXiv 2506.20664; the party game is by Thomas
Dagenais-Lespérance. Nothing here knows of models, word lists or embeddings.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from tomeval.games.decrypto.seats import ALICE, EVE
from tomeval.lexicon.words import MAX_LENGTH, hint_words, is_form

Code = tuple[int, int, int]
Guess = tuple[int, ...]
"""A code, or what a recorded guess that is none consists of; empty: nobody guessed."""
Hints = tuple[str, str, str]
Keywords = tuple[str, str, str, str]

DIGITS = (1, 2, 3, 4)
CODES: tuple[Code, ...] = tuple(itertools.permutations(DIGITS, 3))
"""All 24 codes, in ascending order."""

ENDINGS = {
    "miscommunication": "Eve wins by too many miscommunications",
    "interception": "Eve wins by too many interceptions",
    "both": "Eve wins by miscommunication and interception at once",
    "survived": "Alice and Bob win, as they got through all turns",
}
OUTCOMES = tuple(ENDINGS)
"""How a finished game ended; the first three are Eve's wins."""

UNDECIDED = "undecided"
"""What tables say of a recorded game that was broken off, or whose replay would have gone on."""

MAX_HINT_LENGTH = MAX_LENGTH
_WORD = re.compile(r"[^\W\d_]+(?:['’.][^\W\d_]+)*['’.]?")


class Rules(BaseModel):
    """What may vary between experiments.

    Attributes
    ----------
    turns : int
        Turns after which Alice and Bob have survived, 1 to 24.
    miscommunications, interceptions : int
        How many of either end the game.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
    turns: int = Field(default=8, ge=1, le=len(CODES))
    miscommunications: int = Field(default=2, ge=1, le=24)
    interceptions: int = Field(default=2, ge=1, le=24)


USUAL = Rules()


class Turn(NamedTuple):
    """One finished turn, seen by all: hints in the order of the code, and the guesses."""

    code: Code
    hints: Hints
    bob: Guess
    eve: Guess

    @property
    def miscommunicated(self) -> bool:
        """Whether Bob guessed wrong."""
        return self.bob != self.code

    @property
    def intercepted(self) -> bool:
        """Whether Eve guessed right."""
        return self.eve == self.code


_HIDDEN: Any = None


@dataclass(frozen=True)
class View:
    """What a seat sees; None is what is hidden from it, or not there yet.

    Keywords are for Alice and Bob, the code for Alice alone, the turn's hints for Bob and Eve.
    """

    keywords: Keywords = _HIDDEN
    code: Code = _HIDDEN
    turns: tuple[Turn, ...] = ()
    rules: Rules = USUAL
    hints: Hints = _HIDDEN
    game: Any = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Deal:
    """What chance decides before a game: four keywords, and a code for every turn."""

    keywords: Keywords
    codes: tuple[Code, ...]


@dataclass(frozen=True)
class Game:
    """A game under way. Immutable: `after` returns the next state.

    Examples
    --------
    >>> deal = Deal(("river", "violin", "bread", "winter"), ((2, 4, 1), (1, 2, 3)))
    >>> game = Game(deal, Rules(turns=2))
    >>> hints = ("string", "snow", "bank")
    >>> game = game.after(hints, bob=(2, 4, 1), eve=(1, 2, 3))
    >>> game.view(EVE, ("flow", "bow", "loaf")).turns[0].hints
    ('string', 'snow', 'bank')
    >>> game.after(("flow", "bow", "loaf"), bob=(1, 2, 3), eve=(1, 2, 4)).outcome
    'survived'
    """

    deal: Deal
    rules: Rules = USUAL
    turns: tuple[Turn, ...] = ()
    hints: Hints | None = None  # of the coming turn, once they are given

    @property
    def code(self) -> Code:
        """The code of the coming turn; of the last one once all are over."""
        return self.deal.codes[min(len(self.turns), len(self.deal.codes) - 1)]

    @property
    def outcome(self) -> str | None:
        """One of `OUTCOMES`, or None while the game goes on."""
        return outcome_of(self.turns, self.rules)

    def view(self, seat: int, hints: Hints = _HIDDEN) -> View:
        """Return what a seat may see now; the listeners once hints are given."""
        keywords = _HIDDEN if seat == EVE else self.deal.keywords
        if seat == ALICE:
            return View(keywords, self.code, self.turns, self.rules)
        return View(keywords, turns=self.turns, rules=self.rules, hints=hints)

    def after(self, hints: Hints, bob: Code, eve: Code) -> Game:
        """Return the game after a turn."""
        if self.outcome is not None:
            raise ValueError(f"the game is over: {self.outcome}")
        return Game(self.deal, self.rules, (*self.turns, Turn(self.code, hints, bob, eve)))


def outcome_of(turns: Sequence[Turn], rules: Rules) -> str | None:
    """Return how a game with these turns ended, or None while it goes on.

    ``both``: the two limits were reached on the same turn, which is then the last one.
    """
    wrong = sum(turn.miscommunicated for turn in turns) >= rules.miscommunications
    caught = sum(turn.intercepted for turn in turns) >= rules.interceptions
    if wrong and caught:
        return "both"
    if wrong:
        return "miscommunication"
    if caught:
        return "interception"
    return "survived" if len(turns) >= rules.turns else None


def hint_history(turns: Sequence[Turn]) -> tuple[tuple[str, ...], ...]:
    """Return the past hints of digits 1 to 4, oldest first.

    Examples
    --------
    >>> hint_history([Turn((2, 4, 1), ("string", "snow", "bank"), (2, 4, 1), (1, 2, 3))])
    (('bank',), ('string',), (), ('snow',))
    """
    by_digit: tuple[list[str], ...] = ([], [], [], [])
    for turn in turns:
        for digit, hint in zip(turn.code, turn.hints, strict=True):
            by_digit[digit - 1].append(hint)
    return tuple(tuple(hints) for hints in by_digit)


def as_code(value: object) -> Code | None:
    """Return three different digits 1 to 4 as a code, or None for anything else.

    Examples
    --------
    >>> as_code([4, 1, 2]), as_code([1, 1, 2]), as_code([True, 2, 3]), as_code("123")
    ((4, 1, 2), None, None, None)
    """
    if not isinstance(value, list | tuple) or len(value) != 3:
        return None
    if any(type(digit) is not int or digit not in DIGITS for digit in value):
        return None
    return tuple(value) if len(set(value)) == 3 else None


def code_number(code: Guess | None) -> int | None:
    """Return a code as a number of three digits; 0 is no guess.

    Examples
    --------
    >>> code_number((2, 4, 1))
    241
    """
    return None if code is None else int("".join(map(str, code)) or 0)


def clean_hint(hint: str) -> str:
    """Return a hint trimmed, with single blanks and composed accents; its case stays."""
    return " ".join(unicodedata.normalize("NFC", hint).split())


def hint_fault(hints: Sequence[str], keywords: Sequence[str]) -> str | None:
    """Return why three hints break the rules, or None if they are legal.

    A hint is one or two words of letters (blanks and hyphens separate words), at most 60
    characters. Neither its words nor both written together may be one of the four keywords, a word
    of one, or a form of either, see `forms.is_form`.

    Examples
    --------
    >>> words = ("river", "violin", "bread", "winter")
    >>> hint_fault(("string", "snow", "bank"), words)
    >>> hint_fault(("string", "rivers", "bank"), words)
    "hint 2, 'rivers': is a keyword or a form of one ('river')"
    >>> hint_fault(("string", "very cold season", "bank"), words)
    "hint 2, 'very cold season': must be one or two words of letters"
    """
    if len(hints) != 3:
        return f"three hints are needed, not {len(hints)}"
    for number, hint in enumerate(hints, start=1):
        where = f"hint {number}, {hint!r}"
        words = hint_words(hint)
        if (
            not 1 <= len(words) <= 2
            or len(hint) > MAX_HINT_LENGTH
            or not all(_WORD.fullmatch(word) for word in words)
        ):
            return f"{where}: must be one or two words of letters"
        for keyword in keywords:
            if is_form(hint, keyword):
                return f"{where}: is a keyword or a form of one ({keyword!r})"
    return None

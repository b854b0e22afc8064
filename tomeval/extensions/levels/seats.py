"""Players of the ladder of recursion in their seats; see `ladder` for what they compute."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import Said
from tomeval.domains.decrypto.embedding_players import Floats
from tomeval.domains.decrypto.game import (
    CODES,
    Code,
    EncoderView,
    Hints,
    Turn,
    View,
)
from tomeval.domains.decrypto.players import DecryptoPlayer, PlayerKind
from tomeval.domains.decrypto.seats import Seat
from tomeval.domains.seated.seats import Chair
from tomeval.extensions.levels.ladder import (
    LEVELS,
    guesses,
    literal_codes,
    softmax,
)
from tomeval.extensions.levels.scores import (
    bob_scores,
    eve_scores,
    listener_knows,
    worths,
)
from tomeval.lexicon.embeddings import Embedding
from tomeval.lexicon.words import WordLists

DEFAULTS: dict[str, Any] = {
    "embedding": "minilm",
    "level": 1,
    "alpha": 4.0,
}
"""The options of a player of kind ``rsa``."""


@dataclass(frozen=True)
class RSASpec:
    """A player of the ladder.

    Attributes
    ----------
    level : int or sequence of three float
        0, 1 or 2; or the shares of turns in which it plays each level, drawn anew in every turn.
    alpha : float
        Rationality of its own choices.
    """

    embedding: Embedding
    level: Any = 1
    alpha: float = 4.0

    def __post_init__(self) -> None:
        _check_number("alpha", self.alpha)
        _ = self.shares

    @property
    def shares(self) -> tuple[float, ...]:
        """The share of turns in which it plays each level."""
        if isinstance(self.level, int) and not isinstance(self.level, bool):
            if self.level in LEVELS:
                return tuple(float(level == self.level) for level in LEVELS)
        elif isinstance(self.level, list | tuple) and len(self.level) == len(LEVELS):
            for share in self.level:
                _check_number("level: each share", share)
            if math.isclose(sum(self.level), 1.0, abs_tol=1e-9):
                return tuple(float(share) for share in self.level)
        raise TomevalError(
            f"level must be 0, 1 or 2, or the shares of the three, which add up to 1, is "
            f"{self.level!r}"
        )


class _Reasoner(Seat):
    """Draws one number for its level and a few for its choices in every turn of a game.

    All are drawn when the game begins, so that asked again in a turn it answers the same.
    """

    draws = 2

    def __init__(self, chair: Chair[str], spec: RSASpec, lists: WordLists) -> None:
        super().__init__(chair)
        self.spec, self.words = spec, lists.hints
        self._draws = chair.rng.random((len(CODES), self.draws))

    def turn(self, turns: tuple[Turn, ...]) -> tuple[int, Floats, dict[str, Any] | None]:
        """Return the turn's level, the numbers of its choices, and details if levels vary."""
        numbers = self._draws[len(turns)]
        level = drawn(np.array(self.spec.shares), numbers[0])
        return level, numbers[1:], {"level": level} if max(self.spec.shares) < 1 else None


class RSAEncoder(_Reasoner):
    """Alice of a level."""

    draws = 4

    async def answer(self, view: View) -> Said[Hints]:
        """Choose three hints, one after the other."""
        assert isinstance(view, EncoderView)
        level, numbers, details = self.turn(view.turns)
        spec, given = self.spec, list[str]()
        for place in range(3):
            worth = worths(spec.embedding, level, view, tuple(given), self.words)
            if not np.isfinite(worth).any():
                keyword = view.keywords[view.code[place] - 1]
                raise TomevalError(f"the hint bank has no hint left for {keyword!r}")
            given.append(self.words[drawn(softmax(_times(spec.alpha, worth)), numbers[place])])
        one, two, three = given
        return Said((one, two, three), details=details)

    async def probe(self, view: View, question: str, **shown: Any) -> Said[Code] | None:
        """Say what the literal listener that this level reasons about finds most likely."""
        assert isinstance(view, EncoderView)
        spec, hints = self.spec, shown["hints"]
        level, _, _ = self.turn(view.turns)
        if level < (1 if question == "bob" else 2):
            return None
        if question == "bob":
            scores = bob_scores(spec.embedding, view.keywords, hints, self.words)
        else:
            scores = eve_scores(spec.embedding, view.turns, hints, self.words)
        return Said(CODES[int(literal_codes(scores).argmax())])


class RSAListener(_Reasoner):
    """Bob or Eve of a level, who draws a code by its probability."""

    async def answer(self, view: View) -> Said[Code]:
        """Draw a code; noted are the turn's level, if levels vary, and hints without a vector."""
        assert not isinstance(view, EncoderView)
        embedding = self.spec.embedding
        known = listener_knows(embedding, view, self.words)
        level, (number,), details = self.turn(view.turns)
        logs = guesses(level, *known)
        unknown = [hint for hint in view.hints if embedding.hint_vector(hint) is None]
        noted = (details or {}) | ({"unknown_hints": unknown} if unknown else {})
        return Said(CODES[drawn(softmax(self.spec.alpha * logs), number)], details=noted or None)


def _spec(player: DecryptoPlayer, lists: WordLists) -> RSASpec:
    return RSASpec(player.embedding(lists), player.options["level"], player.options["alpha"])


def _short(text: str) -> dict[str, Any]:
    """Return the options of ``rsa:LEVEL`` and ``rsa:LEVEL:EMBEDDING``."""
    level, _, name = text.partition(":")
    if level not in map(str, LEVELS):
        raise TomevalError(f"player 'rsa:{text}': the level is 0, 1 or 2, such as rsa:2")
    return {"level": int(level)} | ({"embedding": name} if name else {})


RSA = PlayerKind(
    "reasons about the other seats to level 0, 1 or 2, over an embedding",
    DEFAULTS,
    _spec,
    {"encoder": RSAEncoder, "decoder": RSAListener, "interceptor": RSAListener},
    _short,
)


def _check_number(name: str, value: object) -> None:
    """Refuse all but finite numbers of at least 0."""
    good = isinstance(value, int | float) and not isinstance(value, bool)
    if not good or not 0 <= value < np.inf:  # type: ignore[operator]
        raise TomevalError(f"{name} must be a number of at least 0, is {value!r}")


def _times(alpha: float, worth: Floats) -> Floats:
    """Return alpha times worths, of which -inf stays -inf also if alpha is 0."""
    return np.where(np.isfinite(worth), alpha * np.where(np.isfinite(worth), worth, 0.0), -np.inf)


def drawn(probabilities: Floats, number: float) -> int:
    """Return the position that a uniform number falls on; never one with probability 0.

    Examples
    --------
    >>> drawn(np.array([0.0, 0.5, 0.5, 0.0]), 0.0), drawn(np.array([0.0, 0.5, 0.5, 0.0]), 0.999)
    (1, 2)
    """
    ends = probabilities.cumsum()
    last = int(np.flatnonzero(probabilities)[-1])  # where rounding would carry beyond the end
    return min(int(np.searchsorted(ends, number * ends[-1], side="right")), last)

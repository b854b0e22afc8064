"""Scripted players of Codenames, in any seat: by word embeddings, and at random.

A clue of theirs is ``(word, number, *words meant)``, the words in the order of the table; only word
and number are told.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tomeval.core.errors import TomevalError
from tomeval.games.codenames.board import members
from tomeval.games.codenames.rules import Codenames
from tomeval.games.codenames.state import CLUE, CodenamesView
from tomeval.games.codenames.worths import Scores, Words, worth
from tomeval.games.game import Action, Ask, Probe
from tomeval.games.policy import Choices, Memory, Policy


def _number(name: str, value: object) -> None:
    """Raise a `TomevalError` unless an option is a finite number from 0."""
    good = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not good or value < 0:  # type: ignore[operator]
        raise TomevalError(f"{name} must be a number of at least 0, is {value!r}")


def _softmax(values: NDArray[np.float64], temperature: float) -> list[float]:
    """Return the probabilities of values, the first of the largest alone at temperature 0."""
    if temperature == 0:
        shares = np.zeros(len(values))
        shares[int(np.argmax(values))] = 1.0
        return [float(p) for p in shares]
    weights = np.exp((values - values.max()) / temperature)
    return [float(p) for p in weights / weights.sum()]


@dataclass(frozen=True)
class EmbeddingPlayer(Policy):
    """Gives and reads clues by the cosines of words.

    As spymaster: a clue for n words means the n own covered words with the highest cosines. It is
    worth the lowest of these, less the highest cosine of a word that is not its own, plus `risk`
    times n. As operative: it takes the words with the highest cosines to the clue, as many as the
    clue's number says, and passes if it does not know the clue.

    Attributes
    ----------
    embedding : str
        One of the shipped embeddings, or a file; see docs/decrypto.md.
    temperature : float
        Of clues. 0: the best clue and number, the first in the bank's order if several are; above
        0: one of the best `breadth`, with probability in proportion to exp(worth / temperature).
    risk : float
        What one more word is worth, in cosine.
    caution : float
        Added to the assassin's cosine.
    breadth : int
        How many pairs of clue and number are drawn from at a temperature above 0.
    guess_temperature : float
        Of guesses. 0: the nearest word, the first on the board if several are; above 0: a word with
        probability in proportion to exp(cosine / guess_temperature).
    extra : bool
        Whether it makes the one guess more than the number that it may.
    """

    about: ClassVar[str] = "gives clues near own words and far from others; takes the nearest words"

    embedding: str = "minilm"
    temperature: float = 0.0
    risk: float = 0.15
    caution: float = 0.05
    breadth: int = 32
    guess_temperature: float = 0.0
    extra: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.embedding, str):
            raise TomevalError(f"embedding must be a name, is {self.embedding!r}")
        for name in ("temperature", "risk", "caution", "guess_temperature"):
            _number(name, getattr(self, name))
        if not isinstance(self.breadth, int) or isinstance(self.breadth, bool) or self.breadth < 1:
            raise TomevalError(f"breadth must be a whole number of at least 1, is {self.breadth!r}")
        if not isinstance(self.extra, bool):
            raise TomevalError(f"extra must be true or false, is {self.extra!r}")

    @property
    def without_chance(self) -> bool:
        """Whether it always takes the best clue and the nearest word."""
        return self.temperature == self.guess_temperature == 0

    def fits(self, game: Codenames) -> None:
        """Open the embedding; words without a vector are a `TomevalError`."""
        game.scores(self.embedding)

    def choices(self, view: CodenamesView, ask: Ask, memory: Memory) -> Choices:
        """Return its clues or its guesses."""
        game = view.game
        if view.masks is not None:
            game.legal_clues(view.words)
            own, assassin = view.masks[view.seat // 2], view.masks[3]
            return _clues(self, game, view.words, view.mask, own, assassin)
        assert view.clue is not None
        clue, left = view.clue[0], view.guesses
        return self._guesses(game.scores(self.embedding), view.words, view.mask, clue, left)

    def _guesses(self, scores: Scores, words: Words, covered: int, clue: str, left: int) -> Choices:
        cosines = scores.clue(words, clue)
        if cosines is None or (left <= 1 and not self.extra):
            return ((1.0, None),)
        places = members(covered)
        if self.guess_temperature == 0:
            return ((1.0, words[max(places, key=cosines.__getitem__)]),)
        weights = _softmax(np.array([cosines[place] for place in places]), self.guess_temperature)
        return tuple((w, words[p]) for w, p in zip(weights, places, strict=True))

    def predict(
        self, view: CodenamesView, ask: Ask, probe: Probe, memory: Memory, rng: np.random.Generator
    ) -> Action | None:
        """Expect others to be like itself: that they take, and mean, what is nearest to the clue.

        The assassin is taken to be the farthest word. None if it does not know the clue.
        """
        game = view.game
        clue = probe.given or view.clue
        assert clue is not None
        cosines = game.scores(self.embedding).clue(view.words, clue[0])
        if cosines is None:
            return None
        order = sorted(members(view.mask), key=lambda place: -cosines[place])
        words = [view.words[place] for place in order]
        if probe.name == "assassin":
            return words[-1]
        if probe.name == "meant":
            return tuple(words[: min(clue[1], view.left[view.team])])
        most = clue[1] + self.extra
        right = next((i for i, word in enumerate(words) if word not in view.own), len(words))
        return tuple(words[: min(most, right + 1, len(words))])


@lru_cache(maxsize=16384)
def _clues(
    policy: EmbeddingPlayer,
    game: Codenames,
    words: Words,
    covered: int,
    own: int,
    assassin: int,
) -> Choices:
    scores = game.scores(policy.embedding)
    mine, others, most = members(own), covered & ~own, game.parameters.number
    table = scores.legal(words)
    values = worth(policy, table, list(mine), others, assassin, most)
    flat = np.ravel(values.T)  # clue by clue, number by number
    count = 1 if policy.temperature == 0 else min(policy.breadth, len(flat))
    places = _highest(flat, count)
    weights = _softmax(flat[places], policy.temperature)
    legal = game.bank.legal(words)
    choices: list[tuple[float, Action]] = []
    for weight, place in zip(weights, places.tolist(), strict=True):
        column, number = divmod(place, len(values))
        nearest = np.argsort(-table[list(mine), column], kind="stable")[: number + 1]
        meant = (words[mine[i]] for i in sorted(nearest.tolist()))
        choices.append((weight, (game.bank.clues[legal[column]], number + 1, *meant)))
    return tuple(choices)


def _highest(values: NDArray[np.float64], count: int) -> NDArray[np.intp]:
    """Return the places of the highest values, highest first, of equals the first."""
    if count == 1:
        return np.array([int(np.argmax(values))])
    least = np.partition(values, len(values) - count)[len(values) - count]
    places = np.flatnonzero(values >= least)
    return np.asarray(places[np.argsort(-values[places], kind="stable")][:count])


@dataclass(frozen=True)
class Uniform(Policy):
    """Legal actions at random: see `Codenames.random`."""

    about: ClassVar[str] = "legal clues of the bank and covered words at random"

    def choices(self, view: CodenamesView, ask: Ask, memory: Memory) -> Choices:
        """Return all legal clues of the bank with all numbers, or all covered words and a pass."""
        if ask.kind == CLUE:
            most = min(view.game.parameters.number, len(view.own))
            return _all_clues(view.game, view.words, most)
        guesses: list[Action] = [*view.covered, None]
        return tuple((1 / len(guesses), guess) for guess in guesses)

    def act(
        self, view: CodenamesView, ask: Ask, memory: Memory, rng: np.random.Generator
    ) -> Action:
        """Draw an action, without listing all of them."""
        return view.game.random(view, ask, rng)


@lru_cache(maxsize=64)
def _all_clues(game: Codenames, words: Words, most: int) -> Choices:
    clues = [game.bank.clues[place] for place in game.legal_clues(words).tolist()]
    weight = 1 / (len(clues) * most)
    return tuple((weight, (clue, n)) for clue in clues for n in range(1, most + 1))


POLICIES: dict[str, type[Policy]] = {"embedding": EmbeddingPlayer, "uniform": Uniform}

"""Scripted players of Codenames, in any seat, by word embeddings.

A clue of theirs is ``(word, number, *words meant)``, the words in the order of the table; only word
and number are told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from pydantic import NonNegativeFloat

from tomeval.games.codenames.clues import Words
from tomeval.games.codenames.rules import Codenames
from tomeval.games.codenames.state import CodenamesView, State, members
from tomeval.games.game import Action, Ask, Probe
from tomeval.games.solver import Choices, Memory, Policy


@dataclass(frozen=True)
class EmbeddingPlayer(Policy):
    """Gives and reads clues by the cosines of words.

    As spymaster: a clue for n words means the n own covered words with the highest cosines. It is
    worth the lowest of these, less the highest cosine of a word that is not its own, plus `risk`
    times n. As operative: it takes the words with the highest cosines to the clue, as many as the
    clue's number says, and passes if it does not know the clue. Of equals it takes the first.
    """

    about: ClassVar[str] = "gives clues near own words and far from others; takes the nearest words"

    embedding: str = "minilm"  # one of the shipped embeddings, or a file; see docs/decrypto.md
    risk: NonNegativeFloat = 0.15  # what one more word is worth, in cosine
    caution: NonNegativeFloat = 0.05  # added to the assassin's cosine
    extra: bool = False  # whether it makes the one guess more than the number that it may

    @property
    def without_chance(self) -> bool:
        """Return true."""
        return True

    def fits(self, game: Codenames) -> None:
        """Open the embedding; words without a vector are a `TomevalError`."""
        game.scores(self.embedding)

    def choices(self, view: CodenamesView, ask: Ask, memory: Memory) -> Choices:
        """Return its one action."""
        return ((1.0, self.action(view)),)

    def action(self, view: CodenamesView) -> Action:
        """Return its clue or its guess."""
        game = view.game
        if view.masks is not None:
            game.legal_clues(view.words)
            own, assassin = view.masks[view.seat // 2], view.masks[3]
            return _clue(self, game, view.words, view.mask, own, assassin)
        assert view.clue is not None
        cosines = game.scores(self.embedding).clue(view.words, view.clue[0])
        if cosines is None or (view.guesses <= 1 and not self.extra):
            return None
        return view.words[max(members(view.mask), key=cosines.__getitem__)]

    def predict(self, view: CodenamesView, ask: Ask, probe: Probe, memory: Memory) -> Action:
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
def _clue(
    policy: EmbeddingPlayer, game: Codenames, words: Words, covered: int, own: int, assassin: int
) -> Action:
    mine, most = list(members(own)), game.parameters.number
    legal, table = game.bank.legal(words), game.scores(policy.embedding).legal(words)
    near = -np.sort(-table[mine].T).T[:most]
    far = table[list(members(covered & ~own & ~assassin))].max(axis=0, initial=-1.0)
    for place in members(assassin):
        far = np.maximum(far, table[place] + policy.caution)
    numbers = np.arange(1, len(near) + 1)
    values = np.ravel((near - far + policy.risk * numbers[:, None]).T)  # clue by clue
    column, number = divmod(int(values.argmax()), len(near))
    nearest = np.argsort(-table[mine, column], kind="stable")[: number + 1]
    meant = (words[mine[i]] for i in sorted(nearest.tolist()))
    return (game.bank.clues[legal[column]], number + 1, *meant)


def greedy_clues(
    game: Codenames, mate: EmbeddingPlayer, state: State, seat: int
) -> Sequence[Action]:
    """Return one clue for every set of words that a greedy operative can be led to take.

    Those come first that find most own words, and of these those without a wrong one; of clues with
    equal outcomes the first of the bank. From as many guesses on as words are left, higher numbers
    change nothing: the operative goes on until the game is over or it is wrong.
    """
    words, own = state.board.words, state.board.masks[seat // 2] & state.covered
    legal = game.legal_clues(words)
    covered = np.array(members(state.covered))
    table = game.scores(mate.embedding).legal(words)[covered]
    order = covered[np.argsort(-table, axis=0, kind="stable")]
    length = np.cumprod((own >> order) & 1, axis=0).sum(axis=0)  # own words before another one
    sets = np.cumsum(1 << order, axis=0)
    found: dict[int, Action] = {}
    most = min(game.parameters.number, max(1, own.bit_count() - mate.extra))
    for number in range(1, most + 1):
        guesses = np.minimum(number + mate.extra, np.minimum(length + 1, len(covered)))
        taken = sets[guesses - 1, np.arange(len(legal))]
        masks, columns = np.unique(taken, return_index=True)
        for mask, column in zip(masks.tolist(), columns.tolist(), strict=True):
            found.setdefault(mask, (game.bank.clues[legal[column]], number))
    return [
        found[mask]
        for mask in sorted(found, key=lambda m: (-(m & own).bit_count(), (m & ~own).bit_count()))
    ]


POLICIES: dict[str, type[Policy]] = {"embedding": EmbeddingPlayer}
"""Scripted players by name."""

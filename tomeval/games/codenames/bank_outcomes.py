"""What an embedding operative takes for every clue of the bank, at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tomeval.games.codenames.board import members
from tomeval.games.codenames.policies import EmbeddingPlayer
from tomeval.games.codenames.rules import Codenames
from tomeval.games.codenames.state import State
from tomeval.games.game import Action
from tomeval.games.solver import Bound

Floats = NDArray[np.float64]


class Outcome(NamedTuple):
    """A clue, with number, and the places of the words that the operative takes, in order."""

    action: tuple[str, int]
    places: tuple[int, ...]


def numbers(game: Codenames, mate: EmbeddingPlayer, own: int) -> range:
    """Return the numbers of clues that can differ in what an operative takes.

    From as many guesses on as words are left, it goes on until the game is over or it is wrong.
    """
    enough = max(1, own - mate.extra)
    return range(1, min(game.parameters.number, enough) + 1)


def greedy_outcomes(
    game: Codenames, mate: EmbeddingPlayer, state: State, seat: int
) -> list[Outcome]:
    """Return one clue for every set of words that a greedy operative can be led to take.

    Those come first that find most own words, and of these those without a wrong one; of clues with
    equal outcomes the first of the bank.
    """
    words, own = state.board.words, state.board.masks[seat // 2] & state.covered
    legal = game.legal_clues(words)
    covered = np.array(members(state.covered))
    table = game.scores(mate.embedding).legal(words)[covered]
    order = covered[np.argsort(-table, axis=0, kind="stable")]
    right = (own >> order) & 1
    length = np.cumprod(right, axis=0).sum(axis=0)  # own words before the first other one
    sets = np.cumsum(1 << order, axis=0)
    by_mask: dict[int, Outcome] = {}
    for number in numbers(game, mate, own.bit_count()):
        guesses = np.minimum(number + mate.extra, np.minimum(length + 1, len(covered)))
        taken = sets[guesses - 1, np.arange(len(legal))]
        masks, first = np.unique(taken, return_index=True)
        for mask, column in zip(masks.tolist(), first.tolist(), strict=True):
            if mask not in by_mask:
                places = tuple(order[: guesses[column], column].tolist())
                by_mask[mask] = Outcome((game.bank.clues[legal[column]], number), places)

    def rank(outcome: Outcome) -> tuple[int, int]:
        mine = sum(own >> place & 1 for place in outcome.places)
        return -mine, len(outcome.places) - mine

    return sorted(by_mask.values(), key=rank)


def softmax_values(
    game: Codenames,
    mate: EmbeddingPlayer,
    state: State,
    seat: int,
    value: Callable[[tuple[int, ...], int], Bound],
    whole: bool,
) -> tuple[Bound, Action]:
    """Return the highest value over the bank's clues, and a clue with the highest lower bound.

    The operative draws words one by one, so that the chance of a set of own words is a sum over
    the sets with one word less; what it is worth does not depend on the order.

    Parameters
    ----------
    value : callable
        Values the words taken, own ones first and a wrong one last, for a clue of some number.
    whole : bool
        Whether all numbers are tried. If not, only 1: a higher number can only lose more often in
        this turn, so that the upper bound is that of all of them where later turns are open.
    """
    words, own = state.board.words, state.board.masks[seat // 2] & state.covered
    legal = game.legal_clues(words)
    table = game.scores(mate.embedding).legal(words)
    places, mine = members(state.covered), members(own)
    shift = table[list(places)].max(axis=0)
    weights = {place: np.exp((table[place] - shift) / mate.guess_temperature) for place in places}
    reached: dict[int, Floats] = {0: np.ones(len(legal))}
    wrong = np.zeros((2, len(legal)))
    best: list[tuple[Floats, int]] = []
    tried = numbers(game, mate, len(mine)) if whole else range(1, 2)
    for guess in range(1, tried[-1] + mate.extra + 1):
        number = max(1, guess - mate.extra)
        following: dict[int, Floats] = {}
        for taken, chance in reached.items():
            if taken == own:
                following[taken] = chance
                continue
            rest = [place for place in places if not taken >> place & 1]
            share = chance / np.sum([weights[place] for place in rest], axis=0)
            for place in rest:
                step = share * weights[place]
                if own >> place & 1:
                    key = taken | 1 << place
                    following[key] = following[key] + step if key in following else step
                else:
                    wrong += np.multiply.outer(value((*members(taken), place), number), step)
        reached = following
        if guess - mate.extra >= 1:
            ends = [np.multiply.outer(value(members(s), number), p) for s, p in reached.items()]
            best.append((np.sum([wrong, *ends], axis=0), number))
    highest = max(float(bounds[1].max()) for bounds, _ in best)
    lows, number = max(best, key=lambda item: float(item[0][0].max()))
    column = int(lows[0].argmax())
    return Bound(float(lows[0].max()), highest), (game.bank.clues[legal[column]], number)

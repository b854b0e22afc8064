"""Regret against the best reply to a fitted machine: an estimate, for partners without a table.

What the other player did is fitted by a machine of short memory (`memory`), the memory chosen by
held-out likelihood, and the best reply to it takes the place of the best response that is known
where partners are tables. Nothing here looks at such tables, so that it can be held against them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from tomeval.domains.matrix.fitted.memory import (
    Contexts,
    context_count,
    context_path,
    contexts,
    probabilities,
)
from tomeval.domains.matrix.games import MatrixGame
from tomeval.domains.matrix.played import BoolArray, FloatArray, IntArray, Played
from tomeval.domains.matrix.responses import gains

MEMORIES = (0, 1, 2)
"""How many joint moves a fitted machine may know."""

WEIGHTS = (0.0, 0.5, 2.0)
"""How many observations the shorter memory counts for, see `probabilities`."""

FEWEST = 5
"""Complete episodes below which nothing is fitted."""

SEEN_IN = 2
"""Episodes in which a context must occur to count as seen: then all fits without one know it."""

TOLERANCE = 0.05
"""How far apart the least and the most may be for an estimate, as a share of the payoffs' range."""

MAX_CONTEXTS = 1_500
_CELLS = 2_000_000  # numbers of one array held at a time


@dataclass(frozen=True, eq=False)
class Fit:
    """What was fitted to the complete episodes against one player.

    Attributes
    ----------
    memory : int
        The memory with the highest held-out likelihood; -1 if nothing was fitted.
    weight : float
        The weight of the shorter memory that goes with it.
    gain : ndarray, shape (E,)
        By episode, its log-likelihood per step under the machine fitted to all other episodes, less
        that of the best machine of memory 0, in nats.
    seen : float
        Share of the contexts (of at least memory 1) that occurred in `SEEN_IN` episodes or more.
    regret, least, most : ndarray, shape (E,)
        Jackknife pseudo-values: their mean is the estimate without its bias of order 1/E, and their
        spread holds the uncertainty of fit and play together. `regret` is the middle between the
        other two, or NaN where `why` is set.
    why : str
        Why there is no estimate; empty if there is one.
    """

    memory: int
    weight: float
    gain: FloatArray
    seen: float
    regret: FloatArray
    least: FloatArray
    most: FloatArray
    why: str = ""


def _nothing(episodes: int, why: str) -> Fit:
    missing = np.full(episodes, np.nan)
    return Fit(-1, np.nan, missing, np.nan, missing, missing, missing, why)


@dataclass(frozen=True, eq=False)
class _Counts:
    """How often each action of the other followed in each context, by episode and in all."""

    tables: list[Contexts]
    paths: list[IntArray]  # shape (N,) each
    theirs: IntArray
    episode: IntArray  # shape (N,)
    episodes: int
    m: int

    def of(self, first: int, last: int, memory: int) -> list[FloatArray]:
        """Return the counts of episodes `first` to `last`, shapes (last - first, S_k, m)."""
        place = np.flatnonzero((self.episode >= first) & (self.episode < last))
        found = []
        for table, path in zip(self.tables[: memory + 1], self.paths, strict=False):
            flat = (self.episode[place] - first) * table.size + path[place]
            size = (last - first) * table.size * self.m
            counts = np.bincount(flat * self.m + self.theirs[place], minlength=size)
            found.append(counts.reshape(last - first, table.size, self.m).astype(np.float64))
        return found

    def total(self, memory: int) -> list[FloatArray]:
        """Return the counts of all episodes together, shapes (1, S_k, m)."""
        found = []
        for table, path in zip(self.tables[: memory + 1], self.paths, strict=False):
            counts = np.bincount(path * self.m + self.theirs, minlength=table.size * self.m)
            found.append(counts.reshape(1, table.size, self.m).astype(np.float64))
        return found

    def left_out(
        self, memory: int, width: int
    ) -> Iterator[tuple[slice, list[FloatArray], list[FloatArray]]]:
        """Yield some episodes: their counts, and those of all others, for each of them."""
        total = self.total(memory)
        step = max(1, _CELLS // (self.tables[memory].size * width))
        for first in range(0, self.episodes, step):
            last = min(first + step, self.episodes)
            own = self.of(first, last, memory)
            yield slice(first, last), own, [a - b for a, b in zip(total, own, strict=True)]

    def seen(self, memory: int) -> BoolArray:
        """Tell which contexts occurred in `SEEN_IN` episodes or more, shape (S,)."""
        size = self.tables[memory].size
        pairs = np.unique(self.episode * size + self.paths[memory])
        found: BoolArray = np.bincount(pairs % size, minlength=size) >= SEEN_IN
        return found


def _counts(played: Played, memories: Sequence[int]) -> _Counts:
    game = played.game
    tables = [contexts(game.n, game.m, memory) for memory in memories]
    return _Counts(
        tables,
        [context_path(table, played.own, played.partner, played.lengths) for table in tables],
        played.partner,
        np.repeat(np.arange(played.episodes), played.lengths),
        played.episodes,
        game.m,
    )


def _held_out(counts: _Counts, memory: int, weight: float) -> FloatArray:
    """Return each episode's log-likelihood under the fit to all others, shape (E,)."""
    found = np.empty(counts.episodes)
    for place, own, others in counts.left_out(memory, counts.m):
        probs = probabilities(others, counts.tables[: memory + 1], weight)
        happened = own[-1] > 0
        with np.errstate(divide="ignore"):  # what never happened elsewhere: minus infinity
            logs = np.log(probs, out=np.zeros_like(probs), where=happened)
        found[place] = (own[-1] * logs).sum(axis=(1, 2))
    return found


def fit(played: Played) -> Fit:
    """Fit a machine to the other player of some complete episodes, and price the best reply to it.

    Parameters
    ----------
    played : Played
        Episodes against one player. Its table, if it has one, is not looked at.

    Returns
    -------
    Fit
        Without an estimate if there are fewer than `FEWEST` episodes, or if `least` and `most` lie
        further apart than `TOLERANCE` times the range of the own payoffs.

    Notes
    -----
    The reward to compare with is the optimum over the episode's own length against the fitted
    machine, by backward induction. A context that was not seen says nothing of the other: `least`
    takes it to do the worst there, step by step, and `most` the best; where the best reply would
    lead into such contexts the two differ, and the games do not determine the regret. Even a
    machine of memory 0 is judged by the contexts of memory 1: it did not react to the joint moves
    that were played, which says nothing of the others.

    Examples
    --------
    Six steps against one who copies the last move: all its answers are seen, and it is tit for tat,
    worth 50 in six steps. These moves earned 41.

    >>> from tomeval.domains.matrix.games import get_game
    >>> game = get_game("IPD")
    >>> own = np.tile([0, 0, 1, 1, 0, 1], 5)
    >>> theirs = np.tile([0, 0, 0, 1, 1, 0], 5)
    >>> played = Played(game, (), np.zeros(5, dtype=int), np.full(5, 6), own, theirs, None,
    ...                 game.own[own, theirs])
    >>> found = fit(played)
    >>> found.memory, found.weight, round(float(found.regret.mean()), 9)
    (1, 0.0, 1.5)
    """
    if played.episodes < FEWEST:
        said = "episode" if played.episodes == 1 else "episodes"
        return _nothing(
            played.episodes,
            f"{played.episodes} complete {said}; a fit needs at least {FEWEST} that differ",
        )
    joint = played.game.n * played.game.m
    memories = [k for k in MEMORIES if context_count(joint, k) <= MAX_CONTEXTS or k == 0]
    counts = _counts(played, memories)
    likely = {
        (memory, weight): _held_out(counts, memory, weight)
        for memory in memories
        for weight in WEIGHTS
    }
    sums = {pair: float(values.sum()) for pair, values in likely.items()}
    memory, weight = _best(sums)
    plain = _best({pair: total for pair, total in sums.items() if pair[0] == 0})
    gain = (likely[memory, weight] - likely[plain]) / played.lengths
    deep = max(memory, 1)
    if deep >= len(counts.tables):
        return _nothing(played.episodes, "the game has too many actions for a machine of memory 1")
    seen = counts.seen(deep)
    least, most, apart = _pseudo_values(played, counts, memory, weight, seen)
    shown = memory, weight, gain, float(seen.mean())
    if apart <= TOLERANCE * float(np.ptp(played.game.own)):
        return Fit(*shown, (least + most) / 2, least, most)
    missing = np.full(played.episodes, np.nan)
    why = (
        "not determined by these games: the best reply leads to joint moves after which the other "
        f"was never seen; the regret is from {_amount(least.mean())} to {_amount(most.mean())}"
    )
    return Fit(*shown, missing, least, most, why)


def _amount(value: float) -> str:
    return f"{value:.3g}"


def _best(sums: Mapping[tuple[int, float], float]) -> tuple[int, float]:
    """Return the pair of the highest likelihood; of nearly equal ones the first, the simplest."""
    pairs = list(sums)
    best = pairs[0]
    for pair in pairs[1:]:
        if sums[pair] > sums[best] + 1e-9 * max(1.0, abs(sums[pair])):
            best = pair
    return best


def _pseudo_values(
    played: Played, counts: _Counts, memory: int, weight: float, seen: BoolArray
) -> tuple[FloatArray, FloatArray, float]:
    """Return the jackknife's pseudo-values of the least and of the most regret, (E,) each.

    And how far apart the two are in the fit to all episodes.
    """
    game, lengths = played.game, played.lengths
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    reward = np.add.reduceat(played.own_reward, starts) / lengths
    deep, horizon = max(memory, 1), int(lengths.max())
    table = counts.tables[deep]
    # A machine of a shorter memory does the same in all contexts that it cannot tell apart.
    rows = counts.tables[1].shorter if memory == 0 else np.arange(table.size)
    modes: tuple[_Unseen, ...] = ("fitted",) if seen.all() else ("worst", "best")

    def optima(found: list[FloatArray]) -> FloatArray:
        probs = probabilities(found, counts.tables[: memory + 1], weight)[:, rows]
        return np.stack(
            [best_rewards(game, table, probs, seen, horizon, mode)[:, lengths] for mode in modes]
        )  # (modes, F, E): optimum per step over the length of each episode

    whole = optima(counts.total(memory))[:, 0].mean(axis=1)
    without = np.empty((len(modes), played.episodes))
    all_but_one = played.episodes - 1
    for place, _, others in counts.left_out(memory, game.n * game.m):
        values = optima(others)
        episodes = np.arange(place.start, place.stop)
        own = values[:, np.arange(len(episodes)), episodes]
        without[:, place] = (values.sum(axis=2) - own) / all_but_one
    found = played.episodes * whole[:, None] - all_but_one * without - reward
    return found[0], found[-1], float(whole[-1] - whole[0])


_Unseen = Literal["fitted", "worst", "best"]


def best_rewards(
    game: MatrixGame,
    table: Contexts,
    probs: FloatArray,
    seen: BoolArray,
    horizon: int,
    unseen: _Unseen = "fitted",
) -> FloatArray:
    """Return the best expected reward per step against fitted machines, by length of the episode.

    Parameters
    ----------
    probs : ndarray, shape (F, S, m)
        What the other does in each context, for F machines.
    seen : ndarray of bool, shape (S,)
    unseen : {"fitted", "worst", "best"}
        What the other does in contexts that were not seen: what `probs` says, or at every step
        whatever is worst or best for the player, who then chooses first or for both.

    Returns
    -------
    ndarray, shape (F, T + 1)
        Per step of episodes of 0, 1, ..., T steps; that of 0 steps is NaN.
    """
    gain, least = gains(game), float(game.own.min())
    values = np.zeros((len(probs), table.size))
    found = np.full((len(probs), horizon + 1), np.nan)
    chance = probs[:, :, None, :]
    hidden = np.flatnonzero(~seen) if unseen != "fitted" else np.empty(0, dtype=np.int64)
    for step in range(1, horizon + 1):
        worth = gain + values[:, table.next_state]  # (F, S, n, m)
        values = (chance * worth).sum(axis=3).max(axis=2)
        if hidden.size:
            there = worth[:, hidden]
            either = there.min(axis=3) if unseen == "worst" else there.max(axis=3)
            values[:, hidden] = either.max(axis=2)
        found[:, step] = values[:, 0] / step + least
    return found


@lru_cache(maxsize=8)
def fits(played: Played) -> dict[int, Fit]:
    """Return a fit for each partner of a cell, by its place in the set; one if none is known."""
    found = {}
    for which in np.unique(played.which).tolist():
        found[which] = fit(of_partner(played, which))
    return found


def of_partner(played: Played, which: int) -> Played:
    """Return the episodes against one partner of the set."""
    mine = played.which == which
    if mine.all():
        return played
    steps = np.repeat(mine, played.lengths)
    predicted = None if played.predicted is None else played.predicted[steps]
    return Played(
        played.game,
        played.partners,
        played.which[mine],
        played.lengths[mine],
        played.own[steps],
        played.partner[steps],
        predicted,
        played.own_reward[steps],
    )

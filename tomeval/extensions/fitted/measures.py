"""Regret against the best reply to a fitted machine: an estimate, for partners without a table.

What the other player did is fitted by a machine of short memory (`memory`), the memory chosen by
held-out likelihood, and the best reply to it takes the place of the best response that is known
where partners are tables. Nothing here looks at such tables, so that it can be held against them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from tomeval.core.once import once_each
from tomeval.domains.matrix.played import FloatArray, Played
from tomeval.extensions.fitted.memory import Counts, context_count, counts_of, probabilities
from tomeval.extensions.fitted.pricing import Priced
from tomeval.runs.measures import Measure, Totals
from tomeval.runs.outside import Group
from tomeval.statistics import estimate

MEMORIES = (0, 1, 2)
"""How many joint moves a fitted machine may know."""

WEIGHTS = (0.0, 0.5, 2.0)
"""How many observations the shorter memory counts for, see `probabilities`."""

FEWEST = 5
"""Complete episodes below which nothing is fitted."""

TIMES, TOLERANCE = 1.5, 0.1
"""How far an estimate may move within exact limits: in half-widths of its interval, and as a share
of the payoffs' range."""

MAX_CONTEXTS = 1_500


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
        Share of the contexts (of at least memory 1) that occurred.
    regret : ndarray, shape (E,)
        Jackknife pseudo-values: their mean is the estimate without its bias of order 1/E, and their
        spread holds the uncertainty of fit and play together. NaN where `why` is set.
    least, most : ndarray, shape (E,)
        Regret if the other did the worst, or the best, for the player within what the games leave
        open. Limits for the fit, so their spread is that of play alone.
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


def _held_out(counts: Counts, memory: int, weight: float) -> FloatArray:
    """Return each episode's log-likelihood under the fit to all others, shape (E,)."""
    held_out = np.empty(counts.episodes)
    for episode, own, others in counts.left_out(memory, counts.m):
        probs = probabilities(others, counts.tables[: memory + 1], weight)
        happened = own[-1] > 0
        with np.errstate(divide="ignore"):  # what never happened elsewhere: minus infinity
            logs = np.log(probs, out=np.zeros_like(probs), where=happened)
        held_out[episode] = (own[-1] * logs).sum(axis=(1, 2))
    return held_out


def fit(played: Played) -> Fit:
    """Fit a machine to the other player of some complete episodes, and price the best reply to it.

    `played` are episodes against one player, whose table, if it has one, is not looked at. There is
    no estimate with fewer than `FEWEST` episodes, or if it would hang on what the other does in
    contexts in which it was seen too seldom, see `Priced.reach` of `pricing`.

    Notes
    -----
    The reward to compare with is the optimum over the episode's own length against the fitted
    machine, by backward induction. `least` and `most` let the other do, at every step, what is
    worst or best for the player within limits that hold in all contexts at once with probability
    1 - `ERROR`; a context that never occurred has none. Even a machine of memory 0 is judged by
    the contexts of memory 1: it did not react to the joint moves that were played, which says
    nothing of the others.

    Examples
    --------
    Chance against one who copies the last move, which is tit for tat, worth 8.1 per step in 20
    steps:

    >>> from tomeval.domains.matrix.games import get_game
    >>> game = get_game("IPD")
    >>> own = np.random.default_rng(1).integers(2, size=(30, 20))
    >>> moves = own.ravel(), np.pad(own[:, :-1], ((0, 0), (1, 0))).ravel()
    >>> played = Played(game, (), np.zeros(30, dtype=int), np.full(30, 20), *moves, None,
    ...                 game.own[moves])
    >>> found = fit(played)
    >>> best = played.own_reward.mean() + found.regret.mean()
    >>> found.memory, found.weight, round(float(best), 9)
    (1, 0.0, 8.1)
    """
    if played.episodes < FEWEST:
        said = "episode" if played.episodes == 1 else "episodes"
        return _nothing(
            played.episodes,
            f"{played.episodes} complete {said}; a fit needs at least {FEWEST} that differ",
        )
    joint = played.game.n * played.game.m
    memories = [k for k in MEMORIES if context_count(joint, k) <= MAX_CONTEXTS or k == 0]
    counts = counts_of(played, memories)
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
    priced = Priced(played, counts, memory, weight)
    regret = priced.pseudo_values()
    least, most = priced.ends()
    shown = memory, weight, gain, float(priced.seen.mean())
    half, wide = float(estimate(regret).half[0]), float(np.ptp(played.game.own))
    if priced.reach() <= min(TIMES * half, TOLERANCE * wide):
        return Fit(*shown, regret, least, most)
    missing = np.full(played.episodes, np.nan)
    why = (
        "not determined by these games: the best reply hangs on joint moves after which the other "
        f"was seen too seldom; the regret is from {least.mean():.3g} to {most.mean():.3g}"
    )
    return Fit(*shown, missing, least, most, why)


def _best(sums: Mapping[tuple[int, float], float]) -> tuple[int, float]:
    """Return the pair of the highest likelihood; of nearly equal ones the first, the simplest."""
    pairs = list(sums)
    best = pairs[0]
    for pair in pairs[1:]:
        if sums[pair] > sums[best] + 1e-9 * max(1.0, abs(sums[pair])):
            best = pair
    return best


@once_each
def fits(played: Played) -> dict[int, Fit]:
    """Return a fit for each partner of a cell, by its place in the set; one if none is known."""
    return {which: fit(of_partner(played, which)) for which in np.unique(played.which).tolist()}


def of_partner(played: Played, which: int) -> Played:
    """Return the episodes against one partner of the set."""
    mine = played.which == which
    if mine.all():
        return played
    steps = np.repeat(mine, played.lengths)
    return replace(
        played,
        which=played.which[mine],
        lengths=played.lengths[mine],
        own=played.own[steps],
        partner=played.partner[steps],
        predicted=None if played.predicted is None else played.predicted[steps],
        own_reward=played.own_reward[steps],
    )


def fitted_values(played: Played, name: str) -> FloatArray:
    """Return what a `Fit` has as `name` by complete episode, shape (E,)."""
    values = np.full(played.episodes, np.nan)
    for which, one in fits(played).items():
        values[played.which == which] = getattr(one, name)
    return values


def _of(part: str, played: Played, reference: str) -> Totals:
    return Totals(fitted_values(played, part))


_SOURCE = "this project, docs/measures/fitted.md, Fitted partners"


MEASURES = (
    Measure(
        "delta_functional_fitted_per_step",
        "ΔFunctional/T (fitted)",
        "An estimate of regret where the partner has no table: how much less reward per step the "
        "subject earned than the best reply to the machine of short memory that fits the partner "
        "best. Its interval holds the uncertainty of the fit. Missing where it would hang on what "
        "the partner did too seldom: then there are the least and the most only. Lower is better; "
        "in payoff units.",
        "payoff",
        -1,
        _SOURCE,
        partial(_of, "regret"),
        stands_for="delta_functional_per_step",
    ),
    Measure(
        "regret_fitted_least_per_step",
        "regret (fitted), least",
        "The same if the partner did the worst for the subject, step by step, within exact limits "
        "of what these games leave open. In payoff units.",
        "payoff",
        0,
        _SOURCE,
        partial(_of, "least"),
    ),
    Measure(
        "regret_fitted_most_per_step",
        "regret (fitted), most",
        "The same if the partner did the best for the subject within exact limits of what these "
        "games leave open. In payoff units.",
        "payoff",
        0,
        _SOURCE,
        partial(_of, "most"),
    ),
)

GROUPS = (Group("fitted", MEASURES),)

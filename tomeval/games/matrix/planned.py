"""What planning is worth: ΔToM over T steps."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby

import numpy as np

from tomeval.games.matrix.games import MatrixGame
from tomeval.games.matrix.optima import known_best_response, step_weights
from tomeval.games.matrix.partners import Partner
from tomeval.games.matrix.played import BoolArray, FloatArray, IntArray, Played
from tomeval.games.matrix.responses import ROUNDING, gains, payoff_rounding

UNSAID, TAKEN_BACK = -1, -2


@lru_cache(maxsize=4)
def planned_regret(played: Played) -> FloatArray:
    """Return ΔToM/T under the rule `planned` of each episode, shape (E,), in payoff units.

    The regret per step of a player who knows the partner only by the subject's predictions: it
    plays the best response to the partner that they imply against the real one. That is the regret
    of ΔFunctional (reference ``horizon``), an expectation over the partner's draws: at least 0, and
    never more than the worst response loses. Tied actions count by their mean.

    Returns
    -------
    ndarray
        NaN where the partner's table is unknown or plays by more than the last joint move
        (`answers_last_move`), as what is right of it in one step need not be in another; where the
        predictions imply no partner (`implied`); and where they do not say something that is
        needed: the first move, an answer to a joint move that can follow if the partner is as
        believed, or to one that the planner meets. Of a game that goes on with a probability an
        episode can be too short to say that, unless the conditional probe is asked.
    """
    per_step = np.full(played.episodes, np.nan)
    if not played.partners or played.predicted is None:
        return per_step
    on, game = played.continuation, played.game
    for partner, groups in groupby(played.alike(), lambda one: one[0]):
        for many in ([one] for one in groups) if on is None else (list(groups),):
            beliefs = [implied(played, steps) for *_, steps in many]
            machines, which = np.unique(np.concatenate(beliefs), axis=0, return_inverse=True)
            weights = step_weights(many[0][1], on)
            plan = _plan(game, machines, len(weights), on)
            mine = np.concatenate([episodes for *_, episodes, _ in many])
            per_step[mine] = _regret(game, machines, *plan, partner, weights, on)[which.ravel()]
    return per_step


@lru_cache(maxsize=256)
def answers_last_move(partner: Partner) -> FloatArray | None:
    """Return a partner that answers the last joint move, shape (1 + n m, m); None for another.

    Row 0: probabilities of its first move; row 1 + a m + b: of its move after (a, b), 0 where it
    never plays b.
    """
    table = np.zeros((1 + partner.n * partner.m, partner.m))
    table[0] = partner.emissions[partner.start]
    known = np.zeros(len(table), dtype=bool)
    for s, b in np.argwhere(partner.emissions > 0).tolist():
        for a in range(partner.n):
            context, row = 1 + a * partner.m + b, partner.emissions[partner.next_state[s, a, b]]
            if known[context] and np.abs(table[context] - row).max() > ROUNDING:
                return None
            table[context], known[context] = row, True
    return table


def implied(played: Played, steps: IntArray) -> IntArray:
    """Return the partner that each episode's predictions imply, shape (E, 1 + n m).

    `steps`, shape (E, T), are the places of the episodes' steps. ``[e, k]`` is the move in the
    context k, numbered as in `answers_last_move`; below 0: none is implied. It is what the subject
    predicted after that joint move (a, b), or stated in the conditional probe for its action a
    where it predicted b. It must always have been the same, and if the partner was then seen to do
    something else, the subject must have said it again: who has changed its mind, or may have,
    implies no answer. Where nothing was said of (a, b) at all, the probe's answers for a count, on
    the same conditions.
    """
    assert played.predicted is not None
    n, m = played.game.n, played.game.m
    own, theirs, predicted = played.own[steps], played.partner[steps], played.predicted[steps]
    context = np.zeros_like(steps)
    context[:, 1:] = 1 + own[:, :-1] * m + theirs[:, :-1]
    e, t = np.nonzero(predicted >= 0)
    said = [(e, t, context[e, t], predicted[e, t])]
    if played.reactions is None:
        return _settled(said, context, theirs, 1 + n * m)
    stated = played.reactions[steps]
    e, t, a = np.nonzero((stated >= 0) & (predicted >= 0)[..., None])
    move = stated[e, t, a]
    partner_of = _settled(
        [*said, (e, t, 1 + a * m + predicted[e, t], move)], context, theirs, 1 + n * m
    )
    alone = _settled([(e, t, a, move)], np.roll(own, 1, axis=1), theirs, n)
    partner_of[:, 1:] = np.where(
        partner_of[:, 1:] == UNSAID, np.repeat(alone, m, axis=1), partner_of[:, 1:]
    )
    return partner_of


def _settled(
    said: Sequence[tuple[IntArray, ...]], context: IntArray, theirs: IntArray, size: int
) -> IntArray:
    """Return what was always said of each context and never taken back, shape (E, size).

    Parameters
    ----------
    said : sequence of tuple of ndarray
        Episode, step, context and move of every statement.
    context, theirs : ndarray of int, shape (E, T)
        The context of each step, and the move that the partner made in it. Those of the first step,
        which no other repeats, take nothing back.
    """
    count, never = len(context), np.iinfo(np.int64).max
    least, most = np.full((count, size), never), np.full((count, size), UNSAID)
    last, wrong = np.full((count, size), UNSAID), np.full((count, size), never)
    for e, t, k, move in said:
        np.minimum.at(least, (e, k), move)
        np.maximum.at(most, (e, k), move)
        np.maximum.at(last, (e, k), t)
    e, t = np.nonzero(np.take_along_axis(most, context, axis=1) != theirs)
    e, t = e[t > 0], t[t > 0]
    np.minimum.at(wrong, (e, context[e, t]), t)
    stands = (least == most) & ((wrong == never) | (last > wrong))
    return np.where(stands | (most == UNSAID), most, TAKEN_BACK)


def _plan(
    game: MatrixGame, machines: IntArray, horizon: int, continuation: float | None
) -> tuple[BoolArray, BoolArray]:
    """Return the best actions of each step given the move believed now, shape (T, G, n, m).

    And from which contexts on G machines say all that planning the steps that are left needs, shape
    (T, G, 1 + n m). With a continuation one step stands for all, T = 1. Backward induction as in
    `optima`: worth is relative to the best context, and actions tie within the rounding that has
    built up.
    """
    count, size = machines.shape
    payoffs, shape = gains(game), (count, game.n, game.m)
    rows, following = np.arange(count)[:, None], np.maximum(machines, 0)
    ahead, rounding = np.zeros(shape), np.full(count, payoff_rounding(game))
    on, shown = (1.0, horizon) if continuation is None else (continuation, 1)
    # What steps beyond the last one could add, which weigh less than 1e-12 of the first.
    beyond = 0.0 if on == 1.0 else 2e-12 * float(np.ptp(payoffs)) / (1 - on)
    plan = np.zeros((shown, *shape), dtype=np.bool_)
    said = np.zeros((shown, count, size), dtype=np.bool_)
    after = np.ones(shape, dtype=np.bool_)
    for step in range(horizon - 1, -1, -1):
        t, worth = step % shown, payoffs + on * ahead
        top = worth.max(axis=1)  # [machine, move believed now]
        rounding = on * rounding + ROUNDING * np.ptp(worth, axis=(1, 2))
        plan[t] = worth >= top[:, None, :] - rounding[:, None, None] - beyond
        ahead = (top[rows, following[:, 1:]] - top.max(axis=1)[:, None]).reshape(shape)
        every: BoolArray = np.logical_and.reduce(after, axis=1)
        said[t] = (machines >= 0) & every[rows, following]
        after = said[t, :, 1:].reshape(shape)
    return plan, said


def _regret(
    game: MatrixGame,
    machines: IntArray,
    plan: BoolArray,
    said: BoolArray,
    partner: Partner,
    weights: FloatArray,
    continuation: float | None,
) -> FloatArray:
    """Return the regret per step of plans for machines against a partner's table, shape (G,)."""
    truth, (count, size) = answers_last_move(partner), machines.shape
    if truth is None:
        return np.full(count, np.nan)
    rows, least, payoffs = np.arange(count)[:, None], float(game.own.min()), gains(game)
    optimum = known_best_response(game, partner, len(weights), continuation).rewards
    lost, known = np.zeros(count), np.ones(count, dtype=np.bool_)
    mass = np.eye(1, size).repeat(count, axis=0)
    for t, weight in enumerate(weights):
        known &= ~((mass > 0) & ~said[t % len(said)]).any(axis=1)
        best = plan[t % len(plan)]
        chosen = best[rows, :, np.maximum(machines, 0)]  # [machine, context, own action]
        own = mass[..., None] * chosen / chosen.sum(axis=2, keepdims=True)
        joint = np.einsum("gka,kb->gab", own, truth)
        lost += weight * (optimum[t] - (least + (joint * payoffs).sum(axis=(1, 2))))
        mass = np.concatenate([np.zeros((count, 1)), joint.reshape(count, -1)], axis=1)
    result: FloatArray = np.where(known, np.maximum(lost, 0.0), np.nan)
    return result

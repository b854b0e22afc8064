"""What the measures of a task cannot tell, whoever plays it: exact, from the partners' tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from tomeval.domains.matrix.games import MatrixGame
from tomeval.domains.matrix.optima import Plan, best_response
from tomeval.domains.matrix.partners import Partner, PartnerSet, change_of
from tomeval.domains.matrix.responses import misjudgement_cost
from tomeval.runs.notes import first_names

BLIND_SPOTS = {
    "functional": "ΔFunctional/T cannot tell subjects apart in {tasks}: every policy has the same "
    "expected reward there",
    "relevance": "telling the partners of the set apart is not rewarded in {tasks}: the best "
    "response to any of them is best against all (relevance 0)",
    "chance": "ToM % cannot tell subjects apart in {tasks}: every move is equally likely in every "
    "step, so no prediction beats chance",
    "literal": "ToM % cannot tell a model of the partner from a habit in {tasks}: the same "
    "prediction in every step is as good as any",
    "belief": "ΔToM/T (best response) cannot tell subjects apart in {tasks}: no prediction changes "
    "which action is best, so it is 0 whatever is predicted",
    "change": "adaptation cannot be seen in {tasks}: every change of policy comes after the last "
    "step",
}
"""What is said of each kind; ``{tasks}`` stands for where it holds."""

_ROUNDING = 1e-12


@lru_cache(maxsize=1024)
def blind_spots(game: MatrixGame, partners: tuple[Partner, ...], horizon: int) -> tuple[str, ...]:
    """Return what cannot be told in a task.

    Parameters
    ----------
    game : MatrixGame
    partners : tuple of Partner
        The set, each with a positive weight; what the weights are does not matter.
    horizon : int
        Steps per episode, T, at least 1.

    Returns
    -------
    tuple of str
        Keys of `BLIND_SPOTS`, in that order; empty: every measure can tell something.

        - ``functional``: every policy is optimal against every partner, so that the range of
          expected regret has width 0.
        - ``relevance``: two partners or more, and whoever plays any best response to one of them
          loses nothing against another, so that `relevance` is 0. It is not named for a set of one,
          where it is 0 by definition, nor where ``functional`` is.
        - ``chance``: all moves are equally likely in every state that T steps can reach.
        - ``literal``: one action is among the likeliest in all these states, so that always
          predicting it attains the most: a mixture, or one partner that never changes its move. It
          is not named where ``chance`` is.
        - ``belief``: no pair of a prediction and a move that the partners can make costs anything
          under the `best_response` rule.
        - ``change``: some partners have a change of policy (`change_of`), and all of these come
          after step T.

    Examples
    --------
    >>> from tomeval.domains.matrix.games import get_game
    >>> from tomeval.domains.matrix.partner_specs import get_partner_set
    >>> def of(name, partners):
    ...     game = get_game(name)
    ...     return blind_spots(game, get_partner_set(partners, game).partners, 100)
    >>> of("IPD", "single_action"), of("RPS", "single_action")
    (('relevance', 'belief'), ())
    >>> of("RPS", "uniform_random")
    ('functional', 'chance')
    """
    blind = []
    met = [_met(partner, horizon) for partner in partners]
    if all(_every_way_is_best(game, partner, horizon) for partner in partners):
        blind.append("functional")
    elif len(partners) > 1 and _is_irrelevant(game, partners, horizon):
        blind.append("relevance")
    likeliest = np.ones(game.m, dtype=bool)
    played = np.zeros(game.m, dtype=bool)
    for partner, states in zip(partners, met, strict=True):
        rows = partner.emissions[states]
        likeliest &= (rows >= rows.max(axis=1, keepdims=True) - _ROUNDING).all(axis=0)
        played |= (rows > 0).any(axis=0)
    if likeliest.all():
        blind.append("chance")
    elif likeliest.any():
        blind.append("literal")
    if not misjudgement_cost(game, "best_response")[:, played].any():
        blind.append("belief")
    changes = [change.step for change in map(change_of, partners) if change is not None]
    if changes and min(changes) > horizon:
        blind.append("change")
    return tuple(blind)


def blind_sentences(tasks: Iterable[tuple[MatrixGame, PartnerSet, int]]) -> list[str]:
    """Return one sentence per kind that any task has, naming the first of them.

    Examples
    --------
    >>> from tomeval.domains.matrix.games import get_game
    >>> from tomeval.domains.matrix.partner_specs import get_partner_set
    >>> game = get_game("IPD")
    >>> for line in blind_sentences([(game, get_partner_set("tit_for_tat", game), 100)]):
    ...     print(line)
    ΔToM/T (best response) cannot tell subjects apart in IPD, tit_for_tat: no prediction changes \
which action is best, so it is 0 whatever is predicted
    """
    where: dict[str, list[str]] = {kind: [] for kind in BLIND_SPOTS}
    for game, partners, horizon in tasks:
        for kind in blind_spots(game, partners.partners, horizon):
            where[kind].append(f"{game.name}, {partners.name}")
    return [
        BLIND_SPOTS[kind].format(tasks=first_names(names)) for kind, names in where.items() if names
    ]


def _after(partner: Partner, states: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the states that can follow some states, shape (S,)."""
    following = np.zeros_like(states)
    possible = (partner.emissions > 0) & states[:, None]
    s, b = np.nonzero(possible)
    following[partner.next_state[s, :, b].ravel()] = True
    return following


def _steps(partner: Partner, horizon: int) -> Iterator[NDArray[np.bool_]]:
    """Yield which states each step can be in, shape (S,)."""
    states = np.arange(len(partner.emissions)) == partner.start
    for _ in range(horizon):
        yield states
        states = _after(partner, states)


def _met(partner: Partner, horizon: int) -> NDArray[np.bool_]:
    """Return which states an episode can meet, shape (S,); any is met in S steps or never."""
    met = np.zeros(len(partner.emissions), dtype=bool)
    for states in _steps(partner, min(horizon, len(met))):
        met |= states
    return met


def _every_way_is_best(game: MatrixGame, partner: Partner, horizon: int) -> bool:
    """Tell whether every action is optimal wherever T steps can lead.

    It is enough to look at 2 S + 2 steps. Within S of them every state is met with S + 1 or more
    to go. If with k steps to go all actions are worth the same for k = 1 .. S + 1, values are
    r, r + P r, ..., and two actions' next states differ in no P^j r with j < S; by Cayley and
    Hamilton then in none at all, so they are worth the same for every k.
    """
    steps = min(horizon, 2 * len(partner.emissions) + 2)
    plan = best_response(game, partner, steps)
    return all(
        bool(optimal[states].all())
        for optimal, states in zip(plan.optimal, _steps(partner, steps), strict=True)
    )


def _is_irrelevant(game: MatrixGame, partners: tuple[Partner, ...], horizon: int) -> bool:
    """Tell whether every best response to one partner is one to all, so that relevance is 0."""
    plans = [best_response(game, partner, horizon) for partner in partners]
    pairs = permutations(zip(partners, plans, strict=True), 2)
    return all(_loses_nothing(*believed, *actual) for believed, actual in pairs)


def _loses_nothing(believed: Partner, plan: Plan, actual: Partner, optimum: Plan) -> bool:
    """Tell whether the best responses to `believed` are all best against `actual`.

    A policy loses nothing if and only if it takes no action that is not optimal in any pair of
    states that it can reach: what an action loses is never negative.
    """
    pairs = np.zeros((len(believed.emissions), len(actual.emissions)), dtype=bool)
    pairs[believed.start, actual.start] = True
    emitted = actual.emissions > 0
    for mine, best in zip(plan.optimal, optimum.optimal, strict=True):
        played = pairs[:, :, None] & mine[:, None, :]  # (S', S, n)
        if (played & ~best[None]).any():
            return False
        s, r, a, b = np.nonzero(played[..., None] & emitted[None, :, None, :])
        pairs = np.zeros_like(pairs)
        pairs[believed.next_state[s, a, b], actual.next_state[r, a, b]] = True
    return True

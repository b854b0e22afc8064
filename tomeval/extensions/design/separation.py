"""How well machines separate two subjects: the moments of regret, and what follows from them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tomeval.core.errors import TomevalError, unknown
from tomeval.domains.matrix.games import MatrixGame
from tomeval.domains.matrix.machines import Machines
from tomeval.domains.matrix.played import FloatArray
from tomeval.domains.matrix.responses import best_responses, gains
from tomeval.domains.matrix.subject_specs import expand_subject
from tomeval.domains.matrix.subjects.base import check_unit
from tomeval.domains.matrix.subjects.simulated import equilibrium, simulated_policy
from tomeval.runs.domain import Player

CALLS_PER_STEP = 2
"""What a subject stands for: it is asked to act and to predict in every step."""

EXACT = ("simulated", "random", "equilibrium")
"""The kinds of subjects whose answers depend on the partner's move of the step alone."""

_CHUNK = 4096
"""Machines at a time, so that what is worked on stays in the processor's cache."""

_ROUNDING = 1e-12
_CALL = re.compile(r"^\s*([\w.:+ *-]+?)\s*\((.*)\)\s*$", re.DOTALL)


class Subject(NamedTuple):
    """One of the subjects that are to be told apart.

    `policy`, shape (n, m), ``[own, actual]``, is how likely it is to act so, given the partner's
    move of the step.
    """

    name: str
    policy: FloatArray


def read_subject(spec: str, game: MatrixGame) -> Subject:
    """Return a subject as the command line writes it: its kind, and options in brackets.

    Such as ``random`` or ``simulated(p=0.9, q=0.2)``: of a kind whose expectations are known.

    Raises
    ------
    TomevalError
        Another kind of subject, or an unknown option.
    """
    where = f"between {spec!r}"
    call = _CALL.match(spec)
    kind, inside = (call[1], call[2]) if call else (spec.strip(), "")
    if kind not in EXACT:
        raise unknown("subject", kind, EXACT, f"{where}: only these have known expectations")
    try:
        options = tomllib.loads(f"options = {{ {inside} }}")["options"]
    except tomllib.TOMLDecodeError as error:
        raise TomevalError(
            f"{where}: write options as name=value, each once, such as simulated(p=0.9, q=0.5) "
            f"({error})"
        ) from None
    players = expand_subject({"kind": kind, **options}, [], where)
    if len(players) > 1:
        raise TomevalError(f"{where}: stands for {len(players)} subjects; name one at a time")
    return Subject(players[0].name, _policy(players[0], game))


def _policy(player: Player, game: MatrixGame) -> FloatArray:
    """Return the policy of a subject that is one of `EXACT`, shape (n, m)."""
    n, m = game.n, game.m
    if player.kind == "random":
        return np.full((n, m), 1 / n)
    if player.kind == "equilibrium":
        own, _ = equilibrium(game, **player.options)
        return np.repeat(own[:, None], m, axis=1)
    p = check_unit("simulated: p", player.options.get("p", 1.0))
    q = check_unit("simulated: q", player.options.get("q", 1.0))
    said = p * np.eye(m) + (1 - p) / (m - 1) * (1 - np.eye(m))  # [predicted, actual]
    best = best_responses(game)
    acts = np.stack([simulated_policy(best[:, c], q) for c in range(m)], axis=1)
    policy: FloatArray = acts @ said
    return policy


def moments(
    game: MatrixGame, policy: FloatArray, machines: Machines, horizon: int
) -> tuple[FloatArray, FloatArray]:
    """Return mean and variance over episodes of a subject's regret per step, shape (B,) each.

    Less the best response's reward, which is the same for all subjects, so that differences of
    means are those of ΔFunctional/T. `policy` is that of a `Subject`. Backward over the steps: from
    each state, the mean of what is still to come is that of the step and of what follows, and the
    variance is, by the law of total variance, the expected variance of what follows and the
    expected squared distance of step and following mean from their mean.
    """
    lost = -gains(game)
    means, variances = np.empty(machines.total), np.empty(machines.total)
    for first in range(0, machines.total, _CHUNK):
        here = slice(first, first + _CHUNK)
        plays, follows = machines.take(here)
        chance, value = policy.T[plays], lost.T[plays]  # (B, K, n)
        rows = np.arange(len(plays))[:, None, None]
        mean, variance = np.zeros(plays.shape), np.zeros(plays.shape)
        for _ in range(horizon):
            ahead = value + mean[rows, follows]
            before = variance[rows, follows]
            mean = (chance * ahead).sum(axis=2)
            variance = (chance * (before + (ahead - mean[:, :, None]) ** 2)).sum(axis=2)
        means[here], variances[here] = mean[:, 0] / horizon, variance[:, 0] / horizon**2
    return means, variances


class Separation(NamedTuple):
    """What separates two subjects against each of B machines.

    Attributes
    ----------
    mean, spread : ndarray, shape (B,)
        Expectation and standard deviation of the difference of an episode's regret per step, the
        first subject's less the second's; both meet the same partner, and are independent
        otherwise.
    calls : int
        Model calls of one episode of both.
    """

    mean: FloatArray
    spread: FloatArray
    calls: int

    @property
    def scores(self) -> FloatArray:
        """Difference over its standard error per model call; infinite where nothing varies."""
        with np.errstate(divide="ignore", invalid="ignore"):
            scores = np.abs(self.mean) / (self.spread * np.sqrt(self.calls))
        return np.where(self.mean == 0, 0.0, scores)

    def together(self) -> Separation:
        """Return the same for one set of these machines, equally likely.

        An episode's variance is the mean of the members' and the variance of their means.
        """
        variance = (self.spread**2).mean() + self.mean.var()
        return Separation(self.mean.mean()[None], np.sqrt(variance)[None], self.calls)


def separation(
    game: MatrixGame, subjects: Sequence[Subject], machines: Machines, horizon: int
) -> Separation:
    """Return what separates two subjects against machines."""
    (one, v), (other, w) = (moments(game, x.policy, machines, horizon) for x in subjects)
    size = float(np.abs([one, other]).max(initial=0.0))
    mean, variance = one - other, v + w
    return Separation(
        np.where(np.abs(mean) <= _ROUNDING * size, 0.0, mean),
        np.sqrt(np.where(variance <= (_ROUNDING * size) ** 2, 0.0, variance)),
        2 * CALLS_PER_STEP * horizon,
    )

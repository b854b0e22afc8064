"""A subject that states probabilities of known quality: the Bayes predictor, spoilt to order."""

from __future__ import annotations

import json

import numpy as np

from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import Decision
from tomeval.domains.matrix.observation import Joint, Observation
from tomeval.domains.matrix.played import FloatArray
from tomeval.domains.matrix.responses import expected_best
from tomeval.domains.matrix.subjects.base import Seat, Subject, check_unit, pick
from tomeval.extensions.probabilistic.forecasts import likeliest
from tomeval.extensions.probabilistic.posterior import Posterior


class Forecaster(Subject):
    """Predicts as well as can be from the partner set and the moves so far, but for two dials.

    It states `spoilt` Bayes-optimal probabilities, names the likeliest action (ties drawn), and
    plays the best response in expectation to what it states (ties drawn). What it should measure is
    known: ``expected_forecast`` of benchmarks/forecast_truth.py.

    Parameters
    ----------
    temperature : float
        Above 0. 1: calibrated; below 1: too sure of what is likely; above 1: not sure enough.
    shift : float
        Share of every action's probability that is given to the action after it, 0 to 1.
    """

    needs_table = True

    def __init__(self, seat: Seat, temperature: float = 1.0, shift: float = 0.0) -> None:
        super().__init__(seat)
        self.temperature = _check_temperature(temperature)
        self.shift = check_unit("forecaster: shift", shift)
        self._posterior: Posterior | None = None
        self._stated: FloatArray = np.empty(0)

    def act(self, observation: Observation) -> Decision:
        """Make the forecast, and respond to it."""
        partners = self.seat.door.partner_set()  # in every step: that it was told is recorded
        if self._posterior is None:
            self._posterior = Posterior(partners.partners, partners.weights)
        self._stated = spoilt(self._posterior.predict(), self.temperature, self.shift)[0]
        best = expected_best(self.seat.game, self._stated[None])[0]
        return pick(best, self.seat.rng.random())

    def predict(self, observation: Observation, own_action: int | None) -> Decision:
        """State the forecast."""
        named = pick(likeliest(self._stated[None])[0], self.seat.rng.random())
        return Decision(named.action, tuple(float(p) for p in self._stated))

    def observe(self, joint: Joint) -> None:
        """Learn from the step."""
        assert self._posterior is not None  # it acted
        self._posterior.observe(np.array([joint.own]), np.array([joint.partner]))


def spoilt(probs: FloatArray, temperature: float, shift: float) -> FloatArray:
    """Return forecasts sharpened or blunted, then shifted; shape (N, m) as given.

    ``p(b) ** (1 / temperature)``, scaled to a sum of 1; then a share `shift` of each probability is
    moved on to the next action, that of the last one to the first.

    Examples
    --------
    >>> spoilt(np.array([[0.8, 0.2]]), 2.0, 0.0).round(3).tolist()
    [[0.667, 0.333]]
    >>> spoilt(np.array([[1.0, 0.0]]), 1.0, 0.25).tolist()
    [[0.75, 0.25]]
    """
    # Relative to the largest, so that no power is 0 / 0.
    powers = (probs / probs.max(axis=1, keepdims=True)) ** (1 / temperature)
    sharp = powers / powers.sum(axis=1, keepdims=True)
    result: FloatArray = (1 - shift) * sharp + shift * np.roll(sharp, 1, axis=1)
    return result


def _check_temperature(value: object) -> float:
    numeric = isinstance(value, int | float) and not isinstance(value, bool)
    if not numeric or not 0.01 <= value <= 100:  # type: ignore[operator]
        said = json.dumps(value, default=str)
        raise TomevalError(f"forecaster: temperature must be from 0.01 to 100, is {said}")
    return float(value)  # type: ignore[arg-type]

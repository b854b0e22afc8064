"""Coverage of the intervals of stated probabilities: python benchmarks/forecast_coverage.py.

Forecasters of known temperature and shift meet rock-paper-scissors players that mix, in samples of
a few episodes of 12 steps. Prints how often the 95 % interval of each measure holds the
expectation, which is known by enumeration, and how far the mean of the samples is from it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from counting import Row, count, held, percent
from forecast_truth import expected_forecast

from tomeval.domains.matrix.games import get_game
from tomeval.domains.matrix.partner_specs import get_partner_set
from tomeval.domains.matrix.responses import expected_response_cost
from tomeval.extensions.probabilistic.forecaster import spoilt
from tomeval.extensions.probabilistic.forecasts import (
    brier_scores,
    calibration,
    crossed_parts,
    log_losses,
    plain_parts,
    skill,
    smoothed,
    top,
)
from tomeval.extensions.probabilistic.posterior import Posterior
from tomeval.statistics.estimates import Estimate, estimate

GAME = get_game("RPS")
PARTNERS = get_partner_set("0.5*mixture(0.6, 0.3, 0.1) + 0.5*mixture(0.1, 0.2, 0.7)", GAME)
HORIZON = 12
DRAWS = 8
DIALS = ((1.0, 0.0), (0.4, 0.0), (3.0, 0.0), (1.0, 0.3))


def forecasts(
    episodes: int, temperature: float, shift: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return what is stated, what Bayes would state, and what happens: (E, T, m) twice, (E, T)."""
    partners = PARTNERS.partners
    emits = np.stack([partner.emissions[0] for partner in partners])
    which = rng.choice(len(partners), episodes, p=PARTNERS.weights)
    ends = emits[which].cumsum(axis=1)[:, None, :-1]
    happens = (rng.random((episodes, HORIZON, 1)) > ends).sum(axis=2)
    posterior = Posterior(partners, PARTNERS.weights, episodes)
    best = np.empty((episodes, HORIZON, GAME.m))
    for t in range(HORIZON):
        best[:, t] = posterior.predict()
        posterior.observe(np.zeros(episodes, dtype=np.int64), happens[:, t])
    return spoilt(best.reshape(-1, GAME.m), temperature, shift).reshape(best.shape), best, happens


def measured(
    stated: np.ndarray, best: np.ndarray, happens: np.ndarray, rng: np.random.Generator
) -> dict[str, Estimate]:
    """Return the estimates of one sample."""
    count = len(stated)
    probs, bayes, actual = stated.reshape(-1, 3), best.reshape(-1, 3), happens.ravel()

    def by_episode(values: np.ndarray) -> np.ndarray:
        means: np.ndarray = values.reshape(count, -1).mean(axis=1)
        return means

    confidence, right = top(probs, actual)
    loss, least = by_episode(log_losses(probs, actual)), by_episode(log_losses(bayes, actual))
    rates = np.bincount(actual, minlength=3) / len(actual)
    base = by_episode(log_losses(np.tile(rates, (len(actual), 1)), actual))
    counts = rng.multinomial(DRAWS, probs)
    number = np.full(len(counts), DRAWS)
    values = {
        "log_loss": loss,
        "excess_log_loss": loss - least,
        "brier_score": by_episode(brier_scores(probs, actual)),
        "overconfidence": by_episode(100 * (confidence - right)),
        "delta_tom_expected_utility_per_step": by_episode(
            expected_response_cost(GAME, probs, actual)
        ),
        "bayes_accuracy_percent": by_episode(100 * bayes.max(axis=1)),
        "brier_score of draws": by_episode(brier_scores(counts / DRAWS, actual, number)),
        "log_loss of draws": by_episode(log_losses(smoothed(counts), actual)),
    }
    found = {name: estimate(value) for name, value in values.items()}
    cal = calibration(probs, actual, np.repeat(np.arange(count), HORIZON), count)
    ends = estimate(100 * np.stack([crossed_parts(cal), plain_parts(cal)], axis=1))
    low, high = np.maximum(ends.low[:1], 0), ends.high[1:]
    found["ece_percent"] = Estimate(ends.mean[1:], (high - low) / 2, low, high)
    found["skill over base rate"] = skill(loss, base, estimate)
    return found


def truth_of(temperature: float, shift: float) -> dict[str, float]:
    """Return the expectations; the base rates are those of the set."""
    truth = expected_forecast(GAME, PARTNERS, temperature=temperature, shift=shift, horizon=HORIZON)
    emits = np.stack([partner.emissions[0] for partner in PARTNERS.partners])
    rates = np.asarray(PARTNERS.weights) @ emits
    truth["brier_score of draws"] = truth["brier_score"]
    truth["skill over base rate"] = 1 + truth["log_loss"] / float(rates @ np.log(rates))
    return truth


def coverage(
    episodes: int, temperature: float, shift: float, repetitions: int, rng: np.random.Generator
) -> dict[str, tuple[float, float, float]]:
    """Return for each measure which share of intervals holds the truth, mean error, and truth."""
    truth = truth_of(temperature, shift)
    samples = [
        measured(*forecasts(episodes, temperature, shift, rng), rng) for _ in range(repetitions)
    ]
    covered = {}
    for name in (name for name in samples[0] if name in truth):
        low, high, mean = (
            np.array([getattr(sample[name], end)[0] for sample in samples])
            for end in ("low", "high", "mean")
        )
        share = float(held(low, high, truth[name]).mean())
        covered[name] = share, float((mean - truth[name]).mean()), truth[name]
    return covered


def probabilities(repetitions: int) -> Iterator[Row]:
    """Measures of stated probabilities: coverage in %, and how far their mean is off."""
    rng = np.random.default_rng(1)
    for temperature, shift in DIALS:
        for episodes in (6, 20, 60):
            covered = coverage(episodes, temperature, shift, repetitions, rng)
            for name, (share, error, truth) in covered.items():
                yield {
                    "measure": name,
                    "episodes": episodes,
                    "temperature": temperature,
                    "shift": shift,
                    "truth": f"{truth:.3f}",
                    "mean error": f"{error:.4f}",
                    "coverage": percent(share),
                }


if __name__ == "__main__":
    count({"probabilities": probabilities}, 1000)

"""Probes of states whose truth is known: false positives, and what their intervals cover.

Draws states of episodes with one of three partners, decodes the partner as `--what internal` does,
and counts how often exchanged labels do worse throughout (p at most 0.05) although states hold
nothing, and how often the 95 % interval holds how the same probes do on other episodes, and how
probes fitted to other episodes do on average; the latter also with the interval widened for the
overlap of training sets (Nadeau and Bengio 2003, equation 9). Behind docs/measures/internal.md.

    python benchmarks/internal_coverage.py [--repetitions 200]
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from counting import Floats, Row, count
from numpy.typing import NDArray

from tomeval.extensions.internal import decoding
from tomeval.extensions.internal.decoding import Decoded, by_chance, decode, folds_of
from tomeval.statistics import estimate

EPISODES, FOLDS = 20, 5
STEPS, LAYERS, WIDTH, PARTNERS, SHUFFLES = 5, 2, 8, 3, 19
FRESH = 300  # episodes that probes are tried on
SIGNALS = (0.0, 0.5, 1.0)
"""How far partners' means are apart, in standard deviations of a step's own noise."""


class Drawn(NamedTuple):
    """States, (N, L, D), of episodes: steps share an offset of their episode, and a partner."""

    states: Floats
    truth: NDArray[np.int64]
    episode: NDArray[np.int64]


def draw(rng: np.random.Generator, episodes: int, signal: float) -> Drawn:
    """Draw states; the second layer holds the partner."""
    episode = np.repeat(np.arange(episodes), STEPS)
    partner = rng.permutation(np.arange(episodes) % PARTNERS)
    states = rng.standard_normal((episodes * STEPS, LAYERS, WIDTH))
    states += rng.standard_normal((episodes, LAYERS, WIDTH))[episode] / 2
    truth = partner[episode]
    states[:, 1, :PARTNERS] += signal * np.eye(PARTNERS)[truth]
    return Drawn(states, truth, episode)


def decoded(drawn: Drawn, rng: np.random.Generator) -> Decoded:
    """Decode as a run is decoded."""
    fold = folds_of(drawn.episode, drawn.truth, FOLDS, rng)
    return decode(drawn.states, drawn.truth, drawn.episode, drawn.truth, fold, PARTNERS)


def is_held(drawn: Drawn, right: float, rng: np.random.Generator) -> bool:
    """Tell whether exchanged labels do worse throughout."""
    rest = (drawn.episode, drawn.truth, FOLDS, PARTNERS, rng)
    mixed = by_chance(drawn.states, drawn.truth, *rest)
    return all(next(mixed).mean() < right - 1e-12 for _ in range(SHUFFLES))


def of_probes(probes: Decoded, drawn: Drawn, fresh: Drawn) -> float:
    """Return how often the probes of all folds are right on other episodes, their mean."""
    shares = []
    for fold, (layer, strength) in enumerate(probes.chosen):
        train = probes.fold != fold
        one = decoding._Probe(drawn.states[train, layer], drawn.truth[train], strength, PARTNERS)
        shares.append((one.probs(fresh.states[:, layer]).argmax(axis=1) == fresh.truth).mean())
    return float(np.mean(shares))


def probes(repetitions: int) -> Iterator[Row]:
    """Probes by signal: how often held, decoded rightly on average, and what intervals cover."""
    for signal in SIGNALS:
        rng = np.random.default_rng((0, EPISODES, int(100 * signal)))
        held, same, ends = 0, [], []
        for _ in range(repetitions):
            drawn = draw(rng, EPISODES, signal)
            fitted = decoded(drawn, rng)
            right = fitted.right(drawn.truth)
            held += not signal and is_held(drawn, float(right.mean()), rng)
            interval = estimate(right.reshape(EPISODES, STEPS).mean(axis=1)[:, None])
            ends.append([float(part[0]) for part in (interval.mean, interval.low, interval.high)])
            same.append(of_probes(fitted, drawn, draw(rng, FRESH, signal)))
        mean, low, high = np.array(ends).T
        others = np.full(repetitions, np.mean(same))
        row: Row = {
            "episodes": EPISODES,
            "signal": signal,
            "held_percent": 100 * held / repetitions if not signal else np.nan,
            "holds_percent": round(100 * float(mean.mean()), 1),
            "other_probes_percent": round(100 * float(np.mean(same)), 1),
        }
        for name, truth, by in (
            ("covers_same_probes", np.array(same), 1.0),
            ("covers_other_probes", others, 1.0),
            ("widened_covers_other_probes", others, np.sqrt(1 + FOLDS / (FOLDS - 1))),
        ):
            inside = (mean - by * (mean - low) <= truth) & (truth <= mean + by * (high - mean))
            row[name] = round(100 * float(inside.mean()), 1)
        yield row


if __name__ == "__main__":
    count({"probes": probes}, 200)

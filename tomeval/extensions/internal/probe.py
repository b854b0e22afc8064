"""Decode what states hold: regularised logistic regression, cross-fitted by episode."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator, Sequence

import numpy as np

from tomeval.games.matrix.played import FloatArray, IntArray
from tomeval.games.matrix.responses import stepwise_regret
from tomeval.games.matrix.results import MatrixRunCell

FOLDS, SHUFFLES = 5, 19
"""Folds of the probes, of whole episodes; how often labels are exchanged between episodes."""

STRENGTHS = (0.003, 0.1)
"""Inverse strengths of the penalty that are tried, scikit-learn's C over standardised states."""

INNER = 2
"""Folds inside the training episodes, by which layer and strength are chosen."""

_FLOOR = 1e-6


def folds_of(
    episode: IntArray, stratum: IntArray, folds: int, rng: np.random.Generator | None = None
) -> IntArray:
    """Return the fold of each step, (N,): whole episodes, those of a stratum spread evenly.

    `stratum` holds what each step's episode drew, such as its partner; without `rng` episodes of a
    stratum are dealt in their order.
    """
    numbers, first = np.unique(episode, return_index=True)
    order = np.arange(len(numbers)) if rng is None else rng.permutation(len(numbers))
    order = order[np.argsort(stratum[first][order], kind="stable")]
    fold = np.empty(len(numbers), dtype=np.int64)
    fold[order] = np.arange(len(numbers)) % folds
    of_step: IntArray = fold[np.searchsorted(numbers, episode)]
    return of_step


def decode(
    states: FloatArray,
    truth: IntArray,
    episode: IntArray,
    stratum: IntArray,
    fold: IntArray,
    size: int,
) -> tuple[FloatArray, list[int]]:
    """Decode the truth of every step from its states, by probes that were not fitted to it.

    Parameters
    ----------
    states : ndarray, shape (N, L, D)
        The states of L layers to choose from.
    truth : ndarray of int, shape (N,)
        Values from 0 to `size` - 1.
    episode, stratum, fold : ndarray of int, shape (N,)
        See `folds_of`. Layer and strength are chosen by `INNER` further folds of the other
        episodes, dealt in the same way.

    Returns
    -------
    ndarray, shape (N, size), and list of int
        Probabilities of the values, and for each fold the place of its layer among those tried.

    Notes
    -----
    Intervals over episodes of what is decoded rightly say how the same probes would do on other
    episodes, not how probes fitted to others would. A value that no training step has is given a
    probability of nearly 0. Of layers and strengths that do equally well the lowest layer and the
    strongest penalty are taken.
    """
    from threadpoolctl import threadpool_limits

    probs, chosen = np.full((len(truth), size), np.nan), []
    # Fits are small: threads of theirs mostly wait for each other, and most where others work.
    with threadpool_limits(1):
        for out in range(int(fold.max()) + 1):
            test, train = fold == out, fold != out
            layer, strength = _choose(states[train], truth[train], episode[train], stratum[train])
            x = states[:, layer]
            probs[test] = fitted(x[train], truth[train], strength, x[test], size)
            chosen.append(layer)
    return probs, chosen


def _choose(
    states: FloatArray, truth: IntArray, episode: IntArray, stratum: IntArray
) -> tuple[int, float]:
    """Return the layer and the strength that do best between the training episodes."""
    inside = folds_of(episode, stratum, INNER)
    options = list(itertools.product(range(states.shape[1]), STRENGTHS))
    if len(options) == 1 or inside.max() + 1 < INNER:
        return options[0]
    size, right = int(truth.max()) + 1, np.zeros(len(options))
    for inner, (option, (layer, strength)) in itertools.product(range(INNER), enumerate(options)):
        test, train, x = inside == inner, inside != inner, states[:, layer]
        probs = fitted(x[train], truth[train], strength, x[test], size)
        right[option] += (probs.argmax(axis=1) == truth[test]).sum()
    return options[int(right.argmax())]


def fitted(
    x: FloatArray, truth: IntArray, strength: float, other: FloatArray, size: int
) -> FloatArray:
    """Fit to states, (N, D), and truths; return probabilities for other states, (M, `size`)."""
    from sklearn.dummy import DummyClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    regression = LogisticRegression(C=strength, max_iter=200, tol=1e-3)
    several = len(np.unique(truth)) > 1
    probe = make_pipeline(StandardScaler(), regression) if several else DummyClassifier()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a fit that is stopped early is a fit
        probe.fit(x, truth)
    probs = np.full((len(other), size), _FLOOR)
    probs[:, probe.classes_] += probe.predict_proba(other)
    normal: FloatArray = probs / probs.sum(axis=1, keepdims=True)
    return normal


def shuffled(
    values: Sequence[IntArray], episode: IntArray, rng: np.random.Generator
) -> list[IntArray]:
    """Return arrays with whole episodes exchanged: the course of one for that of another.

    All arrays alike, so that truths keep the strata of their episodes. Episodes are exchanged among
    those of the same length.
    """
    _, start, length = np.unique(episode, return_index=True, return_counts=True)
    order = np.arange(len(episode))
    for size in np.unique(length):
        alike = np.flatnonzero(length == size)
        for to, of in zip(alike, rng.permutation(alike), strict=True):
            order[start[to] : start[to] + size] = np.arange(start[of], start[of] + size)
    return [one[order] for one in values]


def by_chance(
    states: FloatArray,
    truth: IntArray,
    episode: IntArray,
    stratum: IntArray,
    folds: int,
    size: int,
    rng: np.random.Generator,
) -> Iterator[FloatArray]:
    """Yield again and again which steps are decoded rightly, (N,), after an exchange of labels.

    Folds are dealt anew by the strata that come with the labels: dealt by the others, a label that
    a fold has more of is rarer in training, and exchanged labels would do worse than chance.
    """
    while True:
        mixed, strata = shuffled((truth, stratum), episode, rng)
        fold = folds_of(episode, strata, folds, rng)
        probs, _ = decode(states, mixed, episode, strata, fold, size)
        yield (probs.argmax(axis=1) == mixed).astype(np.float64)


def decoded(
    cell: MatrixRunCell,
    rows: IntArray,
    episode: IntArray,
    states: FloatArray,
    rng: np.random.Generator,
) -> tuple[dict[str, list[float]], float, list[int]]:
    """Decode the partner's next move from the states of some steps.

    Returns
    -------
    dict, float, list of int
        By episode, in percent of its steps, ``says``, ``does``, ``holds`` and ``shuffled``, NaN:
        nothing; how often exchanged labels are decoded as well; and of every fold its layer. The
        list is empty if the partner makes the same move in all steps.
    """
    played, game = cell.played, cell.game
    truth, none = played.partner[rows], np.full(len(rows), np.nan)
    by_step = dict.fromkeys(("says", "holds", "shuffled"), none)
    by_step["does"] = 100.0 * (stepwise_regret(game)[played.own[rows], truth] == 0)
    if played.predicted is not None:
        by_step["says"] = 100.0 * (played.predicted[rows] == truth)
    p, chosen = float("nan"), []
    if len(np.unique(truth)) > 1:
        above, stratum = states[:, 1:], played.which[episode]
        fold = folds_of(episode, stratum, FOLDS, rng)
        probs, places = decode(above, truth, episode, stratum, fold, game.m)
        mixed = by_chance(above, truth, episode, stratum, FOLDS, game.m, rng)
        chance = list(itertools.islice(mixed, SHUFFLES))
        right = (probs.argmax(axis=1) == truth).astype(np.float64)
        by_step |= {"holds": 100 * right, "shuffled": 100 * np.mean(chance, axis=0)}
        # This run is counted among the exchanged ones.
        better = sum(one.mean() >= right.mean() - 1e-12 for one in chance)
        p, chosen = (1 + better) / (1 + SHUFFLES), [1 + place for place in places]
    means = {
        name: (np.bincount(episode, values) / np.bincount(episode)).tolist()
        for name, values in by_step.items()
    }
    return means, p, chosen

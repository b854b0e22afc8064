"""Where a player stands on the ladder of recursion, from the likelihoods of what it chose.

Two questions, and neither takes the other's answer. Which level describes the player best: the
rationality of each level is fitted, and every deal is judged by the fit to all the others. In
which shares of its turns the player plays each level: maximum likelihood of a mixture whose
levels have one rationality; its mean level lies between 0 and 2. Intervals resample deals.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tomeval.domains.decrypto.embedding_players import Floats, Ints
from tomeval.extensions.levels.choices import ALPHAS, Choices
from tomeval.extensions.levels.ladder import LEVELS
from tomeval.statistics import Estimate, estimate
from tomeval.statistics.bootstrap import draw_counts, percentile_ends

LEAST_DEALS = 8
"""Below this many deals the bootstrap's intervals are too narrow, and there are none."""

RESAMPLES = 1000
SHARE_STEP = 0.02
"""Mixture weights are found on a grid of this width."""

_FINE = 16  # rationalities per step of `ALPHAS`
_ALIKE = 1.92  # nats: half the 95 % quantile of chi-square with one degree of freedom
_REACH = 6.0  # bootstrap standard errors within which a mixture may be a resample's best


_NAN1 = Estimate(*(np.full(1, np.nan) for _ in range(4)))
_NAN3 = Estimate(*(np.full(3, np.nan) for _ in range(4)))


@dataclass(frozen=True, eq=False)
class Placement:
    """What is known of one player in one seat.

    `alphas` are the fitted rationalities of the levels. `held_out` is the log-likelihood per choice
    of each level, in nats, every deal judged by the others' fit; `baselines` the same of choosing
    uniformly, and by how often everything was chosen in other deals; `gain` that of the best level
    over the best baseline. `likely` are the levels that do not predict held-out choices worse than
    the best one, by the 95 % interval of the difference over deals. `weights` are shares of turns
    at each level, `level` their mean, `alpha` the mixture's rationality: NaN unless `fits`.
    """

    deals: int
    choices: int
    left_out: int
    alphas: Floats = field(default_factory=partial(np.full, 3, np.nan))
    held_out: Estimate = _NAN3
    baselines: dict[str, Estimate] = field(
        default_factory=lambda: {"uniform": _NAN1, "frequency": _NAN1}
    )
    likely: tuple[int, ...] = ()
    gain: Estimate = _NAN1
    weights: Estimate = _NAN3
    level: Estimate = _NAN1
    alpha: float = float("nan")

    @property
    def fits(self) -> bool:
        """Whether the best level beats both baselines, by the 95 % interval over deals."""
        return bool(self.gain.low[0] > 0)


def place(choices: Choices, rng: np.random.Generator) -> Placement:
    """Place a player on the ladder; `rng` is of the bootstrap over deals.

    All NaN with fewer than two deals; without weights and level if no level fits, or if all levels
    say the same of every turn; without their intervals below `LEAST_DEALS` deals.
    """
    names, deal = np.unique(np.array(choices.deals, dtype=np.str_), return_inverse=True)
    count = len(names)
    if count < 2:
        return Placement(count, len(choices.said), choices.left_out)
    logs = np.stack(choices.logs)  # (N, 3, alphas)
    fine, by_deal = finer(logs), _sums(finer(logs), deal, count)
    total = by_deal.sum(axis=0)
    others = (total - by_deal).argmax(axis=2)  # (deals, 3): the best alpha without this deal
    held = fine[np.arange(len(deal))[:, None], np.arange(len(LEVELS)), others[deal]]
    held_out = estimate(held, clusters=deal)
    uniform = -np.log(choices.sizes)
    base = {"uniform": uniform, "frequency": frequency(choices, deal)}
    level = int(np.argmax(held_out.mean))
    rival = max(base.values(), key=lambda values: float(values.mean()))
    gain = estimate(held[:, level] - rival, clusters=deal)
    behind = estimate(held[:, [level]] - held, clusters=deal).low
    weights, mean, alpha = _NAN3, _NAN1, float("nan")
    if gain.low[0] > 0:
        weights, mean, alpha = mixture(choices, logs, deal, count, rng)
    return Placement(
        count,
        len(deal),
        choices.left_out,
        fine_alphas()[total.argmax(axis=1)],
        held_out,
        {name: estimate(values, clusters=deal) for name, values in base.items()},
        tuple(n for n in LEVELS if behind[n] <= 0 or n == level) if gain.low[0] > 0 else (),
        gain,
        weights,
        mean,
        alpha,
    )


def frequency(choices: Choices, deal: Ints) -> Floats:
    """Return the log-probability of every choice by its frequency in other deals, shape (N,).

    One is added to the count of every option (Laplace).
    """
    every = Counter(choices.said)
    mine: Counter[tuple[int, str]] = Counter(zip(deal.tolist(), choices.said, strict=True))
    inside = np.bincount(deal)
    found = [
        (every[said] - mine[at, said] + 1) / (len(deal) - inside[at] + size)
        for at, said, size in zip(deal.tolist(), choices.said, choices.sizes, strict=True)
    ]
    return np.log(found)


def mixture(
    choices: Choices, logs: Floats, deal: Ints, count: int, rng: np.random.Generator
) -> tuple[Estimate, Estimate, float]:
    """Return the share of turns at each level, the mean level, and the common rationality.

    Each turn is played at one level. The likelihood is searched over a grid of weights and
    rationalities, so the best is never a local one.
    """
    _, first, turn = np.unique(choices.turns, return_index=True, return_inverse=True)
    by_turn = _sums(logs, turn, len(first))  # (T, 3, alphas)
    at = deal[first]
    if float(np.ptp(by_turn, axis=1).max()) < 1e-9:
        return _NAN3, _NAN1, float("nan")
    rough = weight_grid(0.1)
    best = int(np.argmax([_mixed(by_turn[:, :, a], rough).sum(axis=0).max()
                          for a in range(len(ALPHAS))]))  # fmt: skip
    shares = weight_grid(SHARE_STEP)
    near = range(max(0, (best - 1) * _FINE), min((len(ALPHAS) - 1) * _FINE, (best + 1) * _FINE) + 1)
    fine = finer(by_turn)
    profile = [float(_mixed(fine[:, :, a], rough).sum(axis=0).max()) for a in near]
    found = _around(list(near), profile)
    kept, levels, values = list[Floats](), list[float](), list[Floats]()
    for a in found:
        summed = _sums(_mixed(fine[:, :, a], shares), at, count)  # (deals, weights)
        kept.append(summed)
        levels += [fine_alphas()[a]] * len(shares)
        values.append(shares)
    table, grid = np.concatenate(kept, axis=1), np.concatenate(values)
    top = int(table.sum(axis=0).argmax())
    mean = grid @ np.array(LEVELS, float)
    low, high = _ends(table, top, np.column_stack([grid, mean]), count, rng)
    half = (high - low) / 2
    weights = Estimate(grid[top], half[:3], low[:3], high[:3])
    return weights, Estimate(mean[[top]], half[3:], low[3:], high[3:]), levels[top]


def _around(places: list[int], profile: list[float]) -> list[int]:
    """Return the rationalities around the best one that resamples may prefer, at most nine."""
    top = int(np.argmax(profile))
    inside = [i for i, value in enumerate(profile) if profile[top] - value < _REACH**2 / 2]
    step = max(1, -(-max(top - inside[0], inside[-1] - top) // 4))
    chosen = range(top - 4 * step, top + 4 * step + 1, step)
    return [places[i] for i in chosen if 0 <= i < len(places)]


def _ends(
    table: Floats, top: int, values: Floats, count: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return the ends of 95 % intervals of `values`, shape (mixtures, 4).

    The percentile interval of resampled deals, and what the likelihood does not tell from the best
    (at the edge of the scale all resamples may agree), widened by half a step of the grid. `table`
    is the log-likelihood of each deal under each mixture, shape (deals, mixtures).
    """
    if count < LEAST_DEALS:
        nothing = np.full(values.shape[1], np.nan)
        return nothing, nothing
    behind = table[:, [top]] - table
    spread = behind.std(axis=0, ddof=1) * np.sqrt(count)
    able = behind.sum(axis=0) <= _REACH * spread + 1e-9  # no resample prefers the others
    drawn = draw_counts(RESAMPLES, count, rng).astype(np.float64)
    best = np.argmax(drawn @ table[:, able], axis=1)
    low, high = percentile_ends(values[able][best])
    alike = values[behind.sum(axis=0) <= _ALIKE]
    low, high = np.minimum(low, alike.min(axis=0)), np.maximum(high, alike.max(axis=0))
    return np.maximum(low - SHARE_STEP / 2, 0.0), np.minimum(
        high + SHARE_STEP / 2, values.max(axis=0)
    )


def weight_grid(step: float) -> Floats:
    """Return all weights of three levels that are multiples of a step, shape (n, 3).

    Examples
    --------
    >>> weight_grid(0.5).tolist()[:3]
    [[0.0, 0.0, 1.0], [0.0, 0.5, 0.5], [0.0, 1.0, 0.0]]
    """
    parts = round(1 / step)
    rows = [(i, j, parts - i - j) for i in range(parts + 1) for j in range(parts + 1 - i)]
    return np.array(rows, float) / parts


def _mixed(logs: Floats, weights: Floats) -> Floats:
    """Return the log-likelihood of every turn under every mixture, (T, n), given (T, 3)."""
    most = logs.max(axis=1, keepdims=True)
    mixed = np.exp(logs - most) @ weights.T
    with np.errstate(divide="ignore"):
        return np.asarray(np.maximum(np.log(mixed), -745.0) + most)


def fine_alphas() -> Floats:
    """Return the rationalities that likelihoods are interpolated at."""
    low, high = float(np.log2(ALPHAS[0])), float(np.log2(ALPHAS[-1]))
    return np.asarray(2.0 ** np.linspace(low, high, (len(ALPHAS) - 1) * _FINE + 1))


def finer(logs: Floats) -> Floats:
    """Interpolate log-likelihoods (..., alphas) by a cubic spline in log alpha."""
    from scipy.interpolate import CubicSpline

    return np.asarray(CubicSpline(np.log2(ALPHAS), logs, axis=-1)(np.log2(fine_alphas())))


def _sums(values: Floats, labels: NDArray[np.integer], count: int) -> Floats:
    """Return sums over rows with equal labels, shape (count, ...)."""
    found = np.zeros((count, *values.shape[1:]))
    np.add.at(found, labels, values)
    return found

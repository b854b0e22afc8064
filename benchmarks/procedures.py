"""Whether comparisons, regressions, ratings and confidence sequences keep their promises.

Every procedure is repeated on simulated data whose truth is known.

    python benchmarks/procedures.py [--repetitions 200] [--only pairs,regression,ratings,pool,looks]
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from counting import Floats, Row, count, held, percent, setup_of, spread
from coverage import metrics_of, truth_of
from numpy.typing import NDArray
from scipy.special import expit, stdtrit
from scipy.stats import norm

from tomeval.comparing.comparison import Comparison, compare_pairs
from tomeval.comparing.layout import Meeting, Pairing
from tomeval.core.errors import TomevalError
from tomeval.extensions.ratings.bradley_terry import ELO, Pairs, Ratings, rate
from tomeval.extensions.regression import fit_steps
from tomeval.games.matrix.measures import MEASURES, METRICS
from tomeval.games.matrix.play import Setup
from tomeval.statistics.bounded import score_ends
from tomeval.statistics.sequences import mean_sequence

TASKS = list(itertools.product(("RPS", "IBS", "IPD"), ("single_action", "tit_for_tat")))


def cell(game: str, partners: str, p: float, copy: int = 0) -> Setup:
    """Return a cell; copies of a subject meet the same partners but draw other numbers."""
    return setup_of("simulated", {"p": p - copy * 1e-12, "q": 0.5}, game, partners)


def compared(level: Floats, base: Floats) -> Comparison:
    """Compare L levels with their baselines in one task, each of shape (n, L, M).

    Repetitions of one experiment are laid out as levels with a baseline of their own, so that one
    call makes them all. They then share the resamples, which changes no share on average.
    """
    units = [(1, i) for i in range(len(level))]
    paired = np.ones((len(level), 1, level.shape[1]), dtype=bool)
    pairing = Pairing(
        "level",
        "base",
        tuple(f"level {i}" for i in range(level.shape[1])),
        tuple(MEASURES[name] for name in METRICS),
        ("0",),
        ({"game": "0"},),
        [Meeting(units, [0], level[:, None], base[:, None], paired, paired * 0)],
        np.zeros((1, level.shape[1]), dtype=np.int64),
        np.array([[100.0 if name.endswith("_percent") else 10.0 for name in METRICS]]),
    )
    return compare_pairs(pairing, margin=np.full(len(METRICS), np.nan), resamples=999)


def pairs(repetitions: int) -> Iterator[Row]:
    """Paired differences in one task: coverage where subjects differ, and where they do not."""
    for episodes in (5, 10, 20, 30, 100):
        shares: dict[str, list[float]] = {"t": [], "p_t": [], "p_permutation": []}
        for task, p in itertools.product(TASKS, (0.9, 0.8)):
            same = p == 0.8
            one, two = cell(*task, 0.8), cell(*task, p, int(same))
            base, level = (metrics_of(each, 0, episodes * repetitions)[0] for each in (one, two))
            known = truth_of(cell(*task, p)) - truth_of(one)
            found = compared(
                *(data.reshape(-1, episodes, len(METRICS)).swapaxes(0, 1) for data in (level, base))
            )
            hits: dict[str, Any] = {"t": held(found.t_low[0], found.t_high[0], known)}
            if same:
                hits |= {name: getattr(found, name)[0] < 0.05 for name in ("p_t", "p_permutation")}
            varies = (level - base).std(axis=0) > 1e-9
            for name, each in hits.items():
                means = 100 * np.mean(each, axis=0)[varies]
                shares[name] += means[np.isfinite(means)].tolist()
        for name, of in shares.items():
            what = "false positives" if name.startswith("p_") else "coverage"
            yield {"pairs": episodes, "what": f"{what}: {name}", **spread(of)}


STEPS = 20
TERMS = ("game", "player", "log(step)", "player:log(step)")
TRUTH = np.array([0.0, 0.5, -0.3, -0.2, 0.3])


def draw(episodes: int, family: str, rng: np.random.Generator) -> pd.DataFrame:
    """Return the steps of one simulated run: response ``y``, terms and ``cluster``.

    Two players meet the same chance in every episode; one learns faster. Episodes differ in level,
    and steps of an episode follow each other (AR 1), so the working correlation is wrong, as it is
    in games. Half of the episodes are of another game.
    """
    shape = (episodes, 2, STEPS)
    cluster, player, step = np.indices(shape)
    noise = rng.normal(size=shape)
    for late in range(1, STEPS):
        noise[..., late] = 0.6 * noise[..., late - 1] + 0.8 * noise[..., late]
    level = 0.5 * rng.normal(size=(episodes, 1, 1)) + 0.5 * rng.normal(size=(episodes, 2, 1))
    latent = level + noise
    slow, game = np.log(step + 1), cluster % 2
    x = np.stack([np.ones(shape), game, player, slow, player * slow], axis=-1)
    y = x @ TRUTH + latent
    if family == "binomial":
        # A normal latent of SD sqrt(1.5) mapped to a uniform keeps the marginal logit exact.
        y = 1.0 * (norm.cdf(latent / np.sqrt(1.5)) < expit(x @ TRUTH))
    columns = {"y": y, "game": game, "player": player, "step": step + 1, "cluster": cluster}
    return pd.DataFrame({name: values.ravel() for name, values in columns.items()})


def fitted(frame: pd.DataFrame, family: str) -> Any:
    """Return the fit of simulated steps."""
    return fit_steps("y ~ game + player * log(step)", frame, family == "binomial")


def terms_held(frame: pd.DataFrame, family: str) -> NDArray[np.bool_]:
    """Tell which intervals hold the truth, shape (4,), without the intercept."""
    fit = fitted(frame, family)
    half: Floats = stdtrit(frame["cluster"].nunique() - 1, 0.975) * fit.bse.to_numpy()
    inside: NDArray[np.bool_] = np.abs(fit.params.to_numpy() - TRUTH) <= half
    return inside[1:]


def regression(repetitions: int) -> Iterator[Row]:
    """Coefficients of a regression on steps: coverage in %."""
    for family, episodes in itertools.product(("gaussian", "binomial"), (5, 10, 30)):
        rng, hits = np.random.default_rng([1, episodes]), []
        for _ in range(repetitions):
            try:
                hits.append(terms_held(draw(episodes, family, rng), family))
            except TomevalError:  # it says that it does not converge
                continue
        row = {"family": family, "episodes": episodes}
        row |= {term: percent(hit) for term, hit in zip(TERMS, np.transpose(hits), strict=True)}
        yield row | {"not converged": repetitions - len(hits)}


STRENGTH = np.array([0.8, 0.4, 0.1, -0.1, -0.4, -0.8])
GUESTS = np.array([np.nan, 0.5, 0.2, -0.2, -0.5])
"""A newcomer, and four players of given ratings."""


def rated(games: Sequence[Any], given: Floats, rng: np.random.Generator) -> Ratings:
    """Rate by games, each of its own deal: one team, the other, and what the first won."""

    def share(team: Sequence[int]) -> Floats:
        return np.bincount(team, minlength=len(given)) / len(team)

    apart = np.array([share(one) - share(other) for one, other, _ in games])
    names, won = tuple(map(str, range(len(given)))), np.array([won for *_, won in games])
    return rate(Pairs(names, apart, won, np.arange(len(games))), given, rng)


def ratings(repetitions: int) -> Iterator[Row]:
    """Six players in teams of one, or of two against four; independent games; coverage in %."""
    for first, size in itertools.product((1, 2), (40, 100, 300)):
        inside = []
        for number in range(repetitions):
            rng, games = np.random.default_rng([number, size]), []
            for _ in range(size):
                seats = rng.permutation(6)[: 2 if first == 1 else 6].tolist()
                one, other = seats[:first], seats[first:]
                gap = STRENGTH[one].mean() - STRENGTH[other].mean()
                games.append((one, other, float(rng.random() < expit(gap))))
            try:
                found = rated(games, np.full(6, np.nan), rng)
            except TomevalError:  # too few games to connect all players
                continue
            truth = STRENGTH - STRENGTH[found.base].mean()
            inside.append(held(found.low, found.high, truth)[~np.isnan(found.low)])
        teams = "one against one" if first == 1 else "two against four"
        yield {"teams": teams, "games": size, "rating": percent(np.concatenate(inside))}


def pool(repetitions: int) -> Iterator[Row]:
    """Rate a newcomer against four players of given ratings, one after the other; coverage in %."""
    for size, strength in itertools.product((30, 96, 198), (0.0, 1.0)):
        inside, width = [], []
        for number in range(repetitions):
            rng = np.random.default_rng([number, size, int(10 * strength)])
            chance = expit(strength - GUESTS[1:])
            games = [([0], [1 + k % 4], float(rng.random() < chance[k % 4])) for k in range(size)]
            found = rated(games, GUESTS, rng)
            inside.append(bool(found.low[0] <= strength <= found.high[0]))
            width.append(ELO * float(found.high[0] - found.low[0]))
        row = {"games": size, "strength": f"{strength:g}", "rating": percent(inside)}
        yield row | {"full width, points": f"{np.median(width):.0f}"}


CASES: dict[str, tuple[Callable[[np.random.Generator, int], Floats], float]] = {
    "uniform": (lambda rng, n: rng.random(n), 0.5),
    "coin": (lambda rng, n: (rng.random(n) < 0.5).astype(np.float64), 0.5),
    "95 % zeros": (lambda rng, n: (rng.random(n) < 0.05).astype(np.float64), 0.05),
    "3 % outliers": (
        lambda rng, n: np.where(rng.random(n) < 0.03, 1.0, 0.2 + 0.02 * rng.random(n)),
        0.97 * 0.21 + 0.03,
    ),
}


def looks(repetitions: int) -> Iterator[Row]:
    """Look twelve times, at 6 to 200 units: runs in which any interval misses the mean, in %."""
    at = np.unique(np.geomspace(6, 200, 12).round().astype(np.int64))
    for name, (drawn, mean) in CASES.items():
        rng, missed = np.random.default_rng(1), np.zeros(2)
        for _ in range(repetitions):
            values = drawn(rng, 200)
            means, errors = np.array([(values[:n].mean(), values[:n].std()) for n in at]).T
            ends = score_ends(means, errors / np.sqrt(at - 1), stdtrit(at - 1, 0.975), at, 0.0, 1.0)
            every = np.array([mean_sequence(values[:n], bounds=(0.0, 1.0)) for n in at])
            missed[0] += not held(*ends, mean).all()
            missed[1] += not held(every[:, 0], every[:, 1], mean).all()
        shares = [f"{share:.1f}" for share in 100 * missed / repetitions]
        yield {"values": name, "score interval": shares[0], "sequence": shares[1]}


if __name__ == "__main__":
    count({part.__name__: part for part in (pairs, regression, ratings, pool, looks)}, 1000)

"""Coverage of the measures of adaptation: python benchmarks/adaptation_coverage.py.

A detector with known lags plays rock-paper-scissors against two single actions, T = 30, with a
change drawn from the steps 10 to 15: 12,000 episodes, in as many runs of 12, 30 and 100 as they
make. Prints how often the 95 % interval of each measure holds its true value, and how far the mean
of all episodes is off. With noise the rule
that finds a turn is no longer exact; the rows show by how much.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from tomeval.domains.matrix.games import get_game
from tomeval.domains.matrix.partner_specs import get_partner_set
from tomeval.domains.matrix.play import Setup, play_episode
from tomeval.domains.matrix.played import Played
from tomeval.extensions.adaptation.measures import adaptation
from tomeval.statistics import estimate

RPS = get_game("RPS")
# Made once: what is optimal against a partner is solved once for each object.
PARTNERS = get_partner_set({"switch": "single_action", "at": {"from": 10, "to": 15}}, RPS)
LENGTH, WINDOW = 30, 13  # steps, and the longest lag that all episodes can show
MEASURES = ("detection_steps", "adaptation_steps", "knowing_lead_steps", "change_cost")
LAGS: tuple[dict[str, Any], ...] = (
    {"lag": 1, "rate": 0.5, "act_lag": 1, "act_rate": 0.5},
    {"lag": 1, "rate": 0.2, "act_lag": 0, "act_rate": 0.3},
    {"lag": 3, "rate": 0.15, "act_lag": 2, "act_rate": 1.0},
)


def truth(options: dict[str, Any]) -> dict[str, float]:
    """Return what the measures are to be, from the chances of every number of steps."""
    steps = np.arange(400)

    def chances(lag: int, rate: float) -> np.ndarray:
        late = np.maximum(steps - lag, 0)
        return np.where(steps >= lag, rate * (1 - rate) ** late, 0.0)

    knows = chances(options["lag"], options["rate"])
    acts = np.convolve(knows, chances(options["act_lag"], options["act_rate"]))[:400]
    limited = [float(p @ np.minimum(steps, WINDOW) + (1 - p.sum()) * WINDOW) for p in (knows, acts)]
    # To go on as before costs 1 or 2 a step, by the pair; noise costs as much before the change.
    cost = 1.5 * (1 - options["noise"]) * limited[1]
    return dict(zip(MEASURES, (*limited, limited[1] - limited[0], cost), strict=True))


def play(options: dict[str, Any], episodes: int) -> dict[str, np.ndarray]:
    """Return the measures of independent episodes, by episode."""
    setup = Setup(
        "detector",
        options,
        game=RPS,
        labels=RPS.label_set(),
        partners=PARTNERS,
        horizon=LENGTH,
        seed=1,
    )
    steps = [play_episode(setup, episode) for episode in range(episodes)]
    own, theirs, said = (
        np.concatenate([getattr(one, name).ravel() for one in steps])
        for name in ("own_action", "partner_action", "predicted_action")
    )
    which = np.concatenate([one.partners for one in steps])
    lengths = np.full(episodes, LENGTH)
    reward = RPS.own[own, theirs]
    found = adaptation(Played(RPS, PARTNERS.partners, which, lengths, own, theirs, said, reward))
    assert found.window.after == WINDOW
    return {name: found.totals[name].values for name in MEASURES}


def coverage(values: np.ndarray, true: float, size: int) -> float:
    """Return how often the interval of runs of `size` of these episodes holds the truth."""
    runs = values[: len(values) // size * size].reshape(-1, size)
    found = [estimate(run) for run in runs]
    return float(np.mean([one.low[0] <= true <= one.high[0] for one in found]))


def main(episodes: int) -> None:
    """Print the table."""
    print("| lags | noise | episodes | detection | adaptation | difference | cost |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    rows: list[tuple[dict[str, Any], float, tuple[int, ...]]]
    rows = [(lags, 0.0, (12, 30, 100)) for lags in LAGS]
    rows += [(LAGS[0], noise, (30,)) for noise in (0.05, 0.1, 0.2)]
    for lags, noise, sizes in rows:
        options = {**lags, "noise": noise}
        true, found = truth(options), play(options, episodes)
        words = "{lag} + {rate}, {act_lag} + {act_rate}".format(**lags)
        for size in sizes:
            cells = " | ".join(
                f"{100 * coverage(values, true[name], size):.1f} % "
                f"({values.mean() - true[name]:+.2f})"
                for name, values in found.items()
            )
            print(f"| {words} | {noise} | {size} | {cells} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 12_000)

"""Coverage of the measures of adaptation: python benchmarks/adaptation_coverage.py.

A detector with known lags plays rock-paper-scissors against two single actions, T = 30, with a
change drawn from the steps 10 to 15: repetitions of 12 episodes, taken as runs of 12, 30 and 100.
Prints how often the 95 % interval of each measure holds its true value, and how far the mean
of all episodes is off. With noise the rule
that finds a turn is no longer exact; the rows show by how much.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from counting import Floats, Row, count, percent, played, setup_of

from tomeval.extensions.adaptation.measures import adaptation
from tomeval.statistics import estimate

PARTNERS = {"switch": "single_action", "at": {"from": 10, "to": 15}}
LENGTH, WINDOW = 30, 13  # steps, and the longest lag that all episodes can show
MEASURES = {
    "detection_steps": "detection",
    "adaptation_steps": "adaptation",
    "knowing_lead_steps": "difference",
    "change_cost": "cost",
}
LAGS: tuple[dict[str, Any], ...] = (
    {"lag": 1, "rate": 0.5, "act_lag": 1, "act_rate": 0.5},
    {"lag": 1, "rate": 0.2, "act_lag": 0, "act_rate": 0.3},
    {"lag": 3, "rate": 0.15, "act_lag": 2, "act_rate": 1.0},
)


def truth(options: dict[str, Any]) -> dict[str, float]:
    """Return what the measures are to be, from the chances of every number of steps."""
    steps = np.arange(400)

    def chances(lag: int, rate: float) -> Floats:
        late = np.maximum(steps - lag, 0)
        return np.where(steps >= lag, rate * (1 - rate) ** late, 0.0)

    knows = chances(options["lag"], options["rate"])
    acts = np.convolve(knows, chances(options["act_lag"], options["act_rate"]))[:400]
    limited = [float(p @ np.minimum(steps, WINDOW) + (1 - p.sum()) * WINDOW) for p in (knows, acts)]
    # To go on as before costs 1 or 2 a step, by the pair; noise costs as much before the change.
    cost = 1.5 * (1 - options["noise"]) * limited[1]
    return dict(zip(MEASURES, (*limited, limited[1] - limited[0], cost), strict=True))


def coverage(values: Floats, true: float, size: int) -> str:
    """Return how often the interval of runs of `size` of these episodes holds the truth."""
    runs = [estimate(run) for run in values[: len(values) // size * size].reshape(-1, size)]
    return percent([one.low[0] <= true <= one.high[0] for one in runs])


def lags(repetitions: int) -> Iterator[Row]:
    """Detectors of known lags: coverage in %, and how far the mean is off."""
    cases: list[tuple[dict[str, Any], float, tuple[int, ...]]]
    cases = [(lags, 0.0, (12, 30, 100)) for lags in LAGS]
    cases += [(LAGS[0], noise, (30,)) for noise in (0.05, 0.1, 0.2)]
    for lags, noise, sizes in cases:
        options = {**lags, "noise": noise}
        setup = setup_of("detector", options, "RPS", PARTNERS, horizon=LENGTH)
        found = adaptation(played(setup, 0, 12 * repetitions))
        assert found.window.after == WINDOW
        known = truth(options)
        for size in sizes:
            row = {"lags": "{lag} + {rate}, {act_lag} + {act_rate}".format(**lags)}
            row |= {"noise": f"{noise}", "episodes": f"{size}"}
            for name, shown in MEASURES.items():
                values, true = found.totals[name].values, known[name]
                row[shown] = f"{coverage(values, true, size)} ({values.mean() - true:+.2f})"
            yield row


if __name__ == "__main__":
    count({"lags": lags}, 1000)

"""Does the ladder of aids recover known shares? Coverage and naming by simulation.

A laddered subject, whose shares are known in closed form, plays many samples of episodes; each is
split as the table does it. Prints what is behind docs/measures/aids.md.

    python benchmarks/aids_coverage.py [--repetitions 2000]
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from aids_truth import expected_regret
from counting import Row, count, played, setup_of

from tomeval.domains.matrix.measures import episode_metrics
from tomeval.extensions.aids.climb import climb
from tomeval.extensions.aids.ladders import LINKS, REGRET
from tomeval.strategies.ladder import RUNGS

CELLS = (("RPS", "single_action"), ("IPD", "tit_for_tat"))
SUBJECTS: dict[str, dict[str, float]] = {
    "many weak links": {"compute": 0.7, "use": 0.8, "know": 0.6, "choose": 0.8, "obey": 0.8},
    "computes badly": {"compute": 0.3, "use": 0.95, "know": 0.95, "choose": 0.95, "obey": 0.95},
}
HORIZON = 10


def row(game: str, partners: str, subject: str, episodes: int, repetitions: int) -> Row:
    """Return how often each share's interval holds the truth, and which link is named."""
    links = SUBJECTS[subject]
    setups = [
        setup_of("laddered", {"rung": rung, **links}, game, partners, horizon=HORIZON, seed=11)
        for rung in RUNGS
    ]
    truth, _ = expected_regret(setups[0].game, setups[0].tables, HORIZON, **links)
    known = np.append(truth[:-1] - truth[1:], truth[-1]) / truth[0]
    losses = [episode_metrics(played(setup, 0, episodes * repetitions))[REGRET] for setup in setups]
    samples = np.stack(losses, axis=1).reshape(repetitions, episodes, -1)
    found = [climb(sample) for sample in samples]
    shared = [one for one in found if not one.unknown]
    ends = np.array([(one.share_low, one.share_high) for one in shared])  # (R, 2, 5)
    there = np.isfinite(ends[:, 0])
    held = ((ends[:, 0] <= known) & (known <= ends[:, 1])).sum(axis=0) / np.maximum(
        there.sum(axis=0), 1
    )
    has = there.mean(axis=0)
    top = int(known.argmax())
    right = np.mean([one.largest == top for one in found])
    wrong = np.mean([one.largest not in (top, None) for one in found])
    shown = {
        link: f"{100 * share:.1f}: {100 * hit:.1f}" + f" of {100 * some:.0f}" * bool(some < 0.995)
        for link, share, hit, some in zip(LINKS, known, held, has, strict=True)
    }
    return {
        "subject": subject,
        "game": game,
        "partners": partners,
        "episodes": episodes,
        **shown,
        "named rightly %": f"{100 * right:.1f}",
        "named wrongly %": f"{100 * wrong:.1f}",
        "no shares %": f"{100 * (1 - len(shared) / len(found)):.1f}",
    }


def shares(repetitions: int) -> Iterator[Row]:
    """Shares of the links: the truth, coverage in %, and of how many samples where not of all."""
    for subject, cell, episodes in itertools.product(SUBJECTS, CELLS, (10, 30)):
        yield row(*cell, subject, episodes, repetitions)


if __name__ == "__main__":
    count({"shares": shares}, 2000)

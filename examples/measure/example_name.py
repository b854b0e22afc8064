"""A measure of matrix games for tomeval: how often a player does what it did before.

    tomeval --plugin example_name.py list measures example_name
    tomeval --plugin example_name.py table RUN --metric example_name_percent

In a package with an entry point, as `tomeval init strategy` makes one, it needs no --plugin.
"""

from __future__ import annotations

import numpy as np

import tomeval


@tomeval.register_measure(
    "matrix",  # the domain
    "example_name_percent",  # the column; a share in percent ends in _percent
    heading="repeated %",
    meaning="The share of steps after the first that repeat the own action of the step before.",
    unit="%",
    better=0,  # 1: more is better, -1: less, 0: neither
    source="your own",
)
def example_name(played, reference):
    """Return one value per episode, shape (E,), from the steps of a cell's complete episodes.

    The steps of all episodes follow each other: `played.own`, `played.partner` and
    `played.predicted` have shape (N,), `played.lengths` has the steps of each episode. An episode
    without a value has NaN; a cell without complete episodes has E = 0. `reference` says what
    regret is measured from.
    """
    episodes = np.split(played.own, np.cumsum(played.lengths))[:-1]
    return np.array(
        [100.0 * np.mean(own[1:] == own[:-1]) if len(own) > 1 else np.nan for own in episodes]
    )

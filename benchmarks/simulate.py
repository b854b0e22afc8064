"""Speed of play: batches against the one-episode loop, in steps per CPU second of one thread.

Both sides of a ratio are measured in this one process, one after the other.

    python benchmarks/simulate.py
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any

from counting import setup_of
from one_thread import use_one_thread

from tomeval.games.matrix.domain import STEPS_PER_CHUNK, simulate
from tomeval.games.matrix.play import play_episode
from tomeval.report.tables import render

HORIZON = 100
EPISODES = STEPS_PER_CHUNK // HORIZON  # what a run plays at a time
SECONDS = 0.8  # of CPU time per measurement, at least
KINDS: list[tuple[str, dict[str, Any]]] = [
    ("simulated", {"p": 0.9, "q": 0.5}),
    ("random", {}),
    ("fictitious_play", {}),
    ("rmax", {}),
]
CELLS = [*itertools.product(("RPS", "IBS", "IPD"), ("single_action", "tit_for_tat"))]


def rate(play: Callable[[int], object], steps: int) -> float:
    """Return steps per CPU second over repetitions that last SECONDS together.

    `play` gets the number of the repetition, so that no episode is played twice: some partners make
    a subject's work much longer than others.
    """
    play(0)
    spent, number = 0.0, 0
    while spent < SECONDS:
        number += 1
        start = time.process_time()
        play(number)
        spent += time.process_time() - start
    return number * steps / spent


def compare(kind: str, options: dict[str, Any], game: str, partners: str) -> dict[str, Any]:
    """Return the rates of the batch and of the one-episode loop in one cell."""
    setup = setup_of(kind, options, game, partners)
    batch = rate(lambda i: simulate(setup, i * EPISODES, EPISODES), EPISODES * HORIZON)
    loop = rate(lambda i: play_episode(setup, i), HORIZON)
    return {
        "subject": kind,
        "game": game,
        "partners": partners,
        "batch, steps/s": f"{batch:,.0f}",
        "loop, steps/s": f"{loop:,.0f}",
        "ratio": f"{batch / loop:,.0f}",
    }


if __name__ == "__main__":
    use_one_thread()
    print(render([compare(*kind, *cell) for kind in KINDS for cell in CELLS]))

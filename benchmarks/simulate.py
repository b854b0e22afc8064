"""Speed of play: batch against the one-episode loop, and RMax against replanning at every step.

Prints plain tables. Times are CPU seconds of one thread; both sides of a ratio are measured in this
one process, one after the other.

    python benchmarks/simulate.py
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from one_thread import use_one_thread

from tomeval.domains.matrix.batch import simulate
from tomeval.domains.matrix.domain import STEPS_PER_CHUNK
from tomeval.domains.matrix.games import get_game
from tomeval.domains.matrix.partner_specs import get_partner_set
from tomeval.domains.matrix.play import Setup, play_episode
from tomeval.report.tables import render

HORIZON = 100
EPISODES = STEPS_PER_CHUNK // HORIZON  # what a run plays at a time
SECONDS = 0.8  # of CPU time per measurement, at least
KINDS: list[tuple[str, dict[str, Any]]] = [
    ("simulated", {"p": 0.9, "q": 0.5}),
    ("random", {}),
    ("equilibrium", {}),
    ("best_response", {}),
    ("fictitious_play", {}),
]


def setup_of(kind: str, options: dict[str, Any], game: str, partners: str) -> Setup:
    found = get_game(game)
    return Setup(
        kind,
        options,
        game=found,
        labels=found.label_set(None),
        partners=get_partner_set(partners, found),
        horizon=HORIZON,
        seed=1,
    )


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


def axelrod_rate() -> float | None:
    """Return turns per CPU second of the Axelrod library's match loop, or None without it."""
    try:
        import axelrod
    except ModuleNotFoundError:
        return None

    def play(number: int) -> object:
        players = (axelrod.TitForTat(), axelrod.Random())
        return axelrod.Match(players, turns=HORIZON, seed=number).play()

    return rate(play, HORIZON)


def main() -> None:
    use_one_thread()
    print(f"Batches of {EPISODES} episodes of {HORIZON} steps; one thread, CPU seconds.\n")
    cells = [
        (game, partners)
        for game in ("RPS", "IBS", "IPD")
        for partners in ("single_action", "tit_for_tat")
    ]
    print("Subjects without a plan of their own, and fictitious play")
    noisy = ("IPD", "noisy_tit_for_tat")
    some = [cells[0], cells[-1], noisy]
    print(render([compare(kind, options, *cell) for kind, options in KINDS for cell in some]))
    print("\nTabular RMax: batch against a loop that solves its model again at every step")
    print(render([compare("rmax", {}, *cell) for cell in cells]))
    print()
    turns = axelrod_rate()
    if turns is None:
        print("Axelrod library: not installed, left out of the comparison")
    else:
        batch = rate(
            lambda i: simulate(
                setup_of("random", {}, "IPD", "tit_for_tat"), i * EPISODES, EPISODES
            ),
            EPISODES * HORIZON,
        )
        print(f"Random against tit for tat, IPD: Axelrod's match loop {turns:,.0f} turns/s,")
        print(f"tomeval's batch {batch:,.0f} steps/s, ratio {batch / turns:,.0f}")


if __name__ == "__main__":
    main()

"""How often the answer of a cell is wrong, and the intervals of its scores miss the truth.

``python benchmarks/answer_coverage.py``: players who are right with probability p and act on their
prediction with probability q, both on a grid, against partners that repeat one action; their scores
in expectation are known by closed forms. A row per game and number of episodes.
"""

from __future__ import annotations

import itertools
import tempfile
from collections import Counter
from collections.abc import Iterator

from counting import Row, count

import tomeval
from tomeval.games.answer import UNDECIDED, Ends, answer, plain, words
from tomeval.games.matrix.results import MatrixRunCell, matrix_cells
from tomeval.runs.measures import SCORES

GRID = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
GAMES = {"RPS": 3, "IBS": 2}
EPISODES = (5, 10, 20)
HELD = ("knows", "uses", "plays")
MARGIN = 5.0
"""Truth is off 50 where every score that decides is farther from it than this."""


def truth(game: str, p: float, q: float) -> dict[str, float]:
    """Return the expected scores in percent: knows, uses, plays."""
    m = GAMES[game]
    loaded = tomeval.get_game(game)
    partners = tomeval.get_partner_set("single_action", loaded)
    regret = [
        tomeval.expected(loaded, partners, p=chance, q=acts)["delta_functional_per_step"]
        for chance, acts in ((p, q), (1 / m, 0.0))
    ]
    return {
        "knows": 100 * (p - 1 / m) / (1 - 1 / m),
        "uses": 100 * q,
        "plays": 100 * (1 - regret[0] / regret[1]),
    }


def word(scores: dict[str, float]) -> str:
    """Return the answer that the expected scores deserve; against such partners plans = replies."""
    ends = {name: Ends(value, value, value) for name, value in scores.items()}
    return words(ends | {"replies": ends["uses"], "plans": ends["uses"]})


def cell_counts(cell: MatrixRunCell, scores: dict[str, float]) -> dict[str, int]:
    """Return what one cell adds: told, wrong, and for each score whether its interval holds."""
    said = plain(answer(cell))
    clear = all(abs(value - 50) > MARGIN for value in scores.values())
    found = cell.estimate(SCORES)
    counts = {
        "cells": 1,
        "clear": int(clear),
        "told": int(said != UNDECIDED),
        "wrong": int(clear and said not in (UNDECIDED, word(scores))),
    }
    for i, name in enumerate(HELD):
        holds = found.low[i] - 1e-9 <= scores[name] <= found.high[i] + 1e-9
        counts[name] = int(holds)
    return counts


def answers(repetitions: int) -> Iterator[Row]:
    """Answers to cells of all players, and intervals of their scores, in %."""
    grid = list(itertools.product(GRID, GRID))
    subjects = [{"kind": "simulated", "name": f"p{p} q{q}", "p": p, "q": q} for p, q in grid]
    for game, episodes in itertools.product(GAMES, EPISODES):
        sums: Counter[str] = Counter()
        for seed in range(repetitions):
            keys = {"games": game, "subjects": subjects, "episodes": episodes, "seed": seed}
            with (
                tempfile.TemporaryDirectory() as folder,
                tomeval.run(keys | {"horizon": 20}, folder) as run,
            ):
                for cell, (p, q) in zip(matrix_cells(run), grid, strict=True):
                    sums.update(cell_counts(cell, truth(game, p, q)))
        row = {"game": game, "episodes": episodes, "cells": sums["cells"]}
        shares = {name: 100 * sums[name] / sums["cells"] for name in ("told", *HELD)}
        yield row | shares | {"wrong": 100 * sums["wrong"] / max(1, sums["clear"])}


if __name__ == "__main__":
    count({"answers": answers}, 17)

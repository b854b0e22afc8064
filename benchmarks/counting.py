"""What benchmarks of intervals share: how often one holds the truth, and the command line.

Such a benchmark has parts, each a function that takes a number of repetitions and yields the rows
of a table; its docstring is the table's heading. It ends with ``count({"name": part}, 1000)``.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from one_thread import use_one_thread

from tomeval.games.matrix.domain import has_batch, simulate
from tomeval.games.matrix.games import get_game
from tomeval.games.matrix.partner_specs import get_partner_set
from tomeval.games.matrix.play import Setup, play_episode
from tomeval.games.matrix.played import Played
from tomeval.report.rows import grid_of
from tomeval.report.tables import set_grid

Floats = NDArray[np.float64]
Row = dict[str, Any]
Part = Callable[[int], Iterable[Row]]

SLACK = 1e-9  # rounding of sums


def count(parts: Mapping[str, Part], repetitions: int) -> None:
    """Print the table of every part, or of those that ``--only`` names."""
    use_one_thread()
    parser = argparse.ArgumentParser()
    parser.add_argument("--repetitions", type=int, default=repetitions)
    parser.add_argument("--only", default=",".join(parts), help=f"of {', '.join(parts)}")
    given = parser.parse_args()
    if unknown := sorted(set(given.only.split(",")) - parts.keys()):
        parser.error(f"--only: unknown {unknown[0]!r}; of {', '.join(parts)}")
    error = 100 * np.sqrt(0.05 * 0.95 / given.repetitions)
    print(f"{given.repetitions} repetitions: a share of 5 or 95 % is known to ± {error:.1f} %")
    for name in given.only.split(","):
        table = set_grid(grid_of(list(parts[name](given.repetitions))), "markdown")
        print(f"\n{parts[name].__doc__}\n\n{table}", flush=True)


def held(low: ArrayLike, high: ArrayLike, truth: ArrayLike) -> NDArray[np.bool_]:
    """Return which intervals hold the truth."""
    inside: NDArray[np.bool_] = (np.asarray(low) <= np.add(truth, SLACK)) & (
        np.subtract(truth, SLACK) <= np.asarray(high)
    )
    return inside


def percent(held: Any) -> str:
    """Return the mean of what is held, in percent."""
    return f"{100 * float(np.mean(held)):.1f}" if np.size(held) else "–"


def spread(shares: Sequence[float]) -> dict[str, str]:
    """Return mean, lowest and highest of some percentages."""
    ends = {"mean %": np.mean(shares), "lowest %": min(shares), "highest %": max(shares)}
    return {name: f"{value:.1f}" for name, value in ends.items()}


def setup_of(
    kind: str, options: dict[str, Any], game: str, partners: str | dict[str, Any], **more: Any
) -> Setup:
    """Return a cell of matrix games, of 100 steps unless `more` says another horizon."""
    named = get_game(game)
    return Setup(
        kind,
        options,
        game=named,
        labels=named.label_set(),
        partners=get_partner_set(partners, named),
        **{"horizon": 100, "seed": 1, **more},
    )


def played(setup: Setup, first: int, episodes: int) -> Played:
    """Play some episodes of a cell."""
    if has_batch(setup.kind):
        records = simulate(setup, first, episodes)
    else:
        records = [play_episode(setup, first + number) for number in range(episodes)]

    def column(name: str) -> NDArray[np.int64]:
        return np.concatenate([record.column(name) for record in records])

    own, theirs = column("own_action"), column("partner_action")
    return Played(
        setup.game,
        setup.tables.partners,
        np.array([record.own["partner"] for record in records]),
        np.full(episodes, setup.horizon),
        own,
        theirs,
        column("predicted_action"),
        setup.game.own[own, theirs],
    )

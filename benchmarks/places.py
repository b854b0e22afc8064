"""How fast a store is written and read with each of the two journals, for docs/scaling.md.

    python benchmarks/places.py [FOLDER]

FOLDER, default: a temporary one, lies on the disk that is measured. Every commit waits for the disk
where SQLite is told to (a rollback journal: always; a write-ahead log: when it is emptied), so the
numbers are those of the disk as well.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from tomeval.runs.domain import Block, get_domain
from tomeval.runs.experiment import make_experiment
from tomeval.runs.places import holding, journal, reading
from tomeval.runs.results import Run
from tomeval.runs.runner import run_experiment
from tomeval.runs.store import Store

SECONDS = 3.0
EXPERIMENT = {
    "name": "places",
    "games": "IPD",
    "partners": "tit_for_tat",
    "subjects": "random",
    "horizon": 100,
    "episodes": 2000,
}
REPLY = '{"text": "' + "I cooperate, for the other player did. " * 8 + '"}'


@contextmanager
def lying_on(kind: str) -> Iterator[None]:
    """Have folders seem to lie on a file system of this kind."""
    with (
        mock.patch.multiple(journal, filesystem=lambda folder: kind),
        mock.patch.multiple(reading, filesystem=lambda folder: kind),
        mock.patch.multiple(holding, filesystem=lambda folder: kind),
    ):
        yield


def a_second(act: Callable[[int], None]) -> float:
    """Return how often something is done a second."""
    began, times = time.perf_counter(), 0
    while (took := time.perf_counter() - began) < SECONDS:
        act(times)
        times += 1
    return times / took


def measured(folder: Path) -> dict[str, float]:
    """Return rates by what is done, with the journal that is in force."""
    made = make_experiment(EXPERIMENT)
    began = time.perf_counter()
    run_experiment(made, folder)
    found = {"simulated episodes of 100 steps, in batches": 2000 / (time.perf_counter() - began)}
    block = get_domain("matrix").play_many(made.cells[0], 0, 1)
    rows = Block(list(block.episodes), list(block.steps), list(block.answers), list(block.calls))
    store = Store(folder, get_domain("matrix"))

    def add(number: int) -> None:
        ((_, *rest),) = rows.episodes
        steps = [(2000 + number, *row[1:]) for row in rows.steps]
        store.add(0, Block([(2000 + number, *rest)], steps, [], []))

    def keep(number: int) -> None:
        store.keep_reply(0, 10**6, "subject", f"{number:064d}", REPLY)

    try:
        found["episodes, a commit for each"] = a_second(add)
        found["kept replies, a commit for each"] = a_second(keep)

        def keep_ten(number: int) -> None:
            with store.together():
                for one in range(10):
                    keep(10**7 + 10 * number + one)

        found["kept replies, a commit for ten"] = 10 * a_second(keep_ten)
    finally:
        store.close()
    found["megabytes of store"] = (folder / "run.sqlite").stat().st_size / 1e6

    def read(_: int) -> None:
        with Run(folder) as run:
            run.status()

    found["looks at its status"] = a_second(read)
    return found


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if sys.argv[1:] else None) as place:
        both = []
        for kind in ("ext4", "nfs4"):
            with lying_on(kind):
                both.append(measured(Path(place) / kind))
    print("| a second | write-ahead log | rollback journal |\n| --- | --- | --- |")
    for what, value in both[0].items():
        print(f"| {what} | {value:,.1f} | {both[1][what]:,.1f} |")


if __name__ == "__main__":
    main()

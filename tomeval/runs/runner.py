"""Run an experiment into a folder: start, resume or extend it."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import FAILED
from tomeval.models import is_served, open_model
from tomeval.models.base import LOW_MASS, LocalModel, Model
from tomeval.models.served.limits import Budget
from tomeval.runs import tallies
from tomeval.runs.copies import episodes_to_play
from tomeval.runs.domain import Block, Cell, get_domain
from tomeval.runs.engine import Job, play_with_models, spec_key
from tomeval.runs.experiment import Experiment
from tomeval.runs.folder import add_session, begin_or_resume, locked, make_folder
from tomeval.runs.processes import play_all
from tomeval.runs.store import Store

logger = logging.getLogger(__name__)

Progress = Callable[[int, int], None]


def run_experiment(
    experiment: Experiment,
    folder: Path,
    *,
    workers: int = 1,
    concurrency: int = 32,
    budget: Budget | None = None,
    prefix_reuse: bool = True,
    progress: Progress | None = None,
) -> int:
    """Play what the folder does not hold yet and return the number of episodes played.

    Parameters
    ----------
    folder : Path
        The run folder; made if missing. A run of the same experiment is resumed, or extended if
        `episodes` has grown; rows on disk are never changed.
    workers, concurrency, progress
        As for `tomeval.run`.
    budget : Budget, optional
        Caps on the calls and tokens of served models; refused if there is no such model.
    prefix_reuse : bool
        False makes local models encode every prompt whole, for comparison.

    Raises
    ------
    TomevalError
        The folder holds another experiment or other files, is in use or cannot be written.
    """
    for name, number in (("workers", workers), ("concurrency", concurrency)):
        if number < 1:
            raise TomevalError(f"{name} must be at least 1, is {number}")
    _check_caps(experiment.cells, budget)
    identity = experiment.identity()
    make_folder(folder)
    with locked(folder):
        store = Store(folder, get_domain(experiment.domain))
        try:
            begin_or_resume(store, folder, identity, experiment.per_cell)
            add_session(folder)
            filler = _Filler(store, experiment, progress)
            filler.play_without_models(workers)
            opening = {"base": experiment.base, "prefix_reuse": prefix_reuse}
            filler.play_with_models(concurrency, budget, opening)
            more = _Filler(store, experiment, None)
            if more.total > filler.total:  # what seemed to be copies is not, see `runs.copies`
                more = _Filler(store, experiment, progress)
                more.play_with_models(concurrency, budget, opening)
                return filler.played + more.played
            return filler.played
        finally:
            store.close()


def _check_caps(cells: Sequence[Cell], budget: Budget | None) -> None:
    """Refuse caps that would count nothing."""
    players = [player for cell in cells for player in cell.seats.values() if player]
    if budget is not None and not any(player.served for player in players):
        names = ", ".join(sorted({player.model_name for player in players} - {""}))
        not_them = f", not {names}" if names else "; none plays here"
        raise TomevalError(f"--max-calls and --max-tokens are for served models{not_them}")


class _Filler:
    """Plays the episodes that the store lacks."""

    def __init__(self, store: Store, experiment: Experiment, progress: Progress | None) -> None:
        self.store, self.progress = store, progress
        self.domain, self.cells = store.domain, experiment.cells
        done = store.finished()
        wanted = [
            episodes_to_play(store, number, cell, experiment.per_cell)
            for number, cell in enumerate(self.cells)
        ]
        self.missing = [
            [e for e in episodes if e not in done.get(number, ())]
            for number, episodes in enumerate(wanted)
        ]
        lengths = zip(self.cells, wanted, strict=True)
        self.total = sum(cell.length * len(episodes) for cell, episodes in lengths)
        lengths = zip(self.cells, self.missing, strict=True)
        self.ready = self.total - sum(cell.length * len(lacks) for cell, lacks in lengths)
        self.played = 0
        self.under_way = 0  # steps of episodes that are not finished
        self._report()

    def play_without_models(self, workers: int) -> None:
        """Play the cells that ask no model."""
        tasks = [
            (number, first, count)
            for number, cell in enumerate(self.cells)
            if not cell.models
            for first, count in _stretches(self.missing[number], max(1, self.domain.together(cell)))
        ]
        for (number, _, _), block in play_all(self.domain, self.cells, tasks, workers):
            self.done(number, block)

    def play_with_models(
        self, concurrency: int, budget: Budget | None, opening: dict[str, Any]
    ) -> None:
        """Play the rest, cells with the same models together: no others are kept in memory.

        `opening` holds the other arguments of `tomeval.models.open_model`.
        """
        # Episode by episode over all cells: a run that is stopped has some of everything, and the
        # time left is estimated from the mix of strategies that is still to come.
        jobs = sorted(
            (episode, number)
            for number, cell in enumerate(self.cells)
            if cell.models
            for episode in self.missing[number]
        )
        groups: dict[tuple[str, ...], list[Job]] = {}
        scored: set[str] = set()
        for episode, number in jobs:
            cell = self.cells[number]
            specs = tuple(sorted({spec_key(spec) for spec in cell.models.values()}))
            groups.setdefault(specs, []).append((number, episode))
            scored |= set(specs) if cell.scores else set()
        opened: dict[str, Model | LocalModel] = {}
        for specs, mine in groups.items():
            for gone in opened.keys() - set(specs):
                del opened[gone]
            for key in specs:
                if key not in opened:
                    spec = json.loads(key)
                    caps = budget if is_served(spec) else None
                    opened[key] = open_model(spec, scores=key in scored, budget=caps, **opening)
            play_with_models(
                opened, self.store, self.cells, mine, concurrency, self.done, self.on_step
            )
        if groups:
            self._warn()

    def _warn(self) -> None:
        """Warn of what may be wrong with the models' answers, of earlier sessions too."""
        lost = sum(count.get(FAILED, 0) for count in tallies.episodes(self.store).values())
        if lost:
            logger.warning(
                "%d episodes failed because the model gave no reply: run the same command again to "
                "play them",
                lost,
            )
        low, scored = tallies.low_mass(self.store)
        if low:
            logger.warning(
                "%d of %d scored answers give all labels together less than %g of the probability: "
                "the model would hardly say any of them here",
                *(low, scored, LOW_MASS),
            )

    def on_step(self) -> None:
        """Count a step of a language model: these take long enough to be shown."""
        self.under_way += 1
        self._report()

    def done(self, number: int, block: Block, under_way: int = 0) -> None:
        """Store finished episodes; `under_way` of their steps have been counted."""
        self.under_way -= under_way
        self.store.add(number, block)
        self.played += len(block.episodes)
        self.ready += len(block.episodes) * self.cells[number].length
        self._report()

    def _report(self) -> None:
        if self.progress:
            self.progress(self.ready + self.under_way, self.total)


def _stretches(numbers: list[int], most: int) -> Iterator[tuple[int, int]]:
    """Yield (first, count) of runs of consecutive numbers, at most `most` long."""
    start = 0
    for place in range(1, len(numbers) + 1):
        ends = place == len(numbers) or numbers[place] != numbers[place - 1] + 1
        if ends or place - start == most:
            yield numbers[start], place - start
            start = place

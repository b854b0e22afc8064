"""Run an experiment into a folder: start, resume, extend, in one or several processes."""

from __future__ import annotations

import itertools
import json
import logging
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import connection
from pathlib import Path
from typing import Any

from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import COMPLETE
from tomeval.domains.matrix.batch import BATCH_KINDS, simulate
from tomeval.domains.matrix.experiment import Cell, Experiment
from tomeval.domains.matrix.play import play_episode
from tomeval.domains.matrix.steps import Steps
from tomeval.domains.matrix.subject_specs import LLM
from tomeval.models import open_model
from tomeval.models.served.limits import Budget
from tomeval.runs.folder import add_session, begin_or_resume, locked, make_folder
from tomeval.runs.store import STORE, Store
from tomeval.strategies import parse_strategy
from tomeval.strategies.answers import LOW_MASS

logger = logging.getLogger(__name__)

STEPS_PER_CHUNK = 100_000
"""How many steps a batch holds at most: what is lost when a run is killed, and its memory."""

Progress = Callable[[int, int], None]
_Task = tuple[int, int, int]  # cell, first episode, number of episodes


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
    experiment : Experiment
    folder : Path
        The run folder; made when missing. A run of the same experiment is resumed, or extended
        where `episodes` has grown; rows on disk are never changed.
    workers : int
        Processes for subjects that need no model. The rows do not depend on it.
    concurrency : int
        Episodes of a language model that are played at a time.
    budget : Budget, optional
        Caps on the calls and tokens of served models.
    prefix_reuse : bool
        False makes local models encode every prompt whole, for comparison.
    progress : callable, optional
        Called with (steps done, steps in all) after each batch.

    Raises
    ------
    TomevalError
        The folder holds another experiment or other files, is in use or cannot be written.
    """
    if workers < 1:
        raise TomevalError(f"workers must be at least 1, is {workers}")
    if concurrency < 1:
        raise TomevalError(f"concurrency must be at least 1, is {concurrency}")
    cells = experiment.cells()
    identity = json.loads(json.dumps(experiment.identity()))
    make_folder(folder, STORE, "not a run folder")
    with locked(folder):
        store = Store(folder, write=True)
        begin_or_resume(store, folder, identity, "episodes", experiment.episodes)
        try:
            add_session(folder)
            filler = _Filler(store, cells, experiment.episodes, progress)
            filler.play_in_processes(workers)
            opening = {"base": experiment.base, "budget": budget, "prefix_reuse": prefix_reuse}
            filler.play_with_models(concurrency, opening)
            return filler.played
        finally:
            store.close()


class _Filler:
    """Plays all episodes that the store lacks."""

    def __init__(
        self, store: Store, cells: list[Cell], episodes: int, progress: Progress | None
    ) -> None:
        self.store, self.cells, self.progress = store, cells, progress
        self.tasks = list(_tasks(cells, episodes, store.finished()))
        self.total = sum(cell.setup.horizon * episodes for cell in cells)
        missing = sum(count * cells[number].setup.horizon for number, _, count in self.tasks)
        self.ready = self.total - missing
        self.played = 0
        self.under_way = 0  # steps of episodes that are not finished
        self._report()

    def play_in_processes(self, workers: int) -> None:
        """Play what needs no model."""
        tasks = [task for task in self.tasks if self.cells[task[0]].setup.kind != LLM]
        for (number, _, _), steps in _play_all(self.cells, tasks, workers):
            self.done(number, steps)

    def play_with_models(self, concurrency: int, opening: dict[str, Any]) -> None:
        """Play language models, one after another: only one is in memory at a time.

        `opening` holds what `tomeval.models.open_model` takes beside the model and what it is for.
        """
        by_model: dict[str, list[tuple[int, int]]] = {}
        # Episode by episode over all cells: a run that is stopped has some of everything, and the
        # time left is estimated from the mix of strategies that is still to come.
        for number, first, _ in sorted(self.tasks, key=lambda task: (task[1], task[0])):
            setup = self.cells[number].setup
            if setup.kind == LLM:
                spec = json.dumps(setup.options["model"], sort_keys=True)
                by_model.setdefault(spec, []).append((number, first))
        for spec, jobs in by_model.items():
            from tomeval.runs.engine import play_with_model

            setups = [self.cells[number].setup for number, _ in jobs]
            scores = any(parse_strategy(s.options.get("strategy", "QA")).scores for s in setups)
            model = open_model(json.loads(spec), scores=scores, **opening)
            play_with_model(
                model, self.cells, jobs, self.store, concurrency, self.done, self.on_step
            )
            del model
        if by_model:
            self._warn()

    def _warn(self) -> None:
        """Tell what may be wrong with the models' answers, those of earlier sessions included."""
        lost = self.store.failed()
        if lost:
            logger.warning(
                "%d episodes failed because the model gave no reply: run the same command again to "
                "play them",
                lost,
            )
        low, scored = self.store.low_mass()
        if low:
            logger.warning(
                "%d of %d scored answers give all labels together less than %g of the probability: "
                "the model would hardly say any of them here",
                low,
                scored,
                LOW_MASS,
            )

    def on_step(self) -> None:
        """Count a step of a language model's episode: these take long enough to be shown."""
        self.under_way += 1
        self._report()

    def done(self, number: int, steps: Steps) -> None:
        """Store finished episodes."""
        setup = self.cells[number].setup
        if setup.kind == LLM:
            self.under_way -= steps.own_action.shape[1] - (steps.status != COMPLETE)
        self.store.add(number, steps, steps.rewards(setup.game))
        self.played += len(steps.episodes)
        self.ready += len(steps.episodes) * setup.horizon
        self._report()

    def _report(self) -> None:
        if self.progress:
            self.progress(self.ready + self.under_way, self.total)


def _tasks(cells: list[Cell], episodes: int, done: dict[int, set[int]]) -> Iterator[_Task]:
    """Cut the missing episodes into stretches to be played together."""
    for number, cell in enumerate(cells):
        size = max(1, STEPS_PER_CHUNK // cell.setup.horizon)
        if cell.setup.kind not in BATCH_KINDS:
            size = 1
        have = done.get(number, set())
        first = 0
        while first < episodes:
            count = 0
            while count < size and first + count < episodes and first + count not in have:
                count += 1
            if count:
                yield number, first, count
            first += max(count, 1)


_CELLS: list[Cell] = []


def _share(cells: list[Cell]) -> None:
    """Make a worker process ready: give it the cells, and tie it to the life of its parent."""
    _CELLS[:] = cells
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this process when its parent is gone, even killed: it would hold the folder's lock."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def _play(task: _Task) -> tuple[_Task, Steps]:
    """Play one task in a worker process."""
    return task, play_task(_CELLS[task[0]], task[1], task[2])


def play_task(cell: Cell, first: int, count: int) -> Steps:
    """Play consecutive episodes of a cell: in batch where its subject can, else just the first."""
    if cell.setup.kind in BATCH_KINDS:
        return simulate(cell.setup, first, count)
    return play_episode(cell.setup, first)


def _play_all(cells: list[Cell], tasks: list[_Task], workers: int) -> Iterator[tuple[_Task, Steps]]:
    """Yield every task's steps; with several workers in any order."""
    if workers == 1 or len(tasks) < 2:
        for task in tasks:
            yield task, play_task(cells[task[0]], task[1], task[2])
        return
    # Forked workers know subjects that a script registered; where there is no fork, only built-in
    # ones can run in several processes.
    method = "fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn"
    context = multiprocessing.get_context(method)
    count = min(workers, len(tasks))
    # Only a few tasks are handed out at a time: where writing is slower than playing, results
    # would pile up in memory.
    todo = iter(tasks)
    with ProcessPoolExecutor(count, context, _share, (cells,)) as pool:
        waiting: set[Future[tuple[_Task, Steps]]] = set()
        try:
            waiting |= {pool.submit(_play, task) for task in itertools.islice(todo, 2 * count)}
            while waiting:
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                waiting |= {pool.submit(_play, t) for t in itertools.islice(todo, len(done))}
                yield from (future.result() for future in done)
        except BrokenProcessPool:
            raise TomevalError(
                "a worker process died (out of memory?); finished episodes are kept: run the same "
                "command again, with fewer --workers if need be"
            ) from None
        finally:
            pool.shutdown(cancel_futures=True)

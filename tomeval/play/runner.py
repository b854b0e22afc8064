"""Run an experiment into a folder: start, resume or extend it.

An experiment (`tomeval.runs.experiment`) is checked and expands into cells, each with players in
seats and a number of episodes. This module opens the run folder and its store
(`tomeval.runs.writing`), and finds what is not played yet. `filling.py` hands that out: an engine
(`engines.py`) plays cells without a model, `engine.py` those of language models in the order of
`schedule.py`. An episode is a `tomeval.runs.record.Record`, stored as one line; replies of
unfinished ones are kept, so that a run goes on where it was killed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from tomeval.core.errors import MissingExtra, TomevalError
from tomeval.models import Ahead, lacking, look_ahead, model_name
from tomeval.models.served import Budget, BudgetExceeded
from tomeval.play.engine import spec_key
from tomeval.play.engines import Engine
from tomeval.play.filling import Filler
from tomeval.play.live import Live, Progress, Stopping
from tomeval.play.schedule import Shard, without
from tomeval.play.until import Looks, check
from tomeval.runs.domain import get_domain
from tomeval.runs.experiment import Experiment
from tomeval.runs.folder import add_session, locked, make_folder
from tomeval.runs.store import Store
from tomeval.runs.writing import WritableStore


def run_experiment(
    experiment: Experiment,
    folder: Path,
    *,
    workers: int = 1,
    engine: Engine | None = None,
    concurrency: int = 32,
    budget: Budget | None = None,
    shard: Shard | None = None,
    progress: Progress | None = None,
    live: Live | None = None,
    go_on: bool = False,
) -> int:
    """Play what the folder does not hold yet and return the number of episodes played.

    Parameters
    ----------
    folder : Path
        The run folder; made if missing. A run of the same experiment is resumed, or extended if
        `episodes` has grown; rows on disk are never changed.
    engine : Engine, optional
        Plays all that it can; the rows do not depend on it. It is closed at the end. Default: this
        process, with its workers.
    workers, concurrency, progress
        As for `tomeval.run`.
    budget : Budget, optional
        Caps on the calls, tokens and cost of served models; refused if there is no such model.
    shard : Shard, optional
        Play only this part of the experiment, into files of its own.
    live : Live, optional
        Is kept up to date, for a display that reads it.
    go_on : bool
        Play on although none of the first questions to a model could be read.

    Raises
    ------
    TomevalError
        The folder holds another experiment or other files, is in use or cannot be written; or the
        engine cannot do what it is asked for.
    UnreadError
        None of the first questions to a model could be read.
    """
    for name, number in (("workers", workers), ("concurrency", concurrency)):
        if number < 1:
            raise TomevalError(f"{name} must be at least 1, is {number}")
    check(experiment)
    if experiment.until and shard:
        raise TomevalError(
            "until cannot be combined with --shard: which episodes are played depends on all"
        )
    # A model that cannot be opened must not leave a folder.
    _check_caps(budget, known_models(experiment))
    if missing := lacks(experiment):
        raise missing
    identity = experiment.identity()
    live = live or Live()
    with ExitStack() as stack:
        engine = engine or Engine(workers)
        engine.concurrency = concurrency
        stack.callback(engine.close)
        engine.prepare(experiment)
        make_folder(folder)
        stopping = stack.enter_context(Stopping())
        part = shard.part if shard else ""
        stack.enter_context(locked(folder, part))
        store = WritableStore(folder, get_domain(experiment.domain), part)
        looks = None
        try:
            most = store.begin(identity, experiment.per_cell, experiment.apart)
            add_session(store, experiment.stop_after_voids, None if experiment.until else most)
            if experiment.until:
                looks = Looks(experiment, store)
            elif not all(_whole(store, wanted_of(experiment, shard))):
                store.note_until({})  # of an earlier session with a condition
            if live.shown == "field":  # whose display would write over a line
                stopping.say = partial(setattr, live, "note")
            live.progress = progress
            filler = Filler(store, experiment, stopping, live, engine, budget, go_on)
            filler.play(wanted_of(experiment, shard, looks.episodes if looks else None))
            while looks and looks.look(_whole(store, filler.wanted)):
                filler.play(wanted_of(experiment, counts=looks.episodes))
            return filler.played
        except BudgetExceeded as reached:
            again = "everything is kept: run the same command again to go on"
            raise BudgetExceeded(f"{reached}; {again}") from None
        finally:
            store.close()


def _check_caps(budget: Budget | None, known: Mapping[str, Ahead]) -> None:
    """Refuse caps that would count nothing, or not everything."""
    if budget is None:
        return
    if not any(ahead.served for ahead in known.values()):
        raise TomevalError(
            "--max-calls, --max-tokens and --max-cost are for served models; none plays here"
        )
    free = [key for key, ahead in known.items() if ahead.served and ahead.price is None]
    if budget.max_cost is not None and free:
        name = model_name(json.loads(free[0]))
        raise TomevalError(f"--max-cost: no price for {name}; give it the option `price`")


def wanted_of(
    experiment: Experiment,
    shard: Shard | None = None,
    counts: Sequence[int] | None = None,
) -> list[Sequence[int]]:
    """Return which episodes each cell is to have, by what is known so far.

    `counts` has those of cells in place of the number that all have.
    """
    planned = counts or [experiment.per_cell] * len(experiment.cells)
    each = zip(experiment.cells, planned, strict=True)
    wanted: list[Sequence[int]] = [range(cell.wanted(count)) for cell, count in each]
    if shard is None:
        return wanted
    together = get_domain(experiment.domain).together
    return [
        shard.among(number, episodes, together(cell))
        for number, (cell, episodes) in enumerate(zip(experiment.cells, wanted, strict=True))
    ]


def is_whole(store: Store, wanted: Sequence[Sequence[int]]) -> bool:
    """Return whether a store holds all the episodes that it is to have."""
    return all(_whole(store, wanted))


def _whole(store: Store, wanted: Sequence[Sequence[int]]) -> list[bool]:
    """Return whether each cell holds all the episodes that it is to have."""
    return [
        not len(without(episodes, store.finished(cell))) for cell, episodes in enumerate(wanted)
    ]


def known_models(experiment: Experiment) -> dict[str, Ahead]:
    """Return what is known of every model, by `spec_key`, without asking or loading any.

    Raises `TomevalError` for what cannot be opened.
    """
    specs = {spec_key(spec): spec for cell in experiment.cells for spec in cell.models.values()}
    scored = {spec_key(s) for cell in experiment.cells if cell.scores for s in cell.models.values()}
    return {key: look_ahead(s, experiment.base, key in scored) for key, s in specs.items()}


def lacks(experiment: Experiment) -> MissingExtra | None:
    """Return why an experiment's models cannot play here for want of a library, else None.

    A plan needs none of them, so that it can be made elsewhere than the run.
    """
    specs = (spec for cell in experiment.cells for spec in cell.models.values())
    return next(filter(None, map(lacking, specs)), None)

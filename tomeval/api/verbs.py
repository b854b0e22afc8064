"""The verbs of the Python API: run an experiment, score a recorded game, bound a cell."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from tomeval.api.notebook import in_notebook, shown_in_notebook
from tomeval.api.opened import Run
from tomeval.core.errors import TomevalError
from tomeval.core.extensions import portion
from tomeval.domains.matrix.games import MatrixGame, get_game
from tomeval.domains.matrix.log_fields import Reading
from tomeval.domains.matrix.optima import Bounds
from tomeval.domains.matrix.optima import bounds as _bounds
from tomeval.domains.matrix.partner_specs import get_partner_set
from tomeval.domains.matrix.partners import PartnerSet
from tomeval.domains.matrix.recording import LogKeys, recorded_games
from tomeval.domains.matrix.scoring import Scored, one_row
from tomeval.domains.matrix.scoring import score as _score
from tomeval.models.served.limits import Budget
from tomeval.runs.domain import get_domain
from tomeval.runs.engines import make_engine
from tomeval.runs.experiment import Experiment, load_experiment, make_experiment
from tomeval.runs.importing import import_games
from tomeval.runs.live import Live, OnCounts, Progress
from tomeval.runs.runner import run_experiment
from tomeval.statistics import AUTO

logger = logging.getLogger(__name__)

_T = TypeVar("_T")


def run(
    experiment: Experiment | dict[str, Any] | str | Path,
    out: str | Path,
    *,
    workers: int = 1,
    engine: str | None = None,
    replicas: int | None = None,
    gpus_per_replica: float | None = None,
    concurrency: int = 32,
    budget: Budget | None = None,
    startup_test: bool = True,
    shard: str | None = None,
    progress: Progress | None = None,
    on_counts: OnCounts | None = None,
) -> Run:
    """Run an experiment of any domain into a folder, or resume or extend it; return the results.

    Parameters
    ----------
    experiment : Experiment, dict or path
        A dict has the keys of an experiment file, `domain` among them; a path names such a file.
    out : path
        The run folder.
    workers : int
        Processes, for cells that ask no model; the rows do not depend on it.
    engine : str, optional
        Play all but served models on replicas in place of this process: ``"ray"``, on the cluster
        that runs here or else on this machine, or ``"ray:HOST:PORT"``. Rows do not depend on it.
    replicas : int, optional
        With an engine: how many play at a time; default: 1.
    gpus_per_replica : float, optional
        With an engine: GPUs of each, a whole number or a share of one; default: 0, they see none.
    concurrency : int
        Episodes with language models played at a time; with an engine, on each replica.
    budget : Budget, optional
        `tomeval.models.served.limits.Budget`: caps on the calls and tokens of served models.
    startup_test : bool
        Before playing, ask each served model one question of each kind, and log whether it
        explains, thinks, is cut off or cannot be read; the replies are kept in ``startup.json``.
    shard : str, optional
        Play only one of several parts of the experiment, such as ``"3/16"``, see `tomeval.merge`.
    progress : callable, optional
        Called with (steps done, steps in all), which count earlier sessions too. The second number
        falls when a cell is stopped.
    on_counts : callable, optional
        Called with a `tomeval.runs.live.Counts` at the start and whenever it changes: episodes
        that are complete, void and failed, and questions asked again, over all sessions. In a
        notebook, without either of the two, lines below the cell show how it goes.

    Raises
    ------
    TomevalError
        What is wrong with the experiment or the folder.

    Examples
    --------
    >>> import tempfile, tomeval
    >>> experiment = {"games": "RPS", "subjects": ["best_response", "random"], "episodes": 20}
    >>> with tempfile.TemporaryDirectory() as folder, tomeval.run(experiment, folder) as result:
    ...     rows = result.rows()
    >>> [row["subject"] for row in rows], rows[0]["delta_functional_per_step"]
    (['best_response', 'random'], 0.0)
    """
    if isinstance(experiment, str | Path):
        experiment = load_experiment(experiment)
    elif isinstance(experiment, dict):
        experiment = make_experiment(experiment)
    options = {"replicas": replicas, "gpus_per_replica": gpus_per_replica}
    made = make_engine(engine, None if workers == 1 else workers, **options)
    with _watched(progress, on_counts) as (live, on_steps):
        run_experiment(
            experiment,
            Path(out),
            workers=workers,
            engine=made,
            concurrency=concurrency,
            budget=budget,
            startup_test=startup_test,
            part=None if shard is None else portion("shard")(shard),
            progress=on_steps,
            on_counts=on_counts,
            live=live,
        )
    return Run(out)


def merge(folders: Sequence[str | Path], out: str | Path) -> Run:
    """Merge run folders of one experiment, such as its shards, into one; return the result.

    Parameters
    ----------
    folders : sequence of path
        Their order makes no difference; they are not changed.
    out : path
        A new folder, or that of a run of the same experiment, which is filled.

    Raises
    ------
    TomevalError
        The folders do not fit together, see `tomeval.extensions.shards.merging.merge`.

    Examples
    --------
    >>> import tempfile, tomeval
    >>> experiment = {"games": "RPS", "subjects": ["best_response", "random"], "episodes": 20}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for shard in ("1/2", "2/2"):
    ...         tomeval.run(experiment, f"{folder}/{shard[0]}", shard=shard).close()
    ...     with tomeval.merge([f"{folder}/1", f"{folder}/2"], f"{folder}/whole") as result:
    ...         [row["episodes"] for row in result.rows()]
    [20, 20]
    """
    portion("merge")([Path(folder) for folder in folders], Path(out))
    return Run(out)


@contextmanager
def _watched(
    progress: Progress | None, on_counts: OnCounts | None
) -> Iterator[tuple[Live | None, Progress | None]]:
    """Give who is told how a run goes: the notebook, where no one else asked to be."""
    if progress is None and on_counts is None and in_notebook():
        with shown_in_notebook() as shown:
            yield shown
    else:
        yield None, progress


def score(
    path: str | Path,
    game: str | Path | MatrixGame,
    partner: str | Path | PartnerSet,
    *,
    labels: str | None = None,
    reference: str = "horizon",
    interval: str = AUTO,
) -> dict[str, Any]:
    """Score recorded matches against one partner as one row; see `score_rows` for more.

    Parameters
    ----------
    path, reference, interval
        The log, one row per step; what regret is measured from and the kind of interval, as for
        `Run.rows`.
    game : str, Path or MatrixGame
        A game's name, its file, or the game.
    partner : str, Path or PartnerSet
        The same of a partner or a set; ``"unknown"`` gives what needs no partner's table, and
        regret in hindsight.
    labels : str, optional
        The label set that the file uses; default: any of the game's.
    """
    reading = log_reading(game, partner, labels=labels, by=())
    return one_row(_score(path, reading, reference, interval), path)


def score_rows(
    path: str | Path,
    game: str | Path | MatrixGame | None = None,
    partner: str | Path | PartnerSet | None = None,
    *,
    reference: str = "horizon",
    interval: str = AUTO,
    episodes: bool = False,
    **how: Any,
) -> Scored:
    """Score recorded matches, one row per game, subject, condition and partner, or per match.

    Parameters
    ----------
    game, partner
        What all matches were of; None: as the columns ``game`` and ``partner`` say.
    episodes : bool
        A row per match in place of one per cell, see `tomeval.domains.matrix.scoring.score`.
    how
        ``labels``, ``columns``, ``by``, ``values``, ``invalid``, ``carry_over`` and ``skip_bad``,
        see `tomeval.domains.matrix.log_fields.Reading`.

    Returns
    -------
    Scored
        `rows`, and `notes` that say what was left out.
    """
    return _score(path, log_reading(game, partner, **how), reference, interval, episodes)


def import_log(
    path: str | Path,
    out: str | Path,
    game: str | Path | MatrixGame | None = None,
    partner: str | Path | PartnerSet | None = None,
    *,
    reference: str = "horizon",
    **how: Any,
) -> Run:
    """Make a run of recorded matches in the folder `out`; parameters as for `score_rows`."""
    keys = LogKeys(log_reading(game, partner, **how), reference)
    import_games(get_domain("matrix"), lambda: recorded_games(Path(path), keys), Path(out))
    return Run(out)


def log_reading(
    game: str | Path | MatrixGame | None, partner: str | Path | PartnerSet | None, **how: Any
) -> Reading:
    """Return how a log is read; parameters as for `score_rows`."""
    found = None if game is None else _game(game)
    return Reading(
        found, None if partner is None else _named("partner", partner, PartnerSet), **how
    )


def _game(given: str | Path | MatrixGame) -> MatrixGame:
    """Return a game that is named, in a file, or given as it is."""
    found = _named("game", given, MatrixGame)
    return get_game(found) if isinstance(found, str) else found


def _named(what: str, given: str | Path | _T, kind: type[_T]) -> str | _T:
    """Return a name or the path of a file as text, and an object of `kind` as it is."""
    if isinstance(given, str | Path):
        return str(given)
    if not isinstance(given, kind):
        raise TomevalError(f"{what} must be a name, a file or a {kind.__name__}, is {given!r}")
    return given


def bounds(
    game: str | Path | MatrixGame,
    partners: str | Path | PartnerSet,
    horizon: int = 100,
    reference: str = "horizon",
) -> list[Bounds]:
    """Return what is attainable against each partner of a set; see `optima.bounds`.

    Examples
    --------
    >>> import tomeval
    >>> [round(row.regret_max, 2) for row in tomeval.bounds("IPD", "single_action")]
    [2.0, 5.0]
    """
    found = _game(game)
    named = _named("partners", partners, PartnerSet)
    sets = get_partner_set(named, found) if isinstance(named, str) else named
    return _bounds(found, sets, horizon, reference)

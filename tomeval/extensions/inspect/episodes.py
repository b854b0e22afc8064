"""Episodes of an eval, played by tomeval's own engine, measured as in a run, and made one."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from functools import cache, wraps
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from tomeval import __version__
from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import COMPLETE, VOID
from tomeval.core.parts import CommandPart
from tomeval.core.printing import show, tell
from tomeval.extensions.inspect.comparing import read_log
from tomeval.extensions.inspect.games import game_log
from tomeval.games.matrix.commands import import_ as import_matches
from tomeval.games.matrix.foreign import READERS
from tomeval.models.base import Model
from tomeval.runs import tallies
from tomeval.runs.domain import cell_names, get_domain
from tomeval.runs.experiment import Experiment, make_experiment
from tomeval.runs.folder import Recorded, import_games, write_games
from tomeval.runs.record import Record
from tomeval.runs.results import Run

INVALID = "invalid_percent"
"""What is said of an episode beside its measures and `VOID`."""

KEPT = "tomeval"
"""Where logs hold what is tomeval's: in the metadata of the eval and in the store of samples."""

_DAMAGE = (TypeError, ValueError, LookupError, AttributeError, OverflowError)


class Measured(NamedTuple):
    """Measures of an episode by name, NaN without a value; what became of it, and a transcript."""

    values: dict[str, float]
    status: str
    reason: str
    text: str


def experiment_of(data: Mapping[str, Any], model: str) -> Experiment:
    """Return an experiment by its raw data, with one model in place of all that it names."""
    return _experiment(json.dumps(data), model)


@cache
def _experiment(text: str, model: str) -> Experiment:
    data = json.loads(text)
    get_domain(data["domain"]).experiment.use_model(data, model)
    return make_experiment(data, where=str(data["name"]))


async def play(experiment: Experiment, number: int, episode: int, model: Model) -> Record:
    """Play one episode of a cell, every language model in it being `model`."""
    cell = experiment.cells[number]
    lines = dict.fromkeys(cell.models, model)
    return await cell.play(episode, lines, lambda: None)


def digest(experiment: Experiment) -> str:
    """Return a hash of what is played: games, partners and prompts, and by whom."""
    text = json.dumps(experiment.identity()["cells"], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def packed(record: Record) -> str:
    """Return an episode as JSON."""
    return json.dumps(asdict(record))


def unpacked(text: str) -> Record:
    """Return what `packed` was given."""
    data = json.loads(text)
    for name in ("answers", "calls"):
        data[name] = [tuple(row) for row in data[name]]
    return Record(**data)


def recorded(experiment: Experiment, played: Mapping[tuple[int, int], Record]) -> Recorded:
    """Return episodes, by cell and number, as games for a run of the whole experiment."""
    cells = []
    for number, definition in enumerate(experiment.identity()["cells"]):
        cells.append((definition, [played[key] for key in sorted(played) if key[0] == number]))
    return Recorded(cells, [])


@contextmanager
def run_of(experiment: Experiment, played: Mapping[tuple[int, int], Record]) -> Iterator[Run]:
    """Return episodes as a run, whose folder is gone afterwards."""
    with TemporaryDirectory(prefix="tomeval-") as folder:
        write_games(get_domain(experiment.domain), Path(folder), recorded(experiment, played))
        with Run(folder) as run:
            yield run


def measure(experiment: Experiment, number: int, record: Record) -> Measured:
    """Return what one episode comes to, measured as in a run."""
    episode, status = record.episode, record.status
    with run_of(experiment, {(number, episode): record}) as run:
        cell = run.cells[number]
        values = dict.fromkeys(run.measures, math.nan)
        if status == COMPLETE:
            values |= {name: float(cell.totals(name).parts[0]) for name in cell.measures}
        values[INVALID] = 100 * tallies.rates_of(run.store, [number])["invalid_rate"]
        values[VOID] = float(status != COMPLETE)
        text = "\n".join(line.text for line in cell.lines(episode))
        return Measured(values, status, run.store.last_unread(number, episode), text)


def estimates(experiment: Experiment, played: Mapping[tuple[int, int], Record]) -> dict[str, float]:
    """Return means and ends of 95 % intervals over the complete episodes, by cell and measure.

    Names of several cells begin with what tells them apart. Measures without a value are left out,
    and so are intervals where there are too few episodes.
    """
    domain = get_domain(experiment.domain)
    names = cell_names(domain, [cell.definition | {"model": ""} for cell in experiment.cells])
    values: dict[str, float] = {}
    with run_of(experiment, played) as run:
        ended = tallies.episodes(run.store)
        for cell, row, name in zip(run.cells, run.rows(), names, strict=True):
            if counts := ended.get(cell.number):
                before, count = f"{name}: " * (len(names) > 1), sum(counts.values())
                for end, ending in {"": "", " low": "_ci95_low", " high": "_ci95_high"}.items():
                    for measured in run.measures:
                        if math.isfinite(value := row.get(measured + ending, math.nan)):
                            values[f"{before}{measured}{end}"] = value
                values[f"{before}episodes"] = float(count)
                values[f"{before}{VOID}"] = float(count - counts.get(COMPLETE, 0))
                values[f"{before}{INVALID}"] = 100 * row["invalid_rate"]
    return values


@wraps(import_matches, assigned=("__annotations__",))  # with its options
def import_(games: Path, out: Path | None = None, **options: Any) -> None:
    """Make a run folder from an Inspect log of tomeval's tasks, or of games with known moves."""
    if KEPT not in (read_log(games).eval.metadata or {}):
        import_matches(games, out, **options)
        return
    if any(options.values()):
        raise TomevalError(f"{games}: is of tomeval's own tasks: only --out can be given")
    domain, found = recorded_log(games)
    folder = out or Path("runs") / games.stem
    import_games(get_domain(domain), lambda: found, folder)
    for note in found.notes:
        tell(note)
    show(folder)


READERS[".eval"] = game_log
IMPORT = CommandPart(import_, lambda name: name.endswith(".eval"))


def recorded_log(path: Path) -> tuple[str, Recorded]:
    """Return the domain of an eval log of tomeval's tasks, and its episodes for a run.

    Rows are those that the log holds; measures follow from them anew.

    Raises
    ------
    TomevalError
        The log cannot be read, is of another task or another version of tomeval, or of games,
        partners or prompts other than those that are named here; an episode is damaged.
    """
    log = read_log(path)
    about = (log.eval.metadata or {}).get(KEPT)
    if not isinstance(about, Mapping):
        raise TomevalError(f"{path}: is a log of the task {log.eval.task!r}, not of tomeval's own")
    if about.get("version") != __version__:
        raise TomevalError(
            f"{path}: was written by tomeval {about.get('version')!r}, this is {__version__}: "
            "import it with that version"
        )
    model = f"inspect:{log.eval.model}"
    played: dict[tuple[int, int], Record] = {}
    revisions: dict[str, str] = {}
    samples, where = log.samples or (), str(path)
    try:
        experiment = experiment_of(about["experiment"], model)
        for sample in samples:
            where, kept = f"{path}: sample {sample.id!r}", sample.store.get(KEPT)
            if sample.error is None and kept:
                number, record = _episode(experiment, kept)
                played[number, record.episode] = record
                revisions[model] = str(kept["revision"])
    except TomevalError as error:
        raise TomevalError(f"{where}: {error}") from None
    except _DAMAGE as error:
        raise TomevalError(f"{where}: damaged: {error!r}") from None
    if not played:
        raise TomevalError(f"{path}: holds no episode that was played to its end")
    result = recorded(experiment, played)._replace(revisions=revisions)
    planned = len(log.eval.dataset.sample_ids or samples)
    if planned > len(played):
        result.notes.append(
            f"{planned - len(played)} of {planned} samples have an error, met a limit or are "
            "missing: left out, as no episode was played"
        )
    return experiment.domain, result


def _episode(experiment: Experiment, kept: Mapping[str, Any]) -> tuple[int, Record]:
    """Return the cell and an episode, if it can be what a run would have written."""
    number, record = kept["cell"], unpacked(kept["rows"])
    if kept["digest"] != digest(experiment):
        raise TomevalError("was played with games, partners or prompts other than those named")
    if number not in range(len(experiment.cells)) or record.episode not in range(2**31):
        raise TomevalError(f"cell {number!r}, episode {record.episode!r}: is none of a run")
    measure(experiment, number, record)  # what cannot be stored or read is refused
    return number, record

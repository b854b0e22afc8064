"""Episodes of an eval, played by tomeval's own engine and measured as in a run."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from tomeval.core.outcomes import COMPLETE
from tomeval.models.base import Model
from tomeval.runs import tallies
from tomeval.runs.domain import cell_names, get_domain
from tomeval.runs.experiment import Experiment, make_experiment
from tomeval.runs.record import Record
from tomeval.runs.recorded import Recorded, write_games
from tomeval.runs.results import Run

INVALID, VOID = "invalid_percent", "void"
"""What is said of an episode beside its measures."""


class Measured(NamedTuple):
    """Measures of an episode by name, NaN without a value; what became of it, and a transcript."""

    values: dict[str, float]
    status: str
    reason: str
    text: str


@cache
def _experiment(text: str, model: str) -> Experiment:
    data = json.loads(text)
    get_domain(data["domain"]).experiment.use_model(data, model)
    return make_experiment(data, where=str(data["name"]))


def experiment_of(data: Mapping[str, Any], model: str) -> Experiment:
    """Return an experiment by its raw data, with one model in place of all that it names."""
    return _experiment(json.dumps(data), model)


async def play(experiment: Experiment, number: int, episode: int, model: Model) -> Record:
    """Play one episode of a cell, every language model in it being `model`."""
    cell = experiment.cells[number]
    lines = dict.fromkeys(cell.models, model)
    return await get_domain(experiment.domain).play.episode(cell, episode, lines, lambda: None)


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
            values |= {name: float(cell.totals(name).parts[0]) for name in cell.names}
        values[INVALID] = 100 * tallies.rates_of(run.store, [number])["invalid_rate"]
        values[VOID] = float(status != COMPLETE)
        lines = run.domain.show.lines(run, cell, episode)
        text = "\n".join(line.text for line in lines)
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
        for cell, name in zip(run.cells, names, strict=True):
            before = f"{name}: " if len(run.cells) > 1 else ""
            if not (counts := ended.get(cell.number, {})):
                continue
            if len(cell.episodes):
                measures = list(dict.fromkeys([*run.headline, *run.measures]))
                table = cell.estimate(measures)
                for end, column in {"": table.mean, " low": table.low, " high": table.high}.items():
                    for measure_, value in zip(measures, column.tolist(), strict=True):
                        if math.isfinite(value):
                            values[f"{before}{measure_}{end}"] = value
            values[f"{before}episodes"] = float(sum(counts.values()))
            values[f"{before}{VOID}"] = float(sum(counts.values()) - counts.get(COMPLETE, 0))
            invalid = tallies.rates_of(run.store, [cell.number])["invalid_rate"]
            values[f"{before}{INVALID}"] = 100 * invalid
    return values

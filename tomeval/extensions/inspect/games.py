"""Matrix games in logs of anybody's tasks, where samples hold the moves, as matches to import."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from tomeval.core.errors import TomevalError
from tomeval.extensions.inspect.comparing import read_log
from tomeval.games.matrix.foreign import Log
from tomeval.games.matrix.log_fields import FIELDS, Reading
from tomeval.report.facts import counted

_PLAIN = str | int | float


def game_log(path: Path, reading: Reading) -> Log:
    """Return the moves of an eval log: a sample and epoch is a match, its model the subject.

    Moves stand in the metadata or the store of a sample, or in the metadata of a score, there or
    one level below: a list with a table per step, or a list of each field. What else stands beside
    them or in the sample's metadata as a text or number is a column too, such as ``game``,
    ``partner`` and ``condition``.

    Raises
    ------
    TomevalError
        No sample holds moves, or the lists of one differ in length.
    """
    log, own = read_log(path), reading.columns.get("own_action", "own_action")
    used = {*FIELDS, *reading.columns.values(), *(reading.by or ())}
    rows: list[dict[str, str]] = []
    places: list[str] = []
    lacking = 0
    for sample in log.samples or ():
        where = f"sample {str(sample.id)!r}, epoch {sample.epoch}"
        scores = [score.metadata for score in (sample.scores or {}).values()]
        sources = [one for one in (sample.metadata, sample.store, *scores) if one]
        held = next(
            (steps for one in sources for steps in _steps(one, own, used, f"{path}, {where}")), None
        )
        if held is None or sample.error is not None:
            lacking += 1
            continue
        shared = {"subject": str(log.eval.model), "episode": f"{sample.id}, epoch {sample.epoch}"}
        shared |= _texts(sample.metadata)
        for number, step in enumerate(held, 1):
            rows.append({**shared, "step": str(number), **_texts(step)})
            places.append(f"{where}, step {number}")
    if not rows:
        raise TomevalError(
            f"{path}: is a log of the task {log.eval.task!r}, not of tomeval's own, and no sample "
            f"holds moves ({own!r}) in its metadata or store: docs/recorded.md"
        )
    notes = [f"note: {counted(lacking, 'sample')} with an error or without moves: left out"]
    header = [*dict.fromkeys(name for row in rows for name in row)]
    every = [(n, dict.fromkeys(header, "") | row) for n, row in enumerate(rows)]
    return Log(header, every, {}, notes * bool(lacking), dict(enumerate(places)))


def _texts(told: Mapping[str, Any]) -> dict[str, str]:
    return {str(name): str(value) for name, value in told.items() if isinstance(value, _PLAIN)}


def _steps(
    source: Mapping[str, Any], own: str, used: Collection[str], where: str
) -> Iterator[list[dict[str, Any]]]:
    """Yield the steps that a table holds, itself or one level below; `used` lists must be whole."""
    for told in (source, *source.values()):
        if isinstance(told, list) and told and all(isinstance(x, Mapping) for x in told):
            if own in told[0]:
                yield [dict(step) for step in told]
        elif isinstance(told, Mapping) and isinstance(told.get(own), list):
            lists = {name: value for name, value in told.items() if isinstance(value, list)}
            lists = {n: x for n, x in lists.items() if n in used or len(x) == len(told[own])}
            if len({*map(len, lists.values())}) > 1:
                sizes = ", ".join(f"{name} {len(value)}" for name, value in lists.items())
                raise TomevalError(f"{where}: lists differ in length: {sizes}")
            yield [dict(zip(lists, one, strict=True)) for one in zip(*lists.values(), strict=True)]

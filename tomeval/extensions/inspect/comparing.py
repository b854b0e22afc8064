"""Eval logs of inspect_ai compared sample by sample, with intervals that hold at every look."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tomeval.core.errors import TomevalError, need, unknown
from tomeval.core.text import excerpt
from tomeval.statistics.bounded import UNBOUNDED, Bounds
from tomeval.statistics.paired import holm
from tomeval.statistics.sequences import mean_sequence, sequence_p

SHARE: Bounds = (0.0, 1.0)
"""Between what scores lie, unless others are named."""

_GRADES = {"c": 1.0, "p": 0.5, "i": 0.0, "n": 0.0, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
"""What inspect_ai takes grades for."""

Key = tuple[str, int]
"""The id of a sample, and its epoch."""


def compare_logs(
    a: Any,
    b: Any,
    metrics: Sequence[str] | None = None,
    bounds: Bounds | Mapping[str, Bounds] = SHARE,
    *,
    other_inputs: bool = False,
) -> list[dict[str, Any]]:
    """Compare scores in eval logs of inspect_ai, of any tasks, paired by sample and epoch.

    Parameters
    ----------
    a, b : path, EvalLog, or a sequence of these
        On either side a log per task; logs of tasks of the same name are compared.
    metrics : sequence of str, optional
        ``SCORER``, or ``SCORER/KEY`` where a score has several values. Default: all in common.
    bounds : pair of float, or mapping of str to such pairs
        Between what all scores lie, or each by name. A score without bounds has no interval.
    other_inputs : bool
        Compare although samples of one id have another input in the other log.

    Returns
    -------
    list of dict
        Per task and metric: ``task``, ``metric``, ``samples`` (the sampling unit, each the mean
        over the epochs that both logs have), ``left_out`` (samples without a value on a side),
        ``a`` and ``b`` (means over the samples), ``difference`` (a - b), its 95 % confidence
        sequence ``low`` to ``high``, ``p`` (`tomeval.statistics.sequences.sequence_p`) and
        ``p_holm`` over all rows: all hold at every look. NaN where there is none.

    Raises
    ------
    TomevalError
        A log cannot be read or holds no samples, or one twice; a task or metric without a
        counterpart; a score that is no number; inputs that differ; bounds that are none.

    Notes
    -----
    Grades count as in inspect_ai: C 1, P 0.5, I and N 0. Samples are taken for draws from what they
    stand for.
    """
    for low, high in bounds.values() if isinstance(bounds, Mapping) else [bounds]:
        if not low < high:
            raise TomevalError(f"bounds: {low:g} is not below {high:g}")
    metrics = [metrics] if isinstance(metrics, str) else metrics
    sides = [_by_task(side) for side in (a, b)]
    tasks = [task for task in sides[0] if task in sides[1]]
    if not tasks:
        names = [", ".join(map(repr, side)) for side in sides]
        raise TomevalError(f"no task is in both logs: {names[0]}; {names[1]}")
    rows: list[dict[str, Any]] = []
    for task in tasks:
        one, other = (_inputs(side[task]) for side in sides)
        differ = [id for id in one if id in other and one[id] != other[id]]
        if differ and not other_inputs:
            raise TomevalError(
                f"task {task!r}: sample {excerpt(differ[0])!r} has another input in the other log "
                f"({len(differ)} of {len(one)} do); other_inputs=True compares them all the same"
            )
        x, y = (scores_of(side[task], metrics) for side in sides)
        common = [name for name in x if name in y]
        for name in common if metrics is None else metrics:
            if name not in common:
                every = [_named(one.scores or {}) for side in sides for one in side[task].samples]
                known = {key for found in every for key, _ in found}
                raise unknown("metric", name, sorted(known), f"task {task!r}")
            ends = bounds.get(name, UNBOUNDED) if isinstance(bounds, Mapping) else bounds
            rows.append({"task": task, "metric": name, **_row(x[name], y[name], ends)})
    if not rows:
        raise TomevalError("no score is in both logs")
    for name in bounds if isinstance(bounds, Mapping) else ():
        if name not in (known := {row["metric"] for row in rows}):
            raise unknown("metric", name, sorted(known), "bounds")
    for row, p in zip(rows, holm([row["p"] for row in rows]), strict=True):
        row["p_holm"] = float(p)
    return rows


def _row(x: Mapping[Key, float], y: Mapping[Key, float], bounds: Bounds) -> dict[str, Any]:
    """Return the numbers of a comparison."""
    pairs: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for key in x:
        if math.isfinite(x[key]) and math.isfinite(y.get(key, math.nan)):
            pairs[key[0]].append((x[key], y[key]))
    values = np.array([np.mean(pair, axis=0) for pair in pairs.values()]).reshape(-1, 2)
    found = {"samples": len(values), "left_out": len({id for id, _ in (*x, *y)}) - len(values)}
    if not len(values):
        return found | dict.fromkeys(("a", "b", "difference", "low", "high", "p"), math.nan)
    (low, high), (mine, other) = bounds, values.mean(axis=0).tolist()
    inside = bool(((values >= low) & (values <= high)).all())
    around = (low - high, high - low) if inside else UNBOUNDED
    differences = values[:, 0] - values[:, 1]
    ends = mean_sequence(differences, bounds=around)
    p = sequence_p(differences, 0.0, bounds=around)
    means = {"a": mine, "b": other, "difference": mine - other}
    return found | means | {"low": ends[0], "high": ends[1], "p": p}


def read_log(log: Any) -> Any:
    """Return an eval log; a path is read. Raises `TomevalError` if it cannot be."""
    if not isinstance(log, str | Path):
        return log
    api = need("inspect_ai.log", "inspect", "logs of inspect_ai")
    try:
        return api.read_eval_log(str(log), resolve_attachments=True)
    except Exception as error:  # noqa: BLE001 (whatever a damaged file leads to)
        said = " ".join(str(error).split())[:200]
        raise TomevalError(f"{log}: cannot be read as a log of inspect_ai: {said}") from None


def _by_task(side: Any) -> dict[str, Any]:
    """Return the logs of a side by their tasks' names."""
    logs: dict[str, Any] = {}
    for log in map(read_log, side if isinstance(side, list | tuple) else [side]):
        if (task := str(log.eval.task)) in logs:
            raise TomevalError(f"task {task!r}: two logs on one side: give one per task")
        if not log.samples:
            raise TomevalError(f"task {task!r}: the log of {log.eval.model} holds no samples")
        logs[task] = log
    return logs


def _inputs(log: Any) -> dict[str, str]:
    """Return what every sample asks; of messages their texts, as their ids are drawn anew."""
    said = {str(sample.id): sample.input for sample in log.samples}
    return {
        id: text if isinstance(text, str) else "\n".join(m.text for m in text)
        for id, text in said.items()
    }


def scores_of(log: Any, only: Collection[str] | None = None) -> dict[str, dict[Key, float]]:
    """Return the scores of a log by name, each by sample and epoch; NaN where one has no value."""
    found: dict[str, dict[Key, float]] = defaultdict(dict)
    for sample in log.samples or ():
        if sample.error is None:
            for name, value in numbers(sample.scores or {}, str(sample.id), only):
                if (key := (str(sample.id), sample.epoch)) in found[name]:
                    raise TomevalError(f"sample {key[0]!r}, epoch {key[1]}: is in a log twice")
                found[name][key] = value
    return dict(found)


def numbers(
    scores: Mapping[str, Any], id: str, only: Collection[str] | None = None
) -> Iterator[tuple[str, float]]:
    """Yield the numbers of a sample's scores, by name; of several values ``SCORER/KEY``.

    Those that inspect_ai takes them for, but that what is no number is an error, and not 0; only
    some, if they are named.
    """
    for name, value in _named(scores):
        if only is not None and name not in only:
            continue
        try:
            grade = _GRADES.get(value.casefold()) if isinstance(value, str) else None
            yield name, math.nan if value is None else float(value if grade is None else grade)
        except (TypeError, ValueError):
            said = excerpt(str(value))
            raise TomevalError(
                f"sample {id!r}: {name}: {said!r} is no number and no grade"
            ) from None


def _named(scores: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return the values of scores by their names."""
    found = list[tuple[str, Any]]()
    for scorer, score in scores.items():
        several = isinstance(score.value, Mapping)
        values = score.value.items() if several else [("", score.value)]
        found += [(f"{scorer}/{key}" if several else scorer, value) for key, value in values]
    return found

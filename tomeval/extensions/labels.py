"""What a language model makes of the labels themselves: places, names and tokens of options."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from tomeval.core.outcomes import VALID
from tomeval.games.matrix.played import FloatArray, IntArray
from tomeval.games.matrix.results import MatrixRunCell, matrix_cells
from tomeval.games.matrix.rules import ACT, PREDICT
from tomeval.models.base import TOKENS
from tomeval.runs.columns import Rows, Table, fixed, flat_share
from tomeval.runs.results import Run
from tomeval.statistics.estimates import clustered_share

SIDES = {ACT: ("own", "own"), PREDICT: ("predicted", "partner")}
"""How columns of the answers to a question begin, and whose labels these are."""


class Answers(NamedTuple):
    """The readable answers of a cell's complete episodes to one question with n options.

    `taken` and `episode`, (N,): the label that each takes, and its episode. `order`, (N, n): the
    labels as the prompt lists them. `probs`, (N, n), NaN where they were not kept. `mass`, (N,):
    probability of all labels together, and `likeliest`, (N,): 1 if the likeliest next token is a
    label or begins one, else 0; NaN where it is not known.
    """

    taken: IntArray
    episode: IntArray
    order: IntArray
    probs: FloatArray
    mass: FloatArray
    likeliest: FloatArray


def read_answers(cell: MatrixRunCell, form: str) -> Answers:
    """Return the answers to a question, ``act`` or ``predict``."""
    (name, side), size = SIDES[form], len(cell.definition["labels"][SIDES[form][1]])
    names = [f"{name}_action", f"{form}_outcome", f"{ACT}_details/{side}_order", f"{name}_probs"]
    names += [f"{form}_details/mass", f"{form}_details/argmax_is_label"]
    rows = list(cell.store.read("steps", names, cell.number, complete=True))
    lengths = cell.played.lengths
    there = [n for n, row in enumerate(rows) if row[1] == VALID and row[2]]
    taken, _, order, probs, *rest = ([rows[n][k] for n in there] for k in range(len(names)))
    return Answers(
        np.array(taken, dtype=np.int64),
        np.repeat(np.arange(len(lengths)), lengths)[there],
        np.array(order, dtype=np.int64).reshape(-1, size),
        np.array([one or [math.nan] * size for one in probs]).reshape(-1, size),
        *(np.array(values, dtype=np.float64) for values in rest),
    )


def never_likely(answers: Answers) -> list[int]:
    """Return the labels that are likely in no answer.

    Their probability is below half of chance, 1 / (2n), in every answer whose probabilities were
    kept; where none were, no answer takes them.

    Examples
    --------
    >>> nan = np.full((4, 2), np.nan)
    >>> never_likely(Answers(np.array([1, 1, 1, 1]), np.arange(4), nan, nan, nan[:, 0], nan[:, 0]))
    [0]
    """
    size = answers.probs.shape[1]
    kept = answers.probs[np.isfinite(answers.probs).all(axis=1)]
    if len(kept):
        return [int(label) for label in np.flatnonzero(kept.max(axis=0) < 0.5 / size)]
    return sorted(set(range(size)) - set(answers.taken.tolist()))


def _tokens(cell: MatrixRunCell) -> dict[str, str]:
    """Return the tokens of the labels by question, as the cell's model first read them."""
    found: dict[str, str] = {}
    for _, _, form, call in cell.store.calls(cell.number, int(cell.episodes[0])):
        if pieces := ((call.get("scores") or {}).get("details") or {}).get(TOKENS):
            texts = (json.dumps("|".join(one), ensure_ascii=False) for one in pieces)
            found.setdefault(form, " ".join(texts))
    return found


def _mean_percent(values: FloatArray) -> float:
    known = values[np.isfinite(values)]
    return 100 * float(known.mean()) if len(known) else math.nan


def _rows_of(cell: MatrixRunCell) -> Iterator[dict[str, Any]]:
    tokens = _tokens(cell) if len(cell.episodes) else {}
    for form, (_, side) in SIDES.items():
        answers, labels = read_answers(cell, form), cell.definition["labels"][side]
        if not len(answers.taken):
            continue
        most = int(np.bincount(answers.taken).argmax())
        row: dict[str, Any] = {**cell.columns, "question": form}
        asked = {"first": answers.order[:, 0], "second": answers.order[:, 1], "most_taken": most}
        for name, label in asked.items():
            share = clustered_share(answers.taken == label, answers.episode)
            if cell.each_once:  # episodes that are no sample have no interval
                share = share._replace(low=math.nan, high=math.nan)
            row |= flat_share(f"{name}_percent", share)
        drawn = len(np.unique(answers.order, axis=0)) > 1
        row["by_chance_percent"] = 100 / len(labels) if drawn else math.nan
        row["most_taken"] = labels[most]
        row["never_likely"] = ", ".join(labels[label] for label in never_likely(answers))
        row["mass_percent"] = _mean_percent(answers.mass)
        row["label_likeliest_percent"] = _mean_percent(answers.likeliest)
        yield row | {"tokens": tokens.get(form, ""), "answers": len(answers.taken)}


def _asked(run: Run) -> list[MatrixRunCell]:
    """Return the cells in which a language model was asked."""
    return [cell for cell in matrix_cells(run) if cell.definition["kind"] == "llm"]


def _rows(run: Run) -> Rows:
    return [row for cell in _asked(run) for row in _rows_of(cell)]


def _notes(run: Run) -> list[str]:
    """Return in how many rows a label is never likely, places do not vary, or labels are split."""
    rows = _rows(run)
    split = sum("|" in row["tokens"] for row in rows)
    counts = {
        "a label is never likely: below half of chance in every answer, or taken in none": sum(
            bool(row["never_likely"]) for row in rows
        ),
        "the order of the options is always the same: place and label cannot be told apart "
        '(option_order = "shuffled")': sum(math.isnan(row["by_chance_percent"]) for row in rows),
        "a label has several tokens, with | between them": split,
    }
    return [f"in {n:,} of {len(rows):,} rows {words}" for words, n in counts.items() if n]


TABLES = {
    "labels": Table(
        "how often answers take the option listed first; probability and tokens of labels",
        fixed(_rows),
        lambda run: bool(_asked(run)),
        _notes,
        needs="a language model in a matrix game",
        asked=True,
    ),
}

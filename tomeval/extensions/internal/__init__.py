"""What states hold and whether it is used: measures and the table."""

from __future__ import annotations

from typing import Any

import numpy as np

from tomeval.extensions.internal.reading import (
    FOLDS,
    RANDOM,
    TWIN,
    Found,
    found_of,
    kept,
    spec_of,
)
from tomeval.games.matrix.played import Played, from_data
from tomeval.games.matrix.results import MatrixRunCell, matrix_cells
from tomeval.models import BACKENDS, model_name
from tomeval.runs.columns import Table, fixed, flat, flat_share
from tomeval.runs.measures import Measure, Totals
from tomeval.runs.results import Run
from tomeval.statistics import Estimate
from tomeval.statistics.estimates import Share, clustered_share
from tomeval.strategies import parse_strategy

NAME = "internal"
_SOURCE = "this project, docs/measures/internal.md"


def _followed(played: Played, made: Found) -> Totals:
    swaps = [one for one in made.swaps if (one.layer, one.condition) == (made.probed, TWIN)]
    places = np.array([one.place for one in swaps], dtype=np.int64)
    follows = np.array([one.follows for one in swaps], dtype=np.float64)
    hits, items = (
        np.bincount(places, weights, minlength=played.episodes).astype(np.float64)
        for weights in (follows, np.ones(len(swaps)))
    )
    return Totals(hits, items, share=True)


MEASURES = (
    Measure(
        "internal_percent",
        "internal %",
        "How often a cross-fitted linear probe reads the partner's next move from the state at the "
        "token where the model acts, from the second step on, 0 to 100. That it can be read does "
        "not mean that it is used.",
        "%",
        1,
        _SOURCE,
        from_data(NAME, lambda played, made: Totals.known(made.of("holds"))),
    ),
    Measure(
        "internal_use_percent",
        "followed %",
        "How often the action becomes that of an episode with another partner when the state that "
        "the probe reads is taken from there, among pairs with different actions, 0 to 100.",
        "%",
        0,
        _SOURCE,
        from_data(NAME, _followed, share=True),
    ),
)


def why_not(cell: MatrixRunCell) -> str:
    """Say why a played cell's states cannot be read; empty: they can."""
    told = cell.definition
    if told["kind"] != "llm" or cell.partner_player is not None or cell.recorded:
        return "no language model that plays against tables"
    if why := _unreadable(model_name(spec_of(told)), str(told["strategy"])):
        return why
    if len(cell.episodes) < (enough := 2 * FOLDS):
        return f"{len(cell.episodes)} complete episodes, fewer than {enough}"
    return ""


def _unreadable(model: str, strategy: str) -> str:
    """Say why a model with a strategy cannot be read; empty: it can."""
    backend, parsed = BACKENDS.get(model.partition(":")[0]), parse_strategy(strategy)
    if backend is None or "torch" not in backend.libraries:
        return f"model {model!r}: needs open weights: hf: or pocket"
    if parsed.answer != "lm" or parsed.advice != "none" or parsed.summarises:
        return (
            f"strategy {strategy!r}: states are read where labels are scored and prompts follow "
            "from the moves alone: LM, and with -History, -Payoffs, -Rewards"
        )
    return ""


def cells_of(run: Run) -> list[MatrixRunCell]:
    """Return the cells whose states can be read."""
    return [cell for cell in matrix_cells(run) if not why_not(cell)]


def share_of(made: Found, layer: int, condition: str) -> Share:
    """Return how many answers followed at a layer; episodes are clusters."""
    swaps = [one for one in made.swaps if (one.layer, one.condition) == (layer, condition)]
    return clustered_share([one.follows for one in swaps], [one.place for one in swaps])


def rows(run: Run) -> list[dict[str, Any]]:
    """Return what each cell says, does, holds and uses."""
    return [_row(cell, found_of(cell)) for cell in cells_of(run)]


def _row(cell: MatrixRunCell, made: Found) -> dict[str, Any]:
    row: dict[str, Any] = dict(cell.columns)
    for name in ("says", "does", "holds", "shuffled"):
        values = made.of(name)[:, None]
        nothing = Estimate(*[np.array([np.nan])] * 4)
        there = bool(np.isfinite(values).all())
        mean = cell.mean(values, bounds=(0.0, 100.0)) if there else nothing
        row |= flat([f"{name}_percent"], mean)
    row |= {"p": round(made.p, 3), "layer": made.probed}
    for condition, name in ((TWIN, "used_percent"), (RANDOM, "used_random_percent")):
        row |= flat_share(name, share_of(made, made.probed, condition))
    pairs = len(made.swaps) // (2 * len(made.layers))
    return row | {"pairs": pairs, "episodes": len(cell.episodes)}


def _notes(run: Run) -> list[str]:
    """Explain the columns, and what is left out and why."""
    return [
        "steps from the second on. says, does: right predictions, best replies; holds: how often a "
        "probe of the state reads the partner's move; shuffled, p: the same of exchanged labels; "
        "used: how many actions follow a state of other moves, random: a drawn one",
        *[
            f"cell {cell.number}, {cell.title}: left out: {why}"
            for cell in matrix_cells(run)
            if (why := why_not(cell))
        ],
    ]


TABLES = {
    NAME: Table(
        "says, does, holds, uses: what activations hold of the partner, and whether it is used",
        fixed(rows),
        lambda run: bool(cells_of(run)),
        _notes,
        # A report neither waits for a model nor needs one.
        reported=lambda run: all(kept(c.store, c.number, c.definition) for c in cells_of(run)),
        needs="a local model (hf: or pocket) that answers by LM, and at least ten complete "
        'episodes: docs/measures/internal.md, "What the model holds inside, and whether it uses '
        'it"',
    ),
}

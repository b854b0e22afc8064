"""What activations hold of the partner, and whether that is used: read after play, kept, shown.

The questions for a move are rendered again from the stored moves and run once more through the same
model, whose log-probabilities must be the recorded ones; so rows cannot change, and how play was
batched does not matter.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from tomeval.core.errors import TomevalError, need
from tomeval.core.files import replacing, write_text
from tomeval.core.outcomes import COMPLETE
from tomeval.core.printing import tell
from tomeval.core.streams import Stream
from tomeval.extensions.internal.probe import FOLDS, decoded
from tomeval.extensions.internal.states import RANDOM, TWIN, Swap, Watched, exchanged, packed, read
from tomeval.games.matrix.played import FloatArray
from tomeval.games.matrix.results import MatrixRunCell, matrix_cells
from tomeval.models import BACKENDS, model_name, open_model
from tomeval.runs.columns import Table, fixed, flat, flat_share
from tomeval.runs.results import Run
from tomeval.statistics import Estimate
from tomeval.statistics.estimates import Share, clustered_share
from tomeval.strategies import parse_strategy

NAME, VERSION = "internal", 5


class Found(BaseModel):
    """What was found of a cell.

    Attributes
    ----------
    made_of : dict
        Episodes and settings.
    layers : list of int
        Those that were read.
    by_episode : dict
        In percent of the steps ``says``, ``does``, ``holds``, ``shuffled``. NaN: nothing.
    p : float
        How often exchanged labels are decoded at least as well.
    chosen : list of int
        Of every fold the place of its layer in `layers`; empty: the partner makes the same move in
        all steps.
    swaps : list of Swap
        All exchanges.
    """

    model_config = ConfigDict(ser_json_inf_nan="constants")

    made_of: dict[str, Any]
    layers: list[int]
    by_episode: dict[str, list[float]]
    p: float
    chosen: list[int]
    swaps: list[Swap]

    def of(self, name: str) -> FloatArray:
        """Return a number by episode, shape (E,)."""
        return np.array(self.by_episode[name], dtype=np.float64)

    @property
    def probed(self) -> int:
        """The layer that most folds chose, or the one beside it if it decides alone; -1: none.

        At layer 0 an exchange is one of words, and what the last layer says is the answer.
        """
        if not self.chosen:
            return -1
        held = min(set(self.chosen), key=lambda place: (-self.chosen.count(place), place))
        return self.layers[min(held, max(1, len(self.layers) - 2))]


def spec_of(definition: dict[str, Any]) -> Any:
    """Return the spec of a stored cell's model."""
    return definition["options"].get("model") or definition["model"]


def path_of(cell: MatrixRunCell, ending: str) -> Path:
    """Return where something of a cell is kept."""
    return cell.store.path.parent / NAME / f"cell_{cell.number}.{ending}"


def kept(cell: MatrixRunCell) -> Found | None:
    """Return what was found of a cell and kept; None if it was not, or of other episodes."""
    try:
        made = Found.model_validate_json(path_of(cell, "json").read_bytes())
    except (OSError, ValidationError):  # not as it was written
        return None
    return made if made.made_of == _made_of(cell) else None


def _made_of(cell: MatrixRunCell) -> dict[str, Any]:
    """Return what tells whether a cell has been read as it is now; episodes do not change."""
    return {"version": VERSION, "episodes": list(cell.store.episodes(cell.number, COMPLETE))}


def found_of(cell: MatrixRunCell) -> Found:
    """Return what a cell's states say; read now, and kept with them, if it is not kept.

    Raises
    ------
    TomevalError
        The model does not reproduce the run, or the lengths of its episodes were drawn.
    """
    if cell.played.continuation is not None:
        raise TomevalError(f"{NAME}: states are read of games with a horizon, not a continuation")
    if (before := kept(cell)) is not None:
        return before
    tell(f"{NAME}, {cell.title}: reading the states")
    need("sklearn", NAME, "probes of states")  # before reading, which takes long
    watched = _opened(json.dumps(spec_of(cell.definition)))
    rows, episode, states = read(cell, watched)
    with replacing(path_of(cell, "npz"), own=True) as draft, draft.open("wb") as file:
        np.savez(file, **packed(cell, rows, episode, states))
    stream = Stream.of(0, NAME, str(cell.number))
    by_episode, p, chosen = decoded(cell, rows, episode, states, stream.episode(0))
    made = Found(
        made_of=_made_of(cell),
        layers=list(range(states.shape[1])),
        by_episode=by_episode,
        p=p,
        chosen=chosen,
        swaps=exchanged(cell, watched, stream.episode(1)),
    )
    write_text(path_of(cell, "json"), made.model_dump_json(), own=True)
    return made


@lru_cache(maxsize=1)
def _opened(spec: str) -> Watched:
    """Open a model; one at a time is held."""
    return Watched(open_model(json.loads(spec), scores=True))


def why_not(cell: MatrixRunCell) -> str:
    """Say why a played cell's states cannot be read; empty: they can."""
    told = cell.definition
    if told["kind"] != "llm" or cell.partner_player is not None or cell.recorded:
        return "no language model that plays against tables"
    model, strategy = model_name(spec_of(told)), str(told["strategy"])
    backend, parsed = BACKENDS.get(model.partition(":")[0]), parse_strategy(strategy)
    if backend is None or "torch" not in backend.libraries:
        return f"model {model!r}: needs open weights: hf: or pocket"
    if parsed.answer != "lm" or parsed.advice != "none" or parsed.summarises:
        return f"strategy {strategy!r}: only LM is read, also with -History, -Payoffs, -Rewards"
    if len(cell.episodes) < (enough := 2 * FOLDS):
        return f"{len(cell.episodes)} complete episodes, fewer than {enough}"
    return ""


def cells_of(run: Run) -> list[MatrixRunCell]:
    """Return the cells whose states can be read."""
    return [cell for cell in matrix_cells(run) if not why_not(cell)]


def share_of(made: Found, layer: int, condition: str) -> Share:
    """Return how many answers followed at a layer; episodes are clusters."""
    swaps = [one for one in made.swaps if (one.layer, one.condition) == (layer, condition)]
    return clustered_share([one.follows for one in swaps], [one.place for one in swaps])


def _row(cell: MatrixRunCell) -> dict[str, Any]:
    """Return what a cell says, does, holds and uses."""
    made = found_of(cell)
    row: dict[str, Any] = dict(cell.columns)
    for name in ("says", "does", "holds", "shuffled"):
        values = made.of(name)[:, None]
        there = bool(np.isfinite(values).all())
        mean = cell.mean(values, bounds=(0.0, 100.0)) if there else Estimate.of(np.nan)
        row |= flat([f"{name}_percent"], mean)
    row |= {"p": round(made.p, 3), "layer": made.probed}
    for condition, name in ((TWIN, "used_percent"), (RANDOM, "used_random_percent")):
        row |= flat_share(name, share_of(made, made.probed, condition))
    pairs = len(made.swaps) // (2 * len(made.layers))
    return row | {"pairs": pairs, "episodes": len(cell.episodes)}


def _notes(run: Run) -> list[str]:
    """Explain the columns, and what is left out and why."""
    return [
        "holds: a probe of the state reads the partner's move; shuffled, p: with exchanged labels",
        "used: actions that follow a state of other moves; used random: a drawn one",
        *[
            f"cell {cell.number}, {cell.title}: left out: {why}"
            for cell in matrix_cells(run)
            if (why := why_not(cell))
        ],
    ]


TABLES = {
    NAME: Table(
        "says, does, holds, uses: what activations hold of the partner, and whether it is used",
        fixed(lambda run: [_row(cell) for cell in cells_of(run)]),
        lambda run: bool(cells_of(run)),
        _notes,
        # A report neither waits for a model nor needs one.
        reported=lambda run: all(map(kept, cells_of(run))),
        needs="a local model (hf: or pocket) that answers by LM, and at least ten complete "
        'episodes: docs/measures/internal.md, "What the model holds inside, and whether it uses '
        'it"',
    ),
}

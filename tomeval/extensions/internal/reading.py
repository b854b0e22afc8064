"""What the states of one cell say: read after play, from the stored run, and kept beside it.

The questions for a move are rendered again from the stored moves and run once more through the same
model, whose log-probabilities must be the recorded ones; so rows cannot change, and how play was
batched does not matter.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from tomeval.core.errors import TomevalError, need
from tomeval.core.files import write_bytes, write_text
from tomeval.core.outcomes import COMPLETE
from tomeval.core.printing import tell
from tomeval.core.streams import Stream
from tomeval.extensions.internal.probe import by_chance, decode, folds_of
from tomeval.extensions.internal.states import ACT, Watched, moves_of, rendered
from tomeval.games.matrix.played import FloatArray, IntArray
from tomeval.games.matrix.responses import stepwise_regret
from tomeval.games.matrix.results import MatrixRunCell
from tomeval.games.matrix.rules import SEAT
from tomeval.models import open_model
from tomeval.runs.store import Store

FOLDER, VERSION = "internal", 5
FOLDS, SHUFFLES, PAIRS = 5, 19, 20
"""Folds of the probes, of whole episodes; how often labels are exchanged between episodes; the most
pairs of prompts between which states are exchanged."""

TRIED = 6
"""Pairs that are drawn, at most, for each whose answers are to be apart."""

TWIN, RANDOM = CONDITIONS = ("twin", "random")
"""What is put in: the state under the other partner's moves; one as far away at random."""

CLOSE, ROUGH = 2e-3, 0.1
"""How near log-probabilities must be, in nats; of 16-bit models, which other batches round."""


class Swap(NamedTuple):
    """An exchange: its episode, the layer, what was put in, and whether the answer followed."""

    place: int  # among the complete episodes
    layer: int
    condition: str
    follows: bool


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


def spec_of(definition: Mapping[str, Any]) -> Any:
    """Return the spec of a stored cell's model."""
    return definition["options"].get("model") or definition["model"]


def path_of(store: Store, number: int, ending: str) -> Path:
    """Return where something of a cell is kept."""
    return store.path.parent / FOLDER / f"cell_{number}.{ending}"


def kept(store: Store, number: int, definition: Mapping[str, Any]) -> Found | None:
    """Return what was found of a cell and kept; None if it was not, or of other episodes."""
    try:
        made = Found.model_validate_json(path_of(store, number, "json").read_bytes())
    except (OSError, ValidationError):  # not as it was written
        return None
    return made if made.made_of == _made_of(store, number) else None


def _made_of(store: Store, number: int) -> dict[str, Any]:
    """Return what tells whether a cell has been read as it is now; episodes do not change."""
    return {"version": VERSION, "episodes": list(store.episodes(number, COMPLETE))}


def found_of(cell: MatrixRunCell) -> Found:
    """Return what a cell's states say; read now, and kept with them, if it is not kept.

    Raises
    ------
    TomevalError
        The model does not reproduce the run.
    """
    place = (cell.store, cell.number, cell.definition)
    if (before := kept(*place)) is not None:
        return before
    tell(f"internal, {cell.title}: reading the states")
    need("sklearn", "internal", "probes of states")  # before reading, which takes long
    watched = _opened(json.dumps(spec_of(cell.definition)))
    layers = list(range(len(watched.blocks) + 1))
    rows, episode, states = states_of(cell, watched, layers)
    _keep_states(cell, rows, episode, states, layers)
    stream = Stream.of(0, FOLDER, str(cell.number))
    decoded = _decoded(cell, rows, episode, states, stream.episode(0))
    swaps = _exchanged(cell, watched, layers, PAIRS, stream.episode(1))
    made = Found(made_of=_made_of(*place[:2]), layers=layers, swaps=swaps, **decoded)
    path = path_of(cell.store, cell.number, "json")
    write_text(path, made.model_dump_json(), own=True)
    return made


@lru_cache(maxsize=1)
def _opened(spec: str) -> Watched:
    """Open a model; one at a time is held."""
    return Watched(open_model(json.loads(spec), scores=True))


def states_of(
    cell: MatrixRunCell, watched: Watched, layers: list[int]
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return rows of the played steps from the second on, their episodes, and their states.

    Of shape (N,), (N,), from 0 among the complete ones, and (N, layers, D).

    Raises
    ------
    TomevalError
        The model's log-probabilities are not those that were recorded.
    """
    rows, episode, states, off = [], [], [], 0.0
    first = np.cumsum(cell.played.lengths) - cell.played.lengths
    for place, number in enumerate(cell.episodes.tolist()):
        theirs = moves_of(cell.played, place)[1]
        scores = {
            step: call["scores"]["logprobs"]
            for step, seat, _, call in cell.store.calls(cell.number, number)
            if seat == SEAT and call.get("purpose") == ACT and "scores" in call
        }
        for step, asked in rendered(cell, place, theirs, range(2, len(theirs) + 1)).items():
            ran = watched.run(asked)
            rows.append(int(first[place]) + step - 1)
            episode.append(place)
            states.append(ran.states[layers])
            off = max(off, float(np.abs(np.subtract(ran.logprobs, scores[step])).max()))
    if off > (CLOSE if watched.local.model.dtype.itemsize > 2 else ROUGH):
        raise TomevalError(
            f"internal: cell {cell.number}: the run is not reproduced here: a label's "
            f"log-probability is {off:.3g} nats off; are model and templates those of the run, and "
            "is this the folder that it was started in?"
        )
    return np.array(rows), np.array(episode), np.array(states, dtype=np.float64)


def _keep_states(
    cell: MatrixRunCell, rows: IntArray, episode: IntArray, states: FloatArray, layers: list[int]
) -> None:
    """Keep states and what was played as npz: float16, larger numbers become the largest."""
    played, largest = cell.played, np.finfo(np.float16).max
    starts = np.cumsum(played.lengths) - played.lengths
    arrays: dict[str, Any] = {
        "states": np.clip(states, -largest, largest).astype(np.float16),
        "layer": np.array(layers),
        "episode": cell.episodes[episode],
        "step": rows - starts[episode] + 1,
        "own_action": played.own[rows],
        "partner_action": played.partner[rows],
    }
    if played.predicted is not None:
        arrays["predicted_action"] = played.predicted[rows]
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    write_bytes(path_of(cell.store, cell.number, "npz"), buffer.getvalue(), own=True)


def _decoded(
    cell: MatrixRunCell,
    rows: IntArray,
    episode: IntArray,
    states: FloatArray,
    rng: np.random.Generator,
) -> dict[str, Any]:
    """Decode the partner's next move; return what was said, done and held of it, by episode."""
    played, game = cell.played, cell.game
    truth, none = played.partner[rows], np.full(len(rows), np.nan)
    by_step = dict.fromkeys(("says", "holds", "shuffled"), none)
    by_step["does"] = 100.0 * (stepwise_regret(game)[played.own[rows], truth] == 0)
    if played.predicted is not None:
        by_step["says"] = 100.0 * (played.predicted[rows] == truth)
    p, chosen = float("nan"), []
    if len(np.unique(truth)) > 1:
        above, stratum = states[:, 1:], played.which[episode]
        fold = folds_of(episode, stratum, FOLDS, rng)
        probs, places = decode(above, truth, episode, stratum, fold, game.m)
        mixed = by_chance(above, truth, episode, stratum, FOLDS, game.m, rng)
        chance = list(islice(mixed, SHUFFLES))
        right = (probs.argmax(axis=1) == truth).astype(np.float64)
        by_step |= {"holds": 100 * right, "shuffled": 100 * np.mean(chance, axis=0)}
        # This run is counted among the exchanged ones.
        better = sum(one.mean() >= right.mean() - 1e-12 for one in chance)
        p, chosen = (1 + better) / (1 + SHUFFLES), [1 + place for place in places]
    means = {
        name: (np.bincount(episode, values) / np.bincount(episode)).tolist()
        for name, values in by_step.items()
    }
    return {"by_episode": means, "p": p, "chosen": chosen}


def _exchanged(
    cell: MatrixRunCell, watched: Watched, layers: list[int], pairs: int, rng: np.random.Generator
) -> list[Swap]:
    """Exchange states between at most `pairs` pairs of prompts whose answers are apart.

    The prompts of a pair differ in the partner's moves alone: an episode's own, or those of another
    episode whose partner goes on differently. An answer follows if it becomes the other prompt's.
    Interchange of states: Geiger, Lu, Icard and Potts 2021.
    """
    swaps: list[Swap] = []
    for _ in range(TRIED * pairs):
        one, other = rng.choice(cell.played.episodes, 2, replace=False).tolist()
        moves = [moves_of(cell.played, place)[1] for place in (one, other)]
        step = int(rng.integers(2, max(3, 1 + min(map(len, moves)))))
        if min(map(len, moves)) < step or moves[0][step - 1] == moves[1][step - 1]:
            continue
        here, there = (rendered(cell, one, theirs, [step])[step] for theirs in moves)
        mine, target = watched.run(here), watched.run(there)
        if mine.choice == target.choice:
            continue
        for layer in layers:
            before, after = mine.states[layer], target.states[layer]
            drawn = rng.standard_normal(after.shape)
            away = before + drawn * (np.linalg.norm(after - before) / np.linalg.norm(drawn))
            for condition, state in ((TWIN, after), (RANDOM, away.astype(np.float32))):
                ran = watched.run(here, (layer, state))
                swaps.append(Swap(one, layer, condition, ran.choice == target.choice))
        if len(swaps) == 2 * pairs * len(layers):
            break
    return swaps

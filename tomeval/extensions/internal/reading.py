"""What the states of one cell say: read after play, from the stored run, and kept beside it.

The prompts of both questions are rendered again from the stored moves, compared with those of the
store character by character, and run once more through the same model; so rows cannot change, and
how play was batched does not matter.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from tomeval.core.errors import TomevalError
from tomeval.core.extras import need
from tomeval.core.files import write_bytes
from tomeval.core.streams import Stream
from tomeval.domains.matrix.played import FloatArray, IntArray
from tomeval.domains.matrix.results import MatrixRunCell
from tomeval.extensions.internal.decoding import Decoded
from tomeval.extensions.internal.findings import (
    Found,
    Held,
    keep,
    kept,
    key_of,
    path_of,
    pool_of,
    spec_of,
)
from tomeval.extensions.internal.keys import MOVES, TYPE, settings_of
from tomeval.extensions.internal.probing import Steps, ablated, held, regrets
from tomeval.extensions.internal.questions import ACT, PREDICT, recorded, stored_scores
from tomeval.extensions.internal.states import Tokens, Watched, untrained
from tomeval.extensions.internal.use import Episodes, Swaps, exchanged
from tomeval.models import open_model

_LARGEST = float(np.finfo(np.float16).max)
_CLOSE = {"float32": 2e-3, "float64": 2e-3}
_ROUGH = 0.1  # log-probabilities of 16-bit models, which other batches round otherwise


def found(cell: MatrixRunCell) -> Found:
    """Return what a cell's states say; read now if that is not kept.

    Raises
    ------
    TomevalError
        The model is not the run's, or the questions cannot be asked again as they were.
    """
    before = kept(cell)
    return _read(cell) if before is None else before


def _read(cell: MatrixRunCell) -> Found:
    """Read the states of a cell's pool, decode, exchange, and keep both states and findings."""
    from tomeval.cli.progress import working

    with working(f"internal, {cell.title}") as doing:
        for one, told in _found_by(pool_of(cell), doing.at):
            keep(one, told)
    again = kept(cell)
    assert again is not None
    return again


@lru_cache(maxsize=1)
def _opened(spec: str) -> Watched:
    """Open a model; one at a time is held."""
    try:
        model = open_model(json.loads(spec), scores=True)
    except TomevalError as error:
        raise TomevalError(
            f"internal: {error}; relative model paths start from the current folder: run the "
            "command in the folder of the run's experiment"
        ) from None
    return Watched(model)


def _model_of(cell: MatrixRunCell) -> Watched:
    """Return a cell's model, as it was when the cell was played."""
    watched, name = _opened(json.dumps(spec_of(cell.definition))), str(cell.definition["model"])
    before = cell.store.revisions().get(name)
    if before not in (None, "", watched.local.revision):
        raise TomevalError(
            f"internal: cell {cell.number}: {name} was played at revision {before}, and is now "
            f"{watched.local.revision}: its states do not describe this run"
        )
    return watched


@dataclass(frozen=True, eq=False)
class States:
    """The states of a cell's steps from the second on.

    `rows` index the played steps; `episode` counts complete episodes; `by_name` has arrays of shape
    (N, layers, D) by position; `tokens` are the questions for a move, `choices` the likeliest
    actions.
    """

    rows: IntArray
    episode: IntArray
    by_name: dict[str, FloatArray]
    tokens: list[Tokens]
    choices: list[int]
    off: float


def _found_by(
    pool: Sequence[MatrixRunCell], at: Callable[[str, int, int], None]
) -> Iterator[tuple[MatrixRunCell, Found]]:
    """Yield what the states of cells say; `at` is told of each of five parts of the work."""
    how = settings_of(pool[0].definition)
    need("sklearn", "internal", "probes of states")  # before states are read, which takes long
    watched = _model_of(pool[0])
    layers = how.places(watched.layers, str(pool[0].definition["model"]))
    at("states", 1, 5)
    states = [states_of(cell, watched, layers, how.positions) for cell in pool]
    for cell, its in zip(pool, states, strict=True):
        _keep_states(cell, its, layers)
    at("states of the untrained twin", 2, 5)
    twin = untrained(watched, how.seed)
    steps = [
        Steps(cell, its.rows, its.episode, its.by_name[ACT], other.by_name[ACT])
        for cell, its in zip(pool, states, strict=True)
        for other in [states_of(cell, twin, layers, [ACT], checked=False)]
    ]
    at("probes", 3, 5)
    types = held(TYPE, steps, how, layers, _stream(pool[0])) if TYPE in how.truth else []
    for index, (mine, its) in enumerate(zip(steps, states, strict=True)):
        yield mine.cell, _found_of(watched, mine, its, types[index : index + 1], layers, at)


def _stream(cell: MatrixRunCell) -> Stream:
    return Stream.of(settings_of(cell.definition).seed, "internal", str(cell.number))


def _found_of(
    watched: Watched,
    mine: Steps,
    states: States,
    types: list[tuple[Held, Decoded]],
    layers: Sequence[int],
    at: Callable[[str, int, int], None],
) -> Found:
    """Return what the states of one cell say; `types` is what they hold of `TYPE`, see `held`."""
    cell = mine.cell
    how, stream = settings_of(cell.definition), _stream(cell)
    at("probes", 3, 5)
    read = {
        truth: types if truth == TYPE else held(truth, [mine], how, layers, stream)
        for truth in how.truth
    }
    scored, swaps = states.tokens[0].scored, Swaps((), {}, {})
    if scored:
        at("states exchanged", 4, 5)
        among = (Episodes(cell), layers, how.positions, how.pairs)
        swaps = exchanged(watched, *among, stream.episode(1))
        at("directions taken out", 5, 5)
    told: dict[str, Held] = {}
    above = [layer for layer in layers if layer]
    for number, (truth, some) in enumerate(read.items()):
        for one, probes in some:
            asked, rng = (mine, states.tokens, states.choices), stream.episode(3 * number + 2)
            taken = ablated(watched, *asked, probes, above, rng) if scored else {}
            told[truth] = replace(one, ablated=taken)
    return Found(
        key=key_of(cell.store, cell.number, cell.definition),
        steps=len(states.rows),
        layers=list(layers),
        regrets=regrets(mine),
        held=told,
        same=[truth for truth, some in read.items() if not some],
        swaps=list(swaps.swaps),
        tried=swaps.tried,
        apart=swaps.apart,
        off=states.off,
    )


def states_of(
    cell: MatrixRunCell,
    watched: Watched,
    layers: Sequence[int],
    positions: Sequence[str],
    checked: bool = True,
) -> States:
    """Return the states of all steps from the second on, at some layers and positions.

    With `checked` labels' log-probabilities are compared with the recorded ones.
    """
    episodes, starts = Episodes(cell), np.cumsum(cell.played.lengths) - cell.played.lengths
    rows, episode, tokens, choices = [], [], [], []
    parts: dict[str, list[Any]] = {name: [] for name in positions}
    off = 0.0
    for number, own in enumerate(episodes.own):
        which = int(episodes.numbers[number])
        asked = recorded(cell, which, own, episodes.partner[number])
        scores = stored_scores(cell, which) if checked else {}
        for step in range(2, len(own) + 1):
            rows.append(int(starts[number]) + step - 1)
            episode.append(number)
            for form in (ACT, PREDICT):
                if form not in parts or (step, form) not in asked:
                    continue
                one = watched.tokens(asked[step, form])
                newest = one.newest() if form == ACT and MOVES in parts else None
                ran = watched.run(one, [one.last, *([] if newest is None else [newest])])
                parts[form].append(ran.states[list(layers), 0])
                if form == ACT:
                    tokens.append(one)
                    choices.append(ran.choice)
                if newest is not None:
                    parts[MOVES].append(ran.states[list(layers), 1])
                if (step, form) in scores:
                    gap = np.abs(np.subtract(ran.logprobs, scores[step, form])).max()
                    off = max(off, float(gap))
    dtype = str(watched.local.model.dtype).removeprefix("torch.")
    if off > _CLOSE.get(dtype, _ROUGH):
        raise TomevalError(
            f"internal: cell {cell.number}: the model does not reproduce the run here: a label's "
            f"log-probability is {off:.3g} nats off; read states where the run was played"
        )
    return States(
        np.array(rows),
        np.array(episode),
        {k: np.array(v) for k, v in parts.items() if v},
        tokens,
        choices,
        off,
    )


def _keep_states(cell: MatrixRunCell, states: States, layers: Sequence[int]) -> None:
    """Keep states as safetensors, float16, beside the store; larger numbers become the largest."""
    files = need("safetensors.numpy", "internal", "states")
    tensors: dict[str, Any] = {
        name: np.clip(values, -_LARGEST, _LARGEST).astype(np.float16)
        for name, values in states.by_name.items()
    }
    starts = np.cumsum(cell.played.lengths) - cell.played.lengths
    tensors["episode"] = cell.episodes[states.episode]
    tensors["step"] = states.rows - starts[states.episode] + 1
    tensors["layer"] = np.array(layers)
    write_bytes(path_of(cell.store, cell.number, "safetensors"), files.save(tensors), own=True)

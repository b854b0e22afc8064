"""What was found of a cell's states: kept beside the store, and read back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tomeval.core.files import write_text
from tomeval.core.outcomes import COMPLETE
from tomeval.domains.matrix.played import FloatArray
from tomeval.domains.matrix.results import MatrixRunCell
from tomeval.domains.matrix.storing import read_played
from tomeval.extensions.internal.keys import KINDS, TYPE, settings_of
from tomeval.extensions.internal.questions import plain
from tomeval.extensions.internal.states import OPEN_WEIGHTS
from tomeval.extensions.internal.use import Swap
from tomeval.models import model_name
from tomeval.runs.store import Store

FOLDER, VERSION = "internal", 3


@dataclass(frozen=True, eq=False)
class Held:
    """What states hold of one truth; by episode where nothing else is said.

    Attributes
    ----------
    by_episode : dict
        In percent of the steps ``says``, ``does``, ``holds``, and what controls give: ``shuffled``,
        ``bag``, ``embedding``, ``untrained``; ``internal_regret`` in payoff units. NaN: nothing.
    chance : list of float
        Share decoded rightly, in percent, after each exchange of labels.
    p : float
        See `tomeval.extensions.internal.decoding.p_value`.
    commonest : float
        Share of the commonest value, in percent of the steps.
    chosen : list of (int, float)
        Layer and strength of every fold.
    ablated : dict
        Mean regret: ``before``, ``read`` and ``drawn``; empty where answers are written.
    """

    by_episode: dict[str, list[float]]
    chance: list[float]
    p: float
    commonest: float
    chosen: list[tuple[int, float]]
    ablated: dict[str, list[float]]

    def of(self, name: str) -> FloatArray:
        """Return a number by episode, shape (E,)."""
        return np.array(self.by_episode[name], dtype=np.float64)

    @property
    def layer(self) -> int:
        """The layer that most folds chose, the lowest of several."""
        chosen = [layer for layer, _ in self.chosen]
        return min(set(chosen), key=lambda layer: (-chosen.count(layer), layer))


@dataclass(frozen=True, eq=False)
class Found:
    """What was found of a cell.

    Attributes
    ----------
    key : str
        Of cell, episodes and settings that it was made of.
    steps : int
        How many, from the second on.
    layers : list of int
        Those that were read.
    regrets : dict
        By episode, in payoff units: ``step_regret`` and ``tom_regret``, NaN without predictions.
    held : dict
        What is held, by truth.
    same : list of str
        The truths that nothing can be held of: they are the same in all steps.
    swaps, tried, apart
        See `tomeval.extensions.internal.use.Swaps`.
    off : float
        Largest difference of a label's log-probability from what was recorded, in nats.
    """

    key: str
    steps: int
    layers: list[int]
    regrets: dict[str, list[float]]
    held: dict[str, Held]
    same: list[str]
    swaps: list[Swap]
    tried: dict[str, int]
    apart: dict[str, int]
    off: float


def why_not(cell: MatrixRunCell) -> str:
    """Say why a cell's states cannot be read; empty: they can."""
    told = cell.definition
    if told["kind"] != "llm" or cell.partner_player is not None or cell.recorded:
        return "no language model that plays against tables"
    name = model_name(spec_of(told))
    if name.partition(":")[0] not in KINDS:
        return f"model {name!r}: {OPEN_WEIGHTS}"
    if not plain(str(told["strategy"])):
        return f"strategy {told['strategy']!r} shows the model what it or others wrote"
    enough = 2 * settings_of(told).folds
    if len(cell.episodes) < enough:
        return f"{len(cell.episodes)} complete episodes, fewer than {enough}"
    return ""


def spec_of(definition: Mapping[str, Any]) -> Any:
    """Return the spec of a cell's model."""
    return definition["options"].get("model") or definition["model"]


def pool_of(cell: MatrixRunCell) -> list[MatrixRunCell]:
    """Return the cells that are read together: with `TYPE` those that share all but the partner."""
    return [
        MatrixRunCell(cell.store, number, definition)
        for number, definition in _pool(cell.store, cell.number, cell.definition)
        if number == cell.number or not why_not(MatrixRunCell(cell.store, number, definition))
    ]


def _pool(
    store: Store, number: int, definition: Mapping[str, Any]
) -> list[tuple[int, dict[str, Any]]]:
    if TYPE not in settings_of(definition).truth:
        return [(number, dict(definition))]
    return [
        (other, told)
        for other, told in store.cells()
        if {**told, "partners": None} == {**definition, "partners": None}
    ]


def path_of(store: Store, number: int, ending: str) -> Path:
    """Return where something of a cell is kept."""
    return store.path.parent / FOLDER / f"cell_{number}.{ending}"


def any_kept(store: Store) -> bool:
    """Tell whether anything that was found of a run is kept beside its store."""
    return any((store.path.parent / FOLDER).glob("cell_*.json"))


def kept(cell: MatrixRunCell) -> Found | None:
    """Return what was found of a cell and kept, see `kept_of`."""
    return kept_of(cell.store, cell.number, cell.definition)


def kept_of(store: Store, number: int, definition: Mapping[str, Any]) -> Found | None:
    """Return what was found of a cell and kept; None if it was not, or of other episodes."""
    try:
        told = json.loads(path_of(store, number, "json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(told, dict) or told.get("key") != key_of(store, number, definition):
        return None
    try:
        told["swaps"] = [Swap(*one) for one in told["swaps"]]
        told["held"] = {truth: Held(**one) for truth, one in told["held"].items()}
        return Found(**told)
    except (AttributeError, KeyError, TypeError):  # not as it was written
        return None


def keep(cell: MatrixRunCell, told: Found) -> None:
    """Keep what was found of a cell."""
    write_text(path_of(cell.store, cell.number, "json"), json.dumps(asdict(told)), own=True)


def key_of(store: Store, number: int, definition: Mapping[str, Any]) -> str:
    """Return what stands for all that is read, how it is read, and this way of reading."""
    digest = hashlib.sha256(json.dumps([VERSION, number]).encode())
    for other, told in _pool(store, number, definition):
        how = {**told, FOLDER: settings_of(told).model_dump()}
        text = json.dumps([how, store.episodes(other, COMPLETE)], sort_keys=True)
        digest.update(text.encode())
        played = read_played(store, other)
        for name in ("own", "partner", "lengths"):
            digest.update(played[name].tobytes())
    return digest.hexdigest()

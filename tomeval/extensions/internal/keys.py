"""What an experiment can say of states: the table ``[internal]``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, field_validator

from tomeval.core.errors import TomevalError
from tomeval.core.extras import installed, missing
from tomeval.core.resources import read_text
from tomeval.domains.matrix.experiment import MatrixCell
from tomeval.domains.matrix.storing import PARTNER
from tomeval.extensions.internal.questions import ACT, QUESTIONS, plain
from tomeval.extensions.internal.states import OPEN_WEIGHTS
from tomeval.models import model_name
from tomeval.runs.domain import Cell
from tomeval.runs.experiment import ExtraTable, among

KINDS = ("pocket", "pocket-rational", "hf", "compiled")
"""Kinds of model whose states can be read."""

NEXT_MOVE, TYPE, STATE, BEST_REPLY = TRUTHS = ("next_move", "type", "state", "best_reply")
"""What can be decoded."""

MOVES = "moves"
POSITIONS = (*QUESTIONS, MOVES)
"""Where states are kept: at the tokens that the two answers follow, and at the newest move."""

TRIED = 4
"""Most pairs that are tried for each whose answers are to be apart."""

_FLOAT16 = 2  # bytes
_CONDITIONS = 3  # of an exchange


class Internal(ExtraTable):
    """Keep what activations hold when the model acts: true, or a table of how.

    Parameters
    ----------
    truth : list of {"next_move", "type", "state", "best_reply"}
        What is decoded: the partner's next move; which partner it is, among those of all cells that
        share everything else; the state that its table is in; the best action over the steps left,
        the lowest of several.
    positions : list of {"act", "predict", "moves"}
        Where states are kept and exchanged: at the token that the action follows, which is decoded
        and always among them; at that of the prediction; at the partner's moves.
    layers : "all" or list of int
        Layers that are read: 0 is what the first block reads, l what block l adds up to.
    folds : int
        Folds of the probes, of whole episodes.
    shuffles : int
        How often labels are exchanged between episodes; 19 can show what holds at 5 %.
    pairs : int
        Most pairs of episodes between which states are exchanged.
    most_megabytes : int
        The run is refused if its states would take more on disk.
    seed : int
        Of folds, exchanged labels, pairs, directions and the untrained twin.
    """

    BARE = True

    truth: list[str] = Field(default=[NEXT_MOVE], min_length=1)
    positions: list[str] = Field(default=list(POSITIONS))
    layers: Literal["all"] | list[int] = "all"
    folds: int = Field(default=5, ge=2)
    shuffles: int = Field(default=19, ge=1)
    pairs: int = Field(default=40, ge=1)
    most_megabytes: int = Field(default=1000, ge=1)
    seed: int = Field(default=0, ge=0)

    @field_validator("layers", mode="before")
    @classmethod
    def _all_or_numbers(cls, value: Any) -> Any:
        numbers = isinstance(value, list) and all(type(layer) is int for layer in value)
        if value != "all" and not (numbers and value):
            raise ValueError(f'must be "all" or a list of layers, is {value!r}')
        return value

    @field_validator("truth")
    @classmethod
    def _known_truth(cls, value: list[str]) -> list[str]:
        return list(dict.fromkeys(among("truth", value, TRUTHS)))

    @field_validator("positions")
    @classmethod
    def _known_positions(cls, value: list[str]) -> list[str]:
        if ACT not in among("position", value, POSITIONS):
            raise ValueError(f'must name "{ACT}", where states are decoded')
        return [name for name in POSITIONS if name in value]

    def check(self, cells: Sequence[Cell]) -> None:
        """Raise for models without open weights, layers that are not there, and too few episodes.

        Cells of other players than language models take no part.
        """
        if not installed("sklearn"):
            raise missing("sklearn", "internal", "probes of states")
        asked = [cell for cell in cells if cell.models]
        if not asked:
            raise TomevalError("internal: no player is a language model")
        for cell in asked:
            [name, *more] = [model_name(spec) for spec in cell.models.values()]
            if more or PARTNER in cell.seats:
                raise TomevalError("internal: the partner must be a table, not a player")
            if name.partition(":")[0] not in KINDS:
                raise TomevalError(f"internal: model {name!r}: {OPEN_WEIGHTS}")
            if cell.length < 2:
                raise TomevalError("internal: states start at step 2: horizon must be at least 2")
            strategy = str(cell.definition["strategy"])
            if not plain(strategy):
                raise TomevalError(
                    f"internal: strategy {strategy!r} shows the model what it or others wrote; "
                    "states are read with LM, QA, CoT, and these with -History, -Payoffs, -Rewards"
                )
            if (size := size_of(name, _base(cell))) is not None:
                self.places(size[0], name)

    def planned(self, cells: Sequence[Cell], episodes: int) -> list[str]:
        """Say what states will take, and what reading them costs; refuse what is out of bounds."""
        megabytes, passes = 0.0, 0
        for cell in (cell for cell in cells if cell.models):
            count = cell.wanted(episodes)
            if count < 2 * self.folds:
                raise TomevalError(
                    f"internal: {count} episodes in a cell, and folds = {self.folds} need "
                    f"at least {2 * self.folds}: raise episodes, set folds, or let episodes differ "
                    '(option_order = "shuffled", or partners that draw)'
                )
            steps = count * (cell.length - 1)
            [spec] = cell.models.values()
            size = size_of(model_name(spec), _base(cell))
            if size is not None:
                kept = len(self.places(size[0], model_name(spec)))
                megabytes += steps * kept * size[1] * len(self.positions) * _FLOAT16 / 1e6
                passes += self._passes(steps, kept)
        if megabytes > self.most_megabytes:
            raise TomevalError(
                f"internal: states would take {megabytes:,.0f} MB on disk, most_megabytes is "
                f"{self.most_megabytes:,}: name fewer layers, or raise it"
            )
        return [
            f"internal: states take {megabytes:,.1f} MB, read after play with at most {passes:,} "
            "passes over whole prompts, when the table or figure `internal` is first asked for"
        ]

    def _passes(self, steps: int, layers: int) -> int:
        """Return the most passes over prompts that a cell takes."""
        forms = sum(name in QUESTIONS for name in self.positions)
        where = 1 + (MOVES in self.positions)
        # Of a step the questions, the twin, and two removals of what each probe reads; of a pair
        # both prompts until answers are apart, then their states, and the exchanges.
        swaps = 2 * TRIED + where * (2 + _CONDITIONS * layers)
        return steps * (forms + 1 + 2 * len(self.truth)) + self.pairs * forms * swaps

    def places(self, blocks: int, name: str) -> list[int]:
        """Return the layers that are read of a model with so many blocks."""
        if self.layers == "all":
            return list(range(blocks + 1))
        for layer in self.layers:
            if not 0 <= layer <= blocks:
                raise TomevalError(
                    f"internal: layers: model {name!r} has layers 0 to {blocks}, not {layer}"
                )
        if not set(self.layers) - {0}:
            raise TomevalError("internal: layers must name one above 0, the embedding")
        return sorted({0, *self.layers})

    def defines(self, cell: Cell) -> dict[str, Any]:
        """Return how states are read, which changes no row but tells that they are wanted."""
        return self.model_dump() if cell.models else {}


def settings_of(definition: Mapping[str, Any]) -> Internal:
    """Return how the states of a stored cell are read: as its experiment says, or by default."""
    return Internal(**definition.get("internal", {}))


def _base(cell: Cell) -> Path | None:
    """Return the folder that relative paths of a cell start from."""
    return cell.setup.base if isinstance(cell, MatrixCell) else None


def size_of(name: str, base: Path | None = None) -> tuple[int, int] | None:
    """Return blocks and width of a model by its configuration; None if it is not on this machine.

    Nothing is loaded.
    """
    from tomeval.models.local.load import config_file

    if name.partition(":")[0] == "compiled":
        from tomeval.extensions.internal.network import BLOCKS, WIDTH

        return BLOCKS, WIDTH
    if (path := config_file(name, base)) is None:
        return None
    config = json.loads(read_text(path))
    text = config.get("text_config") or config
    blocks = text.get("num_hidden_layers", text.get("n_layer"))
    width = text.get("hidden_size", text.get("n_embd"))
    return None if blocks is None or width is None else (int(blocks), int(width))

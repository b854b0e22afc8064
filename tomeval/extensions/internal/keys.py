"""What an experiment can say of states: the table ``[internal]``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field

from tomeval.core.errors import TomevalError
from tomeval.core.extras import installed, missing
from tomeval.games.matrix.results import MatrixRunCell
from tomeval.games.matrix.steps import PARTNER
from tomeval.models import BACKENDS, model_name
from tomeval.runs.domain import Cell
from tomeval.runs.experiment import ExtraTable
from tomeval.strategies import parse_strategy


class Internal(ExtraTable):
    """Keep what activations hold when the model acts: true, or a table of how.

    Parameters
    ----------
    every : int
        Every so many layers are read, from 0 on, and the last: 0 is what the first block reads, l
        what block l adds up to.
    folds : int
        Folds of the probes, of whole episodes.
    shuffles : int
        How often labels are exchanged between episodes; 19 can show what holds at 5 %.
    pairs : int
        Most pairs of prompts between which states are exchanged.
    """

    BARE = True

    every: int = Field(default=1, ge=1)
    folds: int = Field(default=5, ge=2)
    shuffles: int = Field(default=19, ge=1)
    pairs: int = Field(default=40, ge=1)

    def check(self, cells: Sequence[Cell]) -> None:
        """Raise for models without open weights, other strategies than LM, and short episodes.

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
            if why := _unreadable(name, str(cell.definition["strategy"])):
                raise TomevalError(f"internal: {why}")
            if cell.length < 2:
                raise TomevalError("internal: states start at step 2: horizon must be at least 2")

    def planned(self, cells: Sequence[Cell], episodes: int) -> list[str]:
        """Explain when states are read; refuse too few episodes for the folds."""
        for cell in (cell for cell in cells if cell.models):
            count = cell.wanted(episodes)
            if count < 2 * self.folds:
                raise TomevalError(
                    f"internal: {count} episodes in a cell, and folds = {self.folds} need "
                    f"at least {2 * self.folds}: raise episodes, set folds, or let episodes differ "
                    '(option_order = "shuffled", or partners that draw)'
                )
        return ["internal: states are read when the table or figure `internal` is first asked for"]

    def defines(self, cell: Cell) -> dict[str, Any]:
        """Return how states are read, which changes no row but tells that they are wanted."""
        return self.model_dump() if cell.models else {}


def settings_of(definition: Mapping[str, Any]) -> Internal:
    """Return how the states of a stored cell are read: as its experiment says, or by default."""
    told = definition.get("internal", {})
    return Internal(**{key: told[key] for key in Internal.model_fields if key in told})


def spec_of(definition: Mapping[str, Any]) -> Any:
    """Return the spec of a stored cell's model."""
    return definition["options"].get("model") or definition["model"]


def why_not(cell: MatrixRunCell) -> str:
    """Return why a played cell's states cannot be read; empty if they can."""
    told = cell.definition
    if told["kind"] != "llm" or cell.partner_player is not None or cell.recorded:
        return "no language model that plays against tables"
    if why := _unreadable(model_name(spec_of(told)), str(told["strategy"])):
        return why
    if len(cell.episodes) < (enough := 2 * settings_of(told).folds):
        return f"{len(cell.episodes)} complete episodes, fewer than {enough}"
    return ""


def _unreadable(model: str, strategy: str) -> str:
    """Return why a model with a strategy cannot be read; empty if it can."""
    backend, parsed = BACKENDS.get(model.partition(":")[0]), parse_strategy(strategy)
    if backend is None or "torch" not in backend.libraries:
        return f"model {model!r}: needs open weights: hf: or pocket"
    if parsed.answer != "lm" or parsed.advice != "none" or parsed.summarises:
        return (
            f"strategy {strategy!r}: states are read where labels are scored and prompts follow "
            "from the moves alone: LM, and with -History, -Payoffs, -Rewards"
        )
    return ""

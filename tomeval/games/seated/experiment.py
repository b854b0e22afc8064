"""The keys that experiments with games of seats and turns share."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, TypeVar

from pydantic import Field

from tomeval.core.errors import TomevalError
from tomeval.games.seated.players import LLM, LLM_DEFAULTS
from tomeval.runs.experiment import Experiment, located

P = TypeVar("P")
MakePlayer = Callable[[str, dict[str, Any], dict[str, Any], Path | None], P]
"""Makes a player of its name, its table, the experiment's defaults, and the folder of paths."""


class SeatedExperiment(Experiment):
    """Who plays.

    Parameters
    ----------
    players : dict
        Tables by name: ``kind``, which may be left out if ``model`` is given, and options.
    strategy, memory, temperature, probe_temperature, top_p, top_k, min_p, max_tokens, lenient,
    prompts, system
        Defaults of language-model players. A domain adds the key ``model``.
    """

    players: dict[str, dict[str, Any]] = Field(default={})
    strategy: str | dict[str, str] = "QA"
    memory: str = "restated"
    temperature: float = 0.6
    probe_temperature: float = 0.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    max_tokens: int | dict[str, int] = 0
    lenient: str = "take"
    prompts: str = ""
    system: str = ""

    @classmethod
    def use_model(cls, data: dict[str, Any], model: str) -> None:
        """Put one model in place of all others."""
        data["model"] = model
        players = data.get("players")
        for table in players.values() if isinstance(players, dict) else ():
            if isinstance(table, dict) and table.pop("model", None) is not None:
                table.setdefault("kind", LLM)

    def named(
        self, make: MakePlayer[P], model: Any, defaults: Collection[str] = LLM_DEFAULTS
    ) -> dict[str, P]:
        """Return the players by name.

        `model` is that of language models that name none; `defaults` are the keys that hold for
        them all.
        """
        given = {"model": model, **{key: getattr(self, key) for key in defaults}}
        made = {}
        for name, table in self.players.items():
            check_name(name, f"{self._where}: players")
            with located(f"{self._where}: players.{name}"):
                made[name] = make(name, dict(table), given, self._base)
        return made


def check_name(name: str, where: str, taken: Collection[str] = ()) -> None:
    """Raise if a name is taken, is empty, or would break the line that it is printed in."""
    if name in taken or not name.strip() or not name.isprintable():
        raise TomevalError(f"{where}: the name {name!r} is taken, empty or not printable")

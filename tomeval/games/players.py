"""Players as experiments with games of seats name them, and the keys that say who plays."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, ClassVar, TypeVar

from pydantic import Field

from tomeval.core.errors import TomevalError, did_you_mean
from tomeval.models.naming import NO_MODEL
from tomeval.runs.capabilities import Worded
from tomeval.runs.columns import as_text
from tomeval.runs.domain import Player
from tomeval.runs.experiment import Experiment, located
from tomeval.strategies.options import WITH_MEMORY, split_wording

P = TypeVar("P")
MakePlayer = Callable[[str, dict[str, Any], dict[str, Any], Path | None], P]
"""Makes a player of its name, its table, the experiment's defaults, and the folder of paths."""

LLM = "llm"

LLM_DEFAULTS: tuple[str, ...] = ("strategy", "memory", "temperature", "probe_temperature")
LLM_DEFAULTS += ("top_p", "top_k", "min_p", "max_tokens", "lenient", "prompts", "system")
"""Options of language models that an experiment can set for all of them."""

IF_SET = ("lenient",)
"""Options that stand in a player's definition only if they are not the default."""


@dataclass(frozen=True, eq=False)
class GamePlayer(Player):
    """One player. Its draws depend on its name; relative paths among its options start at `base`.

    `DOMAIN` names its prompts, and `OPTIONS` the class of a language model's options, which is
    imported when one plays.
    """

    base: Path | None = None

    DOMAIN: ClassVar[str]
    OPTIONS: ClassVar[str]

    @cached_property
    def llm_options(self) -> Any:
        """The options of a language model, an instance of `OPTIONS`."""
        return resolve_name(self.OPTIONS)(**self.options)

    @cached_property
    def templates(self) -> str:
        """The hash of the prompt templates; empty if it uses none."""
        if not self.model:
            return ""
        return str(self.llm_options.templates(self.DOMAIN, self.base).sha256())

    @property
    def definition(self) -> dict[str, Any]:
        """The player as JSON-ready data."""
        said = {"name": self.name, "kind": self.kind, "options": self.options}
        spec = {"spec": self.model} if self.model else {}
        return {**said, "model": self.model_name, **spec}

    @classmethod
    def model_and_options(cls, entry: Mapping[str, Any]) -> tuple[Any, Any]:
        """Return the model that a table names and the options beside it, both checked."""
        from tomeval.models import model_name

        given = dict(entry)
        model = given.pop("model", "")
        if not model:
            raise TomevalError(NO_MODEL)
        model_name(model)
        options = resolve_name(cls.OPTIONS)
        check_options(LLM, given, [field.name for field in fields(options)], ["model"])
        return model, options(**given)


def check_options(
    kind: str, entry: Iterable[str], known: Collection[str], more: Collection[str] = ()
) -> None:
    """Raise if a table has an option that its kind of player has not; `more` can stand anywhere."""
    for key in entry:
        if key not in known:
            names = [*more, *known]
            near = did_you_mean(key, ["kind", *names])
            raise TomevalError(
                f"a player of kind {kind!r} has no option {key!r}{near}; its "
                f"options: {', '.join(names) or 'none'}"
            )


def player_row(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return a player of a run with its options; a seat played from a record has no options."""
    options = dict(data.get("options", {}))
    return {
        "player": data["name"],
        "kind": data.get("kind", ""),
        "model": data.get("model", ""),
        "strategy": as_text(options.pop("strategy", "")),
        "options": ", ".join(f"{key} {as_text(value)}" for key, value in options.items()),
    }


def worded(player: Mapping[str, Any]) -> Worded | None:
    """Return how a player of a run is asked; None without a model."""
    if not player["model"]:
        return None
    strategy = player["options"].get("strategy", "QA")
    shown = strategy if isinstance(strategy, str) else json.dumps(strategy)
    name, wording = split_wording(player["options"], shown, WITH_MEMORY)
    return Worded(name, player["model"], wording, WITH_MEMORY)


class GameExperiment(Experiment):
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

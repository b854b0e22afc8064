"""Players as experiments name them: scripted ones, the planner, random ones, language models."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from tomeval.core.errors import TomevalError, unknown
from tomeval.games.arena.named_games import get_kind
from tomeval.games.game import ERRORS, ArenaGame
from tomeval.games.players import LLM, GamePlayer, check_options
from tomeval.games.solver import Policy
from tomeval.runs.experiment import located, read_table

PLANNER, RANDOM = "planner", "random"
ANYWHERE = {
    LLM: "a language model with a prompting strategy",
    PLANNER: "plays best replies to the known others, and predicts as the exact observer does",
    RANDOM: "legal actions at random, unless a game has a policy of this name; says nothing",
}
"""Kinds of player that can sit at every table; all others are policies of one game."""

SLIPS = ("error_rate", "error")
"""Options of every player without a model: how often, and how, an attempt breaks the rules."""


@dataclass(frozen=True, eq=False)
class ArenaPlayer(GamePlayer):
    """One player.

    Attributes
    ----------
    error_rate : float
        The probability that an attempt to answer is refused, whatever the player wanted.
    error : str
        Of what type these errors are, one of `game.ERRORS`.
    """

    error_rate: float = 0.0
    error: str = "format"

    OPTIONS = "tomeval.games.llm.options:ArenaOptions"

    @classmethod
    def kind_in(cls, entry: Mapping[str, Any]) -> str:
        """Return the kind of player that a table is of: a model's if it names what models have."""
        kind = entry.get("kind", LLM if not entry or entry.keys() & {"model", "strategy"} else None)
        if not isinstance(kind, str):
            has = ", ".join(map(repr, entry))
            raise TomevalError(
                f"kind: name a kind of player, or give a 'model'; the table has {has}"
            )
        return kind

    @classmethod
    def scripted(
        cls, name: str, kind: str, entry: dict[str, Any], base: Path | None
    ) -> ArenaPlayer:
        """Return a player with the fields of its policy, ``error_rate`` and ``error``."""
        rate, error = entry.pop("error_rate", 0.0), entry.pop("error", "format")
        if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 <= rate <= 1:
            raise TomevalError(f"error_rate: must be a number from 0 to 1, is {rate!r}")
        if error not in ERRORS:
            raise unknown("type of error", error, ERRORS, "error")
        if kind == PLANNER:
            check_options(kind, entry, (), SLIPS)
        return cls(name, kind, entry, base=base, error_rate=float(rate), error=error)

    def known(self, kind: str) -> bool:
        """Return whether it is a policy of a kind of game: others' values follow from it."""
        return self.kind not in ANYWHERE or self.kind in get_kind(kind).policies

    @property
    def definition(self) -> dict[str, Any]:
        """The player as JSON-ready data."""
        slips = {"error_rate": self.error_rate, "error": self.error} if self.error_rate else {}
        return {**super().definition, "strategy": self.strategy, **slips}

    def policy(self, kind: str, game: ArenaGame[Any], where: str) -> Policy:
        """Return it as a policy of a game; a `TomevalError` if it cannot be one there."""
        known = get_kind(kind).policies
        if self.kind not in known:
            names = [*known, *(name for name in ANYWHERE if name not in known)]
            raise unknown(f"player of {kind}", self.kind, names, f"{where}.kind")
        with located(where):
            made = made_policy(known[self.kind], self.kind, self.options)
            made.fits(game)
        return made


def made_policy(cls: type[Policy], kind: str, options: Mapping[str, Any]) -> Policy:
    """Return a policy, made from its options, which are checked."""
    check_options(kind, options, [field.name for field in fields(cls)], SLIPS)  # type: ignore[arg-type]
    return read_table(cls, json.dumps(options, default=str), kind)


def together(names: Sequence[str]) -> str:
    """Return the names of the other players in order, equal neighbours as one.

    Examples
    --------
    >>> together(["grim", "grim", "tft"])
    '2 x grim + tft'
    """
    runs = [(name, len(list(same))) for name, same in itertools.groupby(names)]
    return " + ".join(f"{count} x {name}" if count > 1 else name for name, count in runs)

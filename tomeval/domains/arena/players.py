"""Players as experiments name them: scripted ones, the planner, random ones, language models."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

from tomeval.core.errors import TomevalError, did_you_mean, unknown
from tomeval.domains.arena.game import ERRORS, ArenaGame
from tomeval.domains.arena.games import get_kind
from tomeval.domains.arena.policy import Policy
from tomeval.models.naming import public_spec
from tomeval.runs.domain import Player

if TYPE_CHECKING:
    from tomeval.domains.arena.llm_options import LLMOptions

LLM, PLANNER, RANDOM = "llm", "planner", "random"
ANYWHERE = {
    LLM: "a language model with a prompting strategy",
    PLANNER: "plays best replies to the known others, and predicts as the exact observer does",
    RANDOM: "legal actions at random, unless a game has a policy of this name; says nothing",
}
"""Kinds of player that can sit at every table; all others are policies of one game."""

LLM_DEFAULTS: tuple[str, ...] = ("strategy", "memory", "temperature", "probe_temperature")
LLM_DEFAULTS += ("top_p", "top_k", "min_p", "max_tokens", "prompts", "system")
"""Options of language models that an experiment can set for all of them."""

SLIPS = ("error_rate", "error")
"""Options of every player without a model: how often, and how, an attempt breaks the rules."""


@dataclass(frozen=True, eq=False)
class ArenaPlayer(Player):
    """One player. Its draws depend on its name; relative paths among its options start at `base`.

    Attributes
    ----------
    error_rate : float
        The probability that an attempt to answer is refused, whatever the player wanted.
    error : str
        Of what type these errors are, one of `game.ERRORS`.
    """

    base: Path | None = None
    error_rate: float = 0.0
    error: str = "format"

    @cached_property
    def llm_options(self) -> LLMOptions:
        """The options of a language model."""
        from tomeval.domains.arena.llm_options import LLMOptions

        return LLMOptions(**self.options)

    @cached_property
    def templates(self) -> str:
        """The hash of the prompt templates; empty if it uses none."""
        if not self.model:
            return ""
        prompts = self.llm_options.templates("arena", self.base)
        return prompts.sha256()

    def known(self, kind: str) -> bool:
        """Tell whether it is a policy of a kind of game, so that others' values follow from it."""
        return self.kind not in ANYWHERE or self.kind in get_kind(kind).policies

    @cached_property
    def definition(self) -> dict[str, Any]:
        """The player as JSON-ready data."""
        data: dict[str, Any] = {"name": self.name, "kind": self.kind, "options": self.options}
        if self.error_rate:
            data |= {"error_rate": self.error_rate, "error": self.error}
        spec = {"spec": public_spec(self.model)} if self.model else {}
        return {**data, "model": self.model_name, "strategy": self.strategy, **spec}

    def policy(self, kind: str, game: ArenaGame[Any], where: str) -> Policy:
        """Return it as a policy of a game; a `TomevalError` if it cannot be one there."""
        known = get_kind(kind).policies
        if self.kind not in known:
            names = [*known, *(name for name in ANYWHERE if name not in known)]
            raise unknown(f"player of {kind}", self.kind, names, f"{where}.kind")
        made = _policy(known[self.kind], self.kind, self.options, where)
        try:
            made.fits(game)
        except TomevalError as error:
            raise TomevalError(f"{where}: {error}") from None
        return made


def _policy(cls: type[Policy], kind: str, options: Mapping[str, Any], where: str) -> Policy:
    """Make a policy from its options."""
    known = {field.name: field for field in fields(cls)}  # type: ignore[arg-type]
    for key in options:
        if key not in known:
            names = ", ".join(known) or "none"
            raise TomevalError(
                f"{where}: a player of kind {kind!r} has no option {key!r}"
                f"{did_you_mean(key, [*known, *SLIPS])}; its options: {names}"
            )
    hints = get_type_hints(cls)
    for key, value in options.items():
        if hints[key] in _SCALARS and not _fits(value, hints[key]):
            raise TomevalError(
                f"{where}: {kind}: {key} must be {_SCALARS[hints[key]]}, is {value!r}"
            )
    for name, field in known.items():
        if field.default is MISSING and field.default_factory is MISSING and name not in options:
            raise TomevalError(f"{where}: a player of kind {kind!r} needs {name!r}")
    try:
        return cls(**{key: _frozen(value) for key, value in options.items()})
    except TomevalError as error:
        raise TomevalError(f"{where}: {error}") from None


_SCALARS: Mapping[type, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
}
"""Types of options that are checked here, for all policies; others are checked by the policy."""


def _fits(value: Any, wanted: type) -> bool:
    """Tell whether a value has the type of an option; whole numbers are numbers, true is none."""
    if wanted is float:
        return type(value) in (int, float) and math.isfinite(value)
    return type(value) is wanted


def _frozen(value: Any) -> Any:
    """Return JSON-ready data with tuples for lists, as policies keep them."""
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def player_from_table(
    name: str, table: Mapping[str, Any], defaults: Mapping[str, Any], where: str, base: Path | None
) -> ArenaPlayer:
    """Return a player from its table in an experiment.

    Parameters
    ----------
    table : mapping
        ``kind``, which may be left out if ``model`` is given, and options: for ``llm`` ``model``
        and those of `llm_options.LLMOptions`; for all others ``error_rate``, ``error`` and the
        fields of the policy.
    defaults : mapping
        The experiment's own options for language models.
    where : str
        Put in front of error messages.
    """
    entry = dict(table)
    kind = entry.pop("kind", LLM if "model" in entry or not entry else None)
    if not isinstance(kind, str):
        raise TomevalError(f"{where}.kind: name a kind of player, or give a 'model'")
    if kind == LLM:
        with_defaults = {**defaults, **entry}
        try:
            return _llm(name, with_defaults, base)
        except TomevalError as wrong:
            raise TomevalError(f"{where}: {wrong}") from None
    rate, error = entry.pop("error_rate", 0.0), entry.pop("error", "format")
    if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 <= rate <= 1:
        raise TomevalError(f"{where}.error_rate: must be a number from 0 to 1, is {rate!r}")
    if error not in ERRORS:
        raise unknown("type of error", error, ERRORS, f"{where}.error")
    if kind == PLANNER and entry:
        raise TomevalError(
            f"{where}: a player of kind {kind!r} has no option {next(iter(entry))!r}"
        )
    return ArenaPlayer(name, kind, entry, base=base, error_rate=float(rate), error=error)


def _llm(name: str, entry: dict[str, Any], base: Path | None) -> ArenaPlayer:
    from tomeval.domains.arena.llm_options import LLMOptions
    from tomeval.models import model_name

    model = entry.pop("model", "")
    if not model:
        raise TomevalError("needs a model: give it one, or set 'model' in the experiment")
    model_name(model)
    known = [field.name for field in fields(LLMOptions)]
    for key in entry:
        if key not in known:
            names = ", ".join(["model", *known])
            raise TomevalError(
                f"a language model has no option {key!r}{did_you_mean(key, known)}; known: {names}"
            )
    made = LLMOptions(**entry)
    options = {key: getattr(made, key) for key in known}
    strategy = options["strategy"] if isinstance(options["strategy"], str) else ""
    return ArenaPlayer(name, LLM, options, model, strategy, base=base)


def together(names: Sequence[str]) -> str:
    """Return the names of the other players in order, equal neighbours as one.

    Examples
    --------
    >>> together(["grim", "grim", "tft"])
    '2 x grim + tft'
    """
    runs = [(name, len(list(same))) for name, same in itertools.groupby(names)]
    return " + ".join(f"{count} x {name}" if count > 1 else name for name, count in runs)

"""Players as experiments with games of seats name them, and the keys that say who plays."""

from __future__ import annotations

import itertools
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, ClassVar, Self

from pydantic import Field

from tomeval.core.errors import TomevalError, did_you_mean, unknown
from tomeval.models import model_name
from tomeval.models.naming import NO_MODEL, without_address
from tomeval.runs.columns import as_text, unique
from tomeval.runs.domain import Facts, Player, Worded
from tomeval.runs.experiment import Experiment, combinations, located
from tomeval.strategies.compose import parse_strategy
from tomeval.strategies.options import WITH_MEMORY, split_wording

LLM = "llm"

RECORD = "record"
"""What a slot that answers as recorded is called, where others have a player."""


@dataclass(frozen=True, eq=False)
class GamePlayer(Player):
    """One player. Its draws depend on its name; relative paths among its options start at `base`.

    `OPTIONS` is the class of a language model's options, which is imported when one plays; those
    `IF_SET` stand in its definition only if they are not the default.
    """

    base: Path | None = None

    OPTIONS: ClassVar[str]
    IF_SET: ClassVar[tuple[str, ...]] = ("lenient",)

    @cached_property
    def llm_options(self) -> Any:
        """The options of a language model, an instance of `OPTIONS`."""
        return resolve_name(self.OPTIONS)(**self.options)

    def templates(self, slot: str) -> str:
        """Return the hash of the prompt templates that it uses in a slot; empty if none."""
        if not self.model:
            return ""
        return str(self.llm_options.prompts_in(slot, self.base).sha256())

    @property
    def definition(self) -> dict[str, Any]:
        """The player as JSON-ready data."""
        said = {"name": self.name, "kind": self.kind, "options": self.options}
        spec = {"spec": self.model} if self.model else {}
        return {**said, "model": self.model_name, **spec}

    @classmethod
    def kind_in(cls, entry: Mapping[str, Any]) -> str:
        """Return the kind of player that a table is of."""
        raise NotImplementedError

    @classmethod
    def scripted(cls, name: str, kind: str, entry: dict[str, Any], base: Path | None) -> Self:
        """Return a player without a model, given its options."""
        raise NotImplementedError

    @classmethod
    def of_table(
        cls, name: str, table: Mapping[str, Any], experiment: GameExperiment
    ) -> Iterator[Self]:
        """Yield the player of a table, or one for every combination of a language model's lists.

        A table has ``kind`` and options: of a language model ``model`` and the fields of `OPTIONS`,
        for which the experiment has defaults.
        """
        kind, base = cls.kind_in(table), experiment.base
        entry = {key: value for key, value in table.items() if key != "kind"}
        if kind != LLM:
            yield cls.scripted(name, kind, entry, base)
            return
        options = resolve_name(cls.OPTIONS)
        known = [field.name for field in fields(options)]
        check_options(LLM, entry, ["model", *known], ["kind"])
        given = {key: getattr(experiment, key) for key in known if key in experiment.keys}
        for own, one in swept(name, {"model": experiment.default_model, **given, **entry}):
            model = one.pop("model")
            if not model:
                raise TomevalError(NO_MODEL)
            model_name(model)
            chosen = vars(options(**one))
            usual = {field.name: field.default for field in fields(options)}
            kept = {
                key: chosen[key]
                for key in known
                if chosen[key] != usual[key] or key not in cls.IF_SET
            }
            strategy = kept["strategy"] if isinstance(kept["strategy"], str) else ""
            yield cls(own, LLM, kept, model, strategy, base=base)


def swept(name: str, entry: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield a player's options for every combination of its lists, with a name that tells them.

    Examples
    --------
    >>> [own for own, _ in swept("bob", {"strategy": ["LM", "s2a"], "memory": "restated"})]
    ['bob(strategy=LM)', 'bob(strategy=S2A)']
    """
    for options, varied in combinations(entry):
        inside = ", ".join(f"{k}={_called(k, v)}" for k, v in options.items() if k in varied)
        yield f"{name}({inside})" if inside else name, options


def _called(key: str, value: Any) -> str:
    """Return a value of an axis as names have it: in one spelling, without an address."""
    if key == "model":
        return without_address(model_name(value))
    return parse_strategy(value).name if (key, type(value)) == ("strategy", str) else as_text(value)


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


def player_facts(players: Iterable[Mapping[str, Any]]) -> Facts:
    """Return the players of a run as recorded; a seat played from a record has no options."""
    rows = unique(map(_player_row, players))
    used = {name for row in rows for name, value in row.items() if value != ""}
    shown = [{name: row[name] for name in row if name in used} for row in rows]
    return Facts("Players", [("Players with their options as recorded", shown)])


def _player_row(data: Mapping[str, Any]) -> dict[str, Any]:
    options, slips = dict(data.get("options", {})), data.get("error_rate", 0.0)
    return {
        "player": data["name"],
        "kind": data.get("kind", ""),
        "model": data.get("model", ""),
        "strategy": as_text(options.pop("strategy", "")),
        "options": in_words(options),
        "errors on purpose": f"{100 * slips:g} %, {data['error']}" if slips else "",
        "vectors": data.get("vectors", "")[:12],
    }


def in_words(options: Mapping[str, Any]) -> str:
    """Return options or parameters that are not empty, in a line."""
    return ", ".join(f"{key} {as_text(value)}" for key, value in options.items() if value != "")


def table_at_terminal(name: str, strategy: str = "QA") -> dict[str, Any]:
    """Return a player's table: a model if the name is one, such as ``hf:REPO``, else a kind."""
    return {"model": name, "strategy": strategy} if ":" in name else {"kind": name}


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
        Tables by name: ``kind``, which may be left out if ``model`` is given, and options. Lists
        among those of a language model are axes: one player for every combination. Where a line-up
        names the table, it is played for each of them; one name is one player in all its seats.
    strategy, memory, temperature, probe_temperature, top_p, top_k, min_p, max_tokens, lenient,
    prompts, system
        Defaults of language-model players. A domain adds the key ``model``.
    """

    PLAYER: ClassVar[type[GamePlayer]]
    RESERVED: ClassVar[tuple[str, ...]] = ()
    """What line-ups call others than players."""

    players: dict[str, dict[str, Any]] = Field(default={})
    strategy: str | dict[str, str] | list[str | dict[str, str]] = "QA"
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

    @property
    def keys(self) -> Collection[str]:
        """The keys that it can have."""
        return type(self).model_fields.keys()

    @property
    def default_model(self) -> Any:
        """The model of players that name none; a list is an axis."""
        return getattr(self, "model")  # noqa: B009 (the key of a domain)

    def tables_of_players(self) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """Yield the place of every table of a player, its name, and the table."""
        for name, table in self.players.items():
            yield f"{self._where}: players", name, table

    @cached_property
    def named(self) -> dict[str, tuple[GamePlayer, ...]]:
        """Whom line-ups can name: players, and tables of several."""
        made: dict[str, tuple[GamePlayer, ...]] = {}
        for where, name, table in self.tables_of_players():
            check_name(name, where, (*made, *self.RESERVED))
            with located(f"{where}.{name}"):
                players = made[name] = tuple(self.PLAYER.of_table(name, table, self))
            for player in players:
                if player.name != name:
                    check_name(player.name, where, made)
                    made[player.name] = (player,)
        return made

    @property
    def by_name(self) -> dict[str, GamePlayer]:
        """The players."""
        return {one.name: one for players in self.named.values() for one in players}

    def seatings(self, names: Sequence[str], where: str) -> Iterator[tuple[Any, ...]]:
        """Yield who sits in the slots of a line-up, given names, for every value of their axes."""
        known = self.named | {name: (None,) for name in self.RESERVED if name == RECORD}
        for name in names:
            if name not in known:
                raise unknown("player", name, [*self.named, *self.RESERVED], where)
        called = dict.fromkeys(names)
        for chosen in itertools.product(*map(known.__getitem__, called)):
            players = dict(zip(called, chosen, strict=True))
            yield tuple(map(players.__getitem__, names))


def check_name(name: str, where: str, taken: Collection[str] = ()) -> None:
    """Raise if a name is taken, is empty, or would break the line that it is printed in."""
    if name in taken or not name.strip() or not name.isprintable():
        raise TomevalError(f"{where}: the name {name!r} is taken, empty or not printable")

"""Kinds of game: what each is made of, where it is, and games as experiments name them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pkgutil import resolve_name
from typing import Any

from pydantic import BaseModel

from tomeval.core.errors import TomevalError, unknown
from tomeval.core.parts import NotInstalled, is_there, part, parts
from tomeval.games.arena.wording import Wording
from tomeval.games.game import ArenaGame
from tomeval.games.solver import Policy, Solver
from tomeval.runs.experiment import read_table


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One game of the arena, whatever its parameters.

    Attributes
    ----------
    name, title : str
        As experiments name it, and in words.
    rules : type of BaseModel
        Its parameters, as the experiment's table ``games.NAME`` gives them besides ``game``; every
        one has a default; extra keys are forbidden.
    presets : mapping of str to dict
        Named sets of parameters, such as ``small``; default: none.
    make : callable
        Returns the game, given an instance of `rules`; a `TomevalError` if they make no sense.
    policies : mapping of str to type of Policy
        Its scripted players by name.
    solver : callable
        Given the game, the subject's seat and the policies of all other seats, returns a `Solver`,
        or None where not even bounds are known; `enumeration.enumeration` does so for any game.
    wording : Wording or None
        How TextArena plays it and its players write, for games that were played there.
    """

    name: str
    title: str
    rules: type[BaseModel]
    presets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    make: Callable[[Any], ArenaGame[Any]]
    policies: Mapping[str, type[Policy]]
    solver: Callable[[Any, int, Mapping[int, Policy]], Solver | None]
    wording: Wording | None = None


GAMES: dict[str, str] = {
    "ipd3": "tomeval.games.ipd3:KIND",
    "blotto": "tomeval.games.blotto:KIND",
    "codenames": "tomeval.games.codenames:KIND",
    "mafia": "tomeval.games.mafia:KIND",
}
"""Where each game is: ``module:object``, loaded when it is first named."""


def is_game(name: str) -> bool:
    """Return whether `get_kind` knows a game."""
    return name in GAMES or part("games", name) is not None


def get_kind(name: str, where: str = "") -> Kind:
    """Return a kind of game by name.

    Raises
    ------
    TomevalError
        An unknown name, with the near match; or a game that ships cannot be imported here.
    """
    if isinstance(name, str) and name in GAMES:
        try:
            kind = resolve_name(GAMES[name])
        except ImportError as error:
            why = f"the game {name!r} cannot be loaded: {error}; reinstall tomeval"
            raise NotInstalled(why) from error
    elif (kind := part("games", str(name))) is None:
        raise unknown("game", name, all_games(), where)
    assert isinstance(kind, Kind)
    return kind


def all_games() -> list[str]:
    """Return the names of all games, without those that ship but are not there."""
    here = (name for name, where in GAMES.items() if is_there(where.partition(":")[0]))
    return [*here, *parts("games")]


def textarena_kind(name: str, where: str = "") -> tuple[Kind, Wording, str, bool]:
    """Return our game that an id of TextArena stands for, and how that is written there.

    Then the id without what TextArena adds to it for other wrappers, and whether there are none.

    Raises
    ------
    TomevalError
        An id that none of our games stands for, with the near match.
    """
    known = {
        plain: (kind, kind.wording)
        for kind in map(get_kind, all_games())
        if kind.wording is not None
        for plain in kind.wording.ids
    }
    plain = name if name in known else name.removesuffix("-train").removesuffix("-raw")
    if plain not in known:
        raise unknown("game", name, known, where)
    return (*known[plain], plain, name.endswith("-raw"))


@dataclass(frozen=True, eq=False)
class NamedGame:
    """A game with its parameters, by the name that the experiment gives it."""

    name: str
    kind: Kind
    rules: BaseModel
    game: ArenaGame[Any]

    @property
    def definition(self) -> dict[str, Any]:
        """The game as JSON-ready data, with the hash of its templates if it brings its own."""
        data = {"name": self.name, "kind": self.kind.name, "rules": self.rules.model_dump()}
        if (folder := self.game.templates) is not None:
            files = sorted(folder.rglob("*.j2"))
            texts = [f"{path.relative_to(folder)}\n{path.read_text('utf-8')}" for path in files]
            data["templates"] = hashlib.sha256("\n".join(texts).encode()).hexdigest()
        return data

    @property
    def stream(self) -> str:
        """The game and its parameters, as deals and chance derive from them."""
        return json.dumps([self.kind.name, self.rules.model_dump()], sort_keys=True)


def named_game(name: str, table: Mapping[str, Any], where: str) -> NamedGame:
    """Return a game from its table, or from what a store keeps of it."""
    entry = dict(table)
    if "game" not in entry:
        raise TomevalError(f"{where}: missing key 'game', one of: {', '.join(GAMES)}")
    kind = get_kind(entry.pop("game"), f"{where}.game")
    preset = entry.pop("preset", None)
    if preset is not None:
        if not isinstance(preset, str) or preset not in kind.presets:
            raise unknown(f"preset of {kind.name}", preset, kind.presets, f"{where}.preset")
        entry = {**kind.presets[preset], **entry}
    for key in entry:
        if key not in kind.rules.model_fields:
            known = ["game", *["preset"] * bool(kind.presets), *kind.rules.model_fields]
            raise unknown("key", key, known, where)
    rules = read_table(kind.rules, entry, where)
    try:
        return NamedGame(name, kind, rules, kind.make(rules))
    except TomevalError as error:
        raise TomevalError(f"{where}: {error}") from None


def game_from(definition: Mapping[str, Any]) -> NamedGame:
    """Return the game of a cell's definition, see `NamedGame.definition`."""
    table = {"game": definition["kind"], **definition["rules"]}
    return named_game(definition["name"], table, f"game {definition['name']}")

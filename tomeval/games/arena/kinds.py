"""A kind of game: its parameters, its scripted players, its exact values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from tomeval.games.arena.wording import Wording
from tomeval.games.game import ArenaGame
from tomeval.games.policy import Policy
from tomeval.games.solver import Solver


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
    with_models : mapping
        Parameters whose default is this where a language model plays the game.
    make : callable
        Returns the game, given an instance of `rules`; a `TomevalError` if they make no sense.
    policies : mapping of str to type of Policy
        Its scripted players by name.
    solver : callable
        Given the game, the subject's seat and the policies of all other seats, returns a `Solver`,
        or None where not even bounds are known; `enumeration.enumeration` does so for any game.
    endings : mapping of str to str
        What the words of `ArenaGame.ending` mean.
    wording : Wording or None
        How TextArena plays it and its players write, for games that were played there.
    """

    name: str
    title: str
    rules: type[BaseModel]
    presets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    with_models: Mapping[str, Any] = field(default_factory=dict)
    make: Callable[[Any], ArenaGame[Any]]
    policies: Mapping[str, type[Policy]]
    solver: Callable[[Any, int, Mapping[int, Policy]], Solver | None]
    endings: Mapping[str, str]
    wording: Wording | None = None

"""One folder per game of the arena, and where each is."""

from __future__ import annotations

from pkgutil import resolve_name

from tomeval.core.errors import unknown
from tomeval.core.extensions import named, part
from tomeval.domains.arena.kinds import Kind

GAMES: dict[str, str] = {
    "ipd3": "tomeval.domains.arena.games.ipd3:KIND",
    "blotto": "tomeval.domains.arena.games.blotto:KIND",
    "codenames": "tomeval.domains.arena.games.codenames:KIND",
    "mafia": "tomeval.domains.arena.games.mafia:KIND",
}
"""Where each game is: ``module:object``, loaded when it is first named."""


def is_game(name: str) -> bool:
    """Tell whether `get_kind` may know a game; of ``SOURCE:...`` the source knows the rest."""
    source, colon, _ = name.partition(":")
    return name in GAMES or (bool(colon) and source in named("games"))


def get_kind(name: str, where: str = "") -> Kind:
    """Return a kind of game by name; ``SOURCE:...`` is a game that an extension brings.

    Raises
    ------
    TomevalError
        An unknown name, with the near match.
    """
    source, colon, _ = str(name).partition(":")
    if colon and (brought := part("games", source)):
        found = brought(name, where)
    elif isinstance(name, str) and name in GAMES:
        found = resolve_name(GAMES[name])
    else:
        raise unknown("game", name, GAMES, where)
    assert isinstance(found, Kind)
    return found

"""Games of the package TextArena, as unplanned games of the arena: ``textarena:ID``."""

from __future__ import annotations

from functools import partial

from tomeval.domains.arena.kinds import Kind
from tomeval.extensions.textarena.game import make
from tomeval.extensions.textarena.library import PREFIX, find_entry
from tomeval.extensions.textarena.policies import Texts
from tomeval.extensions.textarena.state import Rules

ENDINGS = {
    "ended": "TextArena ended it, and gave the rewards",
    "broken_off": "it went on for more actions than the parameter `most` allows",
    "forfeit": "a seat broke the rules and lost the game",
}


def textarena_kind(name: str, where: str = "") -> Kind:
    """Return the game of an id, given with its prefix.

    Raises
    ------
    TomevalError
        TextArena is not installed, does not know the id, or would need the network for it.
    """
    entry = find_entry(name.removeprefix(PREFIX), where)
    return Kind(
        name=name,
        title=f"{entry.id} of TextArena",
        rules=Rules,
        presets={},
        make=partial(make, name=entry.id),
        policies={"texts": Texts},
        solver=lambda game, seat, policies: None,
        endings=ENDINGS,
    )

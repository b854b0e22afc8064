"""Players of the Axelrod library as partners: finite-state machines and memory-one players.

A player becomes an exact table, so that optima against it are exact too. Axelrod's action C is
action 0 of the game and D is action 1.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from tomeval.core.errors import TomevalError, did_you_mean, need
from tomeval.games.matrix.games import MatrixGame
from tomeval.games.matrix.partner_specs import PartnerLibrary
from tomeval.games.matrix.partners import Partner

PREFIX = "axelrod:"
_EXTRA = "axelrod"
_START = "start"

State = Any  # what can be a key
Step = Callable[[State, int, int], State]  # state, subject's action, own action -> next state


def axelrod_partner(name: str, game: MatrixGame, full_name: str) -> Partner:
    """Return a player of the Axelrod library as a partner.

    Parameters
    ----------
    name : str
        ``axelrod:`` and the name of its class, such as ``axelrod:Fortress3``; with the class's
        default parameters, and payoffs of 3, 0, 5 and 1 where its probabilities depend on payoffs.
    full_name : str
        What the partner is called.

    Raises
    ------
    TomevalError
        The library is not installed; no such player, or one whose memory is not a finite table; a
        game that is not 2 x 2.
    """
    library = need(_EXTRA, _EXTRA, f"partners {PREFIX}NAME")
    wanted = name.removeprefix(PREFIX)
    if (game.n, game.m) != (2, 2):
        raise TomevalError(
            f"partner {name!r}: does not fit game {game.name} with {game.n} x {game.m} actions; "
            "Axelrod's players fit games with 2 x 2"
        )
    classes = {kind.__name__: kind for kind in library.all_strategies}
    if wanted not in classes:
        near = did_you_mean(wanted, list(classes))
        raise TomevalError(f"partner {name!r}: is not a player of the Axelrod library{near}")
    if (table := _table(library, classes[wanted])) is None:
        raise TomevalError(
            f"partner {name!r}: plays by rules of its own, not as the library's finite-state "
            "machines or memory-one players do"
        )
    emissions, next_state, states = table
    title = f"{classes[wanted].name} (Axelrod)"
    source = f"Axelrod {library.__version__}, {wanted}"
    return Partner(full_name, emissions, next_state, 0, states, title, source)


_Table = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], tuple[str, ...]]


def _table(library: Any, kind: Any) -> _Table | None:
    """Return emissions, next states and their names; None for a player that is no such table."""
    from axelrod.strategies.finite_state_machines import FSMPlayer
    from axelrod.strategies.memoryone import MemoryOnePlayer

    if issubclass(kind, MemoryOnePlayer):
        known = kind.strategy is MemoryOnePlayer.strategy
        return _memory_one(library, kind()) if known else None
    if not issubclass(kind, FSMPlayer) or kind.strategy is not FSMPlayer.strategy:
        return None
    return _machine(library, kind())


def _memory_one(library: Any, player: Any) -> _Table:
    """Return the table of a player that answers the last joint move by its four probabilities."""
    letters = (library.Action.C, library.Action.D)

    def chance(past: State) -> float:
        if past == _START:
            return float(player._initial == letters[0])
        return float(player._four_vector[letters[past[0]], letters[past[1]]])

    return _reached(_START, chance, lambda _, theirs, own: (own, theirs))


def _machine(library: Any, player: Any) -> _Table:
    """Return the table of a machine that answers in moving: its state and what it plays there."""
    letters = (library.Action.C, library.Action.D)
    moves = player.fsm.state_transitions
    return _reached(
        (player.initial_state, player.initial_action),
        lambda state: float(state[1] == letters[0]),
        lambda state, theirs, own: moves[state[0], letters[theirs]],
    )


def _reached(first: State, chance: Callable[[State], float], step: Step) -> _Table:
    """Return arrays of the states that play reaches, from the chance of C in each."""
    kept, open_ = {first: chance(first)}, [first]
    while open_:
        state = open_.pop()
        played = [own for own in (0, 1) if (kept[state], 1 - kept[state])[own] > 0]
        for theirs, own in ((theirs, own) for theirs in (0, 1) for own in played):
            target = step(state, theirs, own)
            if target not in kept:
                kept[target] = chance(target)
                open_.append(target)
    emissions = np.array([[cooperates, 1 - cooperates] for cooperates in kept.values()])
    places = {state: place for place, state in enumerate(kept)}
    next_state = np.zeros((len(kept), 2, 2), dtype=np.int64)  # moves it never makes lead anywhere
    for state, theirs, own in itertools.product(kept, (0, 1), (0, 1)):
        next_state[places[state], theirs, own] = places.get(step(state, theirs, own), 0)
    return emissions, next_state, tuple(f"s{i}" for i in range(len(kept)))


LIBRARY = PartnerLibrary(
    axelrod_partner,
    "2 x 2",
    "A finite-state or memory-one player of the Axelrod library, such as Fortress3",
    "pip install 'tomeval[axelrod]'; docs/partners.md",
)
"""What the extension brings."""

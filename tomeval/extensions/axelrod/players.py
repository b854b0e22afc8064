"""Players of the Axelrod library as partners: finite-state machines and memory-one players.

A player becomes an exact table, so that optima against it are exact too. Axelrod's action C is
action 0 of the game and D is action 1. Deterministic tables are checked by play against the
library's own player before they are used.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

from tomeval.core.errors import TomevalError, did_you_mean
from tomeval.core.extras import need
from tomeval.games.matrix.games import MatrixGame
from tomeval.games.matrix.partner_specs import PartnerLibrary
from tomeval.games.matrix.partners import Partner

PREFIX = "axelrod:"
_EXTRA = "axelrod"
_CHECKED = 400  # random moves that a deterministic table is held against
_START = "start"
_FAR = 1_000  # steps of memory: none is known
_BEYOND = ("makes_use_of", "inspects_source", "manipulates_source", "manipulates_state")
"""What a player can look at or touch besides the moves."""

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
    table = _table(library, classes[wanted]) if wanted in classes else None
    if table is None:
        known = players(library)
        why = (
            "is neither a finite-state machine nor a memory-one player"
            if wanted in classes
            else "is not a player of the Axelrod library"
        )
        raise TomevalError(
            f"partner {name!r}: {why}{did_you_mean(wanted, known)}; known: {', '.join(known)}"
        )
    emissions, next_state, states = table
    title = f"{classes[wanted].name} (Axelrod)"
    source = f"Axelrod {library.__version__}, {wanted}"
    return Partner(full_name, emissions, next_state, 0, states, title, source)


def players(library: Any) -> list[str]:
    """Return the names of all players of the library that can be partners, sorted."""
    return sorted(
        kind.__name__ for kind in library.all_strategies if _table(library, kind) is not None
    )


_Table = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], tuple[str, ...]]


def _table(library: Any, kind: Any) -> _Table | None:
    """Return emissions, next states and their names; None for a player that is no such table."""
    from axelrod.strategies.finite_state_machines import FSMPlayer
    from axelrod.strategies.memoryone import MemoryOnePlayer

    if issubclass(kind, MemoryOnePlayer):
        if kind.strategy is not MemoryOnePlayer.strategy:
            return None
        return _memory_one(library, kind())
    if issubclass(kind, FSMPlayer):
        table = _machine(library, kind()) if kind.strategy is FSMPlayer.strategy else None
    else:
        table = _asked(library, kind)
    return table if table is not None and _plays_alike(library, kind, table) else None


def _memory_one(library: Any, player: Any) -> _Table:
    """Return the table of a player that answers the last joint move by its four probabilities."""
    letters = (library.Action.C, library.Action.D)
    chance: dict[State, float] = {_START: float(player._initial == library.Action.C)}
    for own, theirs in np.ndindex(2, 2):
        chance[own, theirs] = float(player._four_vector[letters[own], letters[theirs]])
    return _expanded(chance, lambda _, theirs, own: (own, theirs))


def _machine(library: Any, player: Any) -> _Table:
    """Return the table of a machine that answers in moving: its state and what it plays there."""
    letters = (library.Action.C, library.Action.D)
    moves = player.fsm.state_transitions

    def step(state: State, theirs: int, own: int) -> State:
        return moves[state[0], letters[theirs]]

    first = (player.initial_state, player.initial_action)
    reached, open_ = {first: None}, [first]  # in the order of discovery
    while open_:
        state = open_.pop()
        for theirs in (0, 1):
            target = step(state, theirs, 0)
            if target not in reached:
                reached[target] = None
                open_.append(target)
    chance: dict[State, float] = {state: float(state[1] == letters[0]) for state in reached}
    return _expanded(chance, step)


def _asked(library: Any, kind: Any) -> _Table | None:
    """Return the table of a deterministic player that looks back one step at most, by asking it."""
    letters = (library.Action.C, library.Action.D)
    player = kind()
    about = player.classifier
    if about.get("stochastic", True) or about.get("memory_depth", _FAR) > 1:
        return None
    if any(about.get(name) for name in _BEYOND):
        return None
    chance: dict[State, float] = {}
    for past in (None, *np.ndindex(2, 2)):
        player, other = kind(), library.MockPlayer([letters[0]])
        if past is not None:
            own, theirs = (letters[action] for action in past)
            player.history.append(own, theirs)
            other.history.append(theirs, own)
        chance[_START if past is None else past] = float(player.strategy(other) == letters[0])
    return _expanded(chance, lambda _, theirs, own: (own, theirs))


def _expanded(chance: dict[State, float], step: Step) -> _Table:
    """Return arrays from the chance of C by state, the first one first, without lost states."""
    first = next(iter(chance))
    kept, open_ = [first], [first]
    while open_:
        state = open_.pop()
        played = [own for own in (0, 1) if (chance[state], 1 - chance[state])[own] > 0]
        for theirs, own in ((theirs, own) for theirs in (0, 1) for own in played):
            target = step(state, theirs, own)
            if target not in kept:
                kept.append(target)
                open_.append(target)
    emissions = np.array([[chance[state], 1 - chance[state]] for state in kept])
    next_state = np.zeros((len(kept), 2, 2), dtype=np.int64)  # moves it never makes lead anywhere
    for s, theirs, own in np.ndindex(len(kept), 2, 2):
        target = step(kept[s], theirs, own)
        next_state[s, theirs, own] = kept.index(target) if target in kept else 0
    return emissions, next_state, tuple(f"s{i}" for i in range(len(kept)))


def _plays_alike(library: Any, kind: Any, table: _Table) -> bool:
    """Tell whether a deterministic table plays as the library's player against random moves."""
    emissions, next_state, _ = table
    letters = (library.Action.C, library.Action.D)
    rng = random.Random(0)
    theirs = [rng.randrange(2) for _ in range(_CHECKED)]
    opponent = library.MockPlayer([letters[action] for action in theirs])
    match = library.Match((kind(), opponent), turns=_CHECKED)
    state = 0
    for action, (played, _) in zip(theirs, match.play(), strict=True):
        own = int(emissions[state].argmax())
        if played != letters[own]:
            return False
        state = int(next_state[state, action, own])
    return True


LIBRARY = PartnerLibrary(
    axelrod_partner,
    "2 x 2",
    "A finite-state or memory-one player of the Axelrod library, such as Fortress3",
    "pip install 'tomeval[axelrod]'; docs/partners.md",
)
"""What the extension brings."""

"""A game at the terminal: its models are opened, and a person can quit at any time."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from tomeval.core.errors import TomevalError
from tomeval.core.printing import Console, QuitGame
from tomeval.core.streams import Stream
from tomeval.games.chairs import Chair
from tomeval.models import open_model
from tomeval.models.base import ContextExceeded, LocalModel, Model
from tomeval.runs.engine import spec_key, started
from tomeval.runs.engines import run_loop

T = TypeVar("T")


def persons_chair(seat: int, game: int) -> Chair:
    """Return the person's seat; it is fixed, not random."""
    return Chair(seat, Stream.of(0, "person").episode(game), name="person")


def at_the_terminal(
    cell: Any,
    seat: str,
    play: Callable[[Mapping[str, Model]], Awaitable[T]],
    console: Console,
    scores: bool = False,
) -> T | None:
    """Play one game of a person with the models of the other seats.

    Parameters
    ----------
    cell : Cell
        The player that it has in the person's `seat` stands in for the person.
    play : callable
        Plays the game, given the models by seat; each is opened once.
    scores : bool
        Whether any model scores labels.

    Returns
    -------
    T or None
        What `play` returns; None if the game was broken off.
    """
    console.say("Type ? for help at any time.")
    specs = {name: spec for name, spec in cell.models.items() if name != seat}
    try:
        return _with_models(specs, play, cell.experiment.base, scores)
    except (QuitGame, KeyboardInterrupt):
        console.say("\nThe game was not finished.")
        return None


def _with_models(
    specs: Mapping[str, Any],
    play: Callable[[Mapping[str, Model]], Awaitable[T]],
    base: Any,
    scores: bool,
) -> T:
    """Play one game, given the models of its seats."""
    asked = {seat: spec_key(spec) for seat, spec in specs.items()}
    opened: dict[str, Model | LocalModel] = {
        key: open_model(json.loads(key), base=base, scores=scores) for key in set(asked.values())
    }

    async def session() -> T:
        if threading.current_thread() is threading.main_thread():
            # asyncio would keep the first Ctrl-C for later, and the person waiting.
            signal.signal(signal.SIGINT, signal.default_int_handler)
        async with started(opened) as lines:
            with lines.episode(list(asked.values())) as mine:
                return await play({seat: mine[key].episode(0) for seat, key in asked.items()})

    try:
        return run_loop(session())
    except ContextExceeded as error:
        raise TomevalError(f"the game cannot continue: {error}") from None

"""A game at the terminal: its models are opened, and a person can break it off at any time."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from tomeval.core.errors import TomevalError
from tomeval.models import open_model
from tomeval.models.base import ContextExceeded, LocalModel, Model
from tomeval.runs.engine import spec_key, started
from tomeval.runs.engines import run_loop

T = TypeVar("T")


def play_with_models(
    specs: Mapping[str, Any],
    play: Callable[[Mapping[str, Model]], Awaitable[T]],
    base: Path | None,
    scores: bool = False,
) -> T:
    """Play one game with the models of its seats.

    Parameters
    ----------
    specs : mapping
        Of the models, by seat; each is opened once.
    play : callable
        Plays the game, given the models by seat.
    scores : bool
        Whether any model scores labels.
    """
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
        raise TomevalError(f"the game cannot go on: {error}") from None

"""How games of seats are played: one with models, or many without any."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tomeval.core.coroutines import run_now
from tomeval.core.errors import TomevalError
from tomeval.models.base import Model, Stopped
from tomeval.runs.capabilities import Play
from tomeval.runs.record import Record

PlayOne = Callable[[Any, int, Mapping[str, Model], Callable[[], None]], Coroutine[Any, Any, Any]]
"""Plays one game of a cell, given its number, models by seat, and what to call after each step."""

GAMES_PER_CHUNK = 50
"""Games without a language model that are played and stored together."""


def play_of(play_one: PlayOne, as_record: Callable[[Any, Any], Record]) -> Play:
    """Return how a domain plays; `as_record` is given a cell and a game.

    Games without a model are played in chunks, without event loop.
    """

    async def one(
        cell: Any, episode: int, models: Mapping[str, Model], on_step: Callable[[], None]
    ) -> Record:
        return as_record(cell, await play_one(cell, episode, models, on_step))

    def many(cell: Any, first: int, count: int) -> list[Record]:
        played = (play_one(cell, first + number, {}, lambda: None) for number in range(count))
        return [as_record(cell, run_now(game)) for game in played]

    return Play(one, lambda cell: 0 if cell.models else GAMES_PER_CHUNK, many)


async def together(*tasks: Coroutine[Any, Any, Any], at_once: bool = True) -> list[Any]:
    """Await all; an error is raised only once all have ended, so that no paid reply is lost.

    Unless `at_once`, one after the other, which needs no event loop.
    """
    if not at_once:
        try:
            return [await task for task in tasks]
        finally:
            for task in tasks:  # those that were not come to, if one broke off
                task.close()
    answers = await asyncio.gather(*tasks, return_exceptions=True)
    for answer in answers:
        if isinstance(answer, BaseException):
            raise answer
    return answers


@contextmanager
def naming_game(name: str) -> Iterator[None]:
    """Name the game in an error that is raised inside; what stops a run stays as it is."""
    try:
        yield
    except Stopped:
        raise
    except TomevalError as error:
        raise TomevalError(f"{name}: {error}") from None

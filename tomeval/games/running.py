"""How games of seats are played: one with models, many without any, and records again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from tomeval.core.coroutines import run_now
from tomeval.core.errors import TomevalError
from tomeval.games.game import Action, ArenaGame, Ask, Stage
from tomeval.games.seats import Answer
from tomeval.models.base import Model, Stopped
from tomeval.runs.capabilities import Play
from tomeval.runs.record import Record

GAMES_PER_CHUNK = 50
"""Games without a language model that are played and stored together."""


def play_of(as_record: Callable[[Any, Any], Record]) -> Play:
    """Return how a domain of `GameCell` plays; `as_record` is given a cell and a game.

    Games without a model are played in chunks, without event loop.
    """

    async def one(
        cell: Any, episode: int, models: Mapping[str, Model], on_step: Callable[[], None]
    ) -> Record:
        return as_record(cell, await cell.play(episode, models, on_step))

    def many(cell: Any, first: int, count: int) -> list[Record]:
        played = (cell.play(first + number, {}, lambda: None) for number in range(count))
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


RECORDED = "recorded"
"""The detail of answers that a record gives."""


class Replay:
    """A recorded game of which some seats are asked anew.

    Every round is asked about with the past as it was recorded, and so is every decision beside or
    after one that the record gives.

    Parameters
    ----------
    record : sequence of Stage
        The stages of the game.
    given : collection of int
        The seats that answer as recorded.
    """

    def __init__(
        self, game: ArenaGame[Any], record: Sequence[Stage[Any]], given: Collection[int]
    ) -> None:
        self.game, self.record, self.given = game, record, given

    def due(self, at: int) -> tuple[Ask, ...]:
        """Return who decides in a stage; nobody once the record is over."""
        return self.game.due(self.record[at].state) if at < len(self.record) else ()

    def answer(self, at: int, seat: int) -> Answer:
        """Return what a seat decided in a stage, or next after it."""
        coming = (stage.actions for stage in self.record[at:] if seat in stage.actions)
        return Answer(next(coming)[seat], attempts=0, details={RECORDED: True})

    def heard(self, at: int, seat: int, action: Action) -> Action:
        """Return the action that a round goes on from: the record's if that gives the next one."""
        if self._gives(at + 1) and self._same_round(at, at + 1):
            return self.record[at].actions[seat]
        return action

    def following(self, at: int, after: Any) -> Any:
        """Return the state of a stage, given the one that came about: inside a round it stands."""
        if at == len(self.record) or (self._same_round(at - 1, at) and not self._gives(at)):
            return after
        return self.record[at].state

    def _gives(self, at: int) -> bool:
        return any(ask.seat in self.given for ask in self.due(at))

    def _same_round(self, at: int, later: int) -> bool:
        first, second = (self.game.rounds(self.record[one].state) for one in (at, later))
        return first == second

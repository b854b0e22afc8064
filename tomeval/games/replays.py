"""A record played again: which decisions it gives, and what is gone on from."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from tomeval.games.game import Action, ArenaGame, Ask, Stage
from tomeval.games.seats import Answer

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

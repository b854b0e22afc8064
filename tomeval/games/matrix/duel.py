"""One episode of two subjects: the step loop where a player sits in the partner's seat.

Each sees the game from its own side, and neither sees the other's move before both have moved.
Nobody notices who is asked first: only what is told of the other's move (`Subject.looks_ahead`)
makes a difference, and then the other one is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import COMPLETE, FAILED, VOID
from tomeval.games.matrix.observation import Joint, Observation
from tomeval.games.matrix.play import Setup, check_asides, generator_of, take_turn, wait
from tomeval.games.matrix.steps import NONE, Record, Steps, Turn
from tomeval.games.matrix.storing import PARTNER, SEAT
from tomeval.games.matrix.subjects import subject_class
from tomeval.games.matrix.subjects.base import Door, Subject
from tomeval.models.base import Model


class _Side(NamedTuple):
    """A seat of the table."""

    setup: Setup  # the game as this seat sees it
    subject: Subject
    door: Door
    fallback: np.random.Generator
    past: list[Joint]
    where: str

    @classmethod
    def of(
        cls, setup: Setup, streams: Setup, seat: str, episode: int, model: Model | None
    ) -> _Side:
        """Seat one subject; `streams` is the cell's own setup, which all chance comes from."""
        own, drawn = ("subject", "fallback") if seat == SEAT else ("other", "other fallback")
        rng = generator_of(setup, streams.stream(own), episode)
        name = f"{streams.stream(own).key:032x}-{episode}"
        subject, door = setup.seat_subject(None, rng, model, name, episode)
        where = f"episode {episode}" if seat == SEAT else f"the partner's seat, episode {episode}"
        return cls(setup, subject, door, streams.stream(drawn).episode(episode), [], where)

    async def turn(self, step: int, known: int | None) -> Turn:
        """Ask everything of a step; `known` is the other's move if it was asked first."""
        setup = self.setup
        self.door.set(NONE, known)
        past = tuple(self.past)
        observation = Observation(setup.game, setup.labels, step, setup.horizon, past)
        return await take_turn(setup, self.subject, observation, self.fallback, self.where)


async def play_duel(
    setup: Setup,
    episode: int,
    models: Mapping[str, Model],
    on_step: Callable[[], None] = lambda: None,
) -> Steps:
    """Play one episode of two subjects; `models` by seat.

    A turn that ends the episode ends it for both: who had not been asked in that step is not.
    """
    mine = _Side.of(setup, setup, SEAT, episode, models.get(SEAT))
    theirs = _Side.of(setup.other, setup, PARTNER, episode, models.get(PARTNER))
    record = Record(episode, 0)
    order = (theirs, mine) if mine.subject.looks_ahead else (mine, theirs)
    for step in range(1, setup.horizon + 1):
        turns: dict[int, Turn] = {}
        known = None
        for side in order:
            turns[id(side)] = turn = await side.turn(step, known)
            known = turn.own
            if turn.lost:
                break
        own, other = turns.get(id(mine)), turns.get(id(theirs))
        there = NONE if other is None or other.own is None else other.own
        record.add_turn(step, NONE, there, own, mine.door.used)
        if other is not None:
            record.add_other(step, other, theirs.door.used)
        for side in order:
            if id(side) in turns:
                check_asides(side.setup, turns[id(side)], f"{side.where}, step {step}")
        if own is None or other is None or own.lost or other.lost:
            failed = any(turn.failed for turn in turns.values())
            return record.steps(FAILED if failed else VOID)
        joint = (own.moved, other.moved)
        rewards = setup.game.payoffs[joint]
        mine.past.append(Joint(*joint, float(rewards[0]), float(rewards[1])))
        theirs.past.append(Joint(*joint[::-1], float(rewards[1]), float(rewards[0])))
        for side in order:
            await wait(side.subject.observe(side.past[-1]))
        on_step()
    return record.steps(COMPLETE)


def check_players(setup: Setup) -> None:
    """Seat both subjects once, so that what cannot be played shows before anything is.

    Raises
    ------
    TomevalError
        An option, a person, a subject that needs the partner's table, or two that each need to know
        the other's move before their own.
    """
    told = []
    for side in (setup, setup.other):
        # The caller says whose options the subject's are.
        whose = "" if side is setup else f"{setup.partners.name!r} in the partner's seat: "
        if not subject_class(side.kind).by_run:
            raise TomevalError("people can play only against partners defined by tables")
        try:
            subject, _ = side.seat_subject(None, np.random.default_rng(0))
        except TomevalError as error:
            raise TomevalError(f"{whose}{error}") from None
        if subject.needs_table:
            raise TomevalError(
                f"{whose}{side.kind!r} needs the best response to the partner's table, but a "
                "player in the partner's seat has no table"
            )
        told.append(subject.looks_ahead)
    if all(told):
        raise TomevalError(
            f"it and {setup.partners.name!r} in the partner's seat both need to be told the "
            "other's move before their own; only one of them can be"
        )

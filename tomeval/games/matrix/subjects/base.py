"""The contract of a subject, and the answers it gives."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import Decision, Invalid, Said, run_now
from tomeval.games import seats
from tomeval.games.matrix.games import Labels, MatrixGame
from tomeval.games.matrix.partners import Partner
from tomeval.games.matrix.rules import BELIEF, Joint, Observation
from tomeval.models.base import Model
from tomeval.strategies.beliefs import Planted, plant

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
Answer = Said[int] | Invalid


def stated(planted: Planted, accuracy: float, wording: str = "") -> dict[str, Any]:
    """Return what is kept of a belief: the action, whether it is right, how often, as what."""
    kept = {"action": planted.stated, "right": planted.right, "accuracy": accuracy}
    return {BELIEF: kept | ({"as": wording} if wording else {})}


class Door(seats.Door):
    """What a subject may learn beyond the observation; every use is recorded with its step.

    Oracles and simulated subjects go through it. Strategies that are told nothing never open it.

    Parameters
    ----------
    partners : sequence of Partner
        The partner; of episodes that are played at once all that any of them can meet. Empty: the
        partner is a player, and has no table.
    count : int
        How many actions the partner has.
    beliefs : callable
        Returns the two uniform numbers of what is stated in a step, from 1.
    """

    def __init__(
        self,
        partners: Sequence[Partner],
        count: int,
        beliefs: Callable[[int], tuple[float, float]],
    ) -> None:
        super().__init__()
        self.beliefs = beliefs
        self._partners, self._count, self._round = partners, count, 1
        self._state = partners[0].start if partners else -1

    def follow(self, own: int, theirs: int) -> None:
        """Go on to the next round, after these moves."""
        self._round += 1
        if self._partners:
            self._state = int(self._partners[0].next_state[self._state, own, theirs])

    def next_action(self) -> int:
        """Return the action that the partner plays in this step."""
        [action] = run_now(self()).values()
        return int(action)

    def partner(self) -> tuple[Partner, int]:
        """Return the partner's table and its current state."""
        return self.tables()[0], self._state

    def tables(self) -> Sequence[Partner]:
        """Return the partner's table; of episodes at once, those of all that they can meet."""
        if not self._partners:
            raise TomevalError(
                "this subject needs the partner's table, but a player sits in the partner's seat"
            )
        self.used = True
        return self._partners

    def statement(self, accuracy: float) -> Planted:
        """State an action of the partner in this step, true with a probability.

        What is stated depends on the step and the accuracy alone, not on who asks or how often; see
        `tomeval.strategies.beliefs.plant`.
        """
        return plant(self.next_action(), self._count, accuracy, *self.beliefs(self._round))


@dataclass(frozen=True)
class Seat:
    """Where a subject sits for one episode."""

    # Game, labels and horizon: as in the observation.
    game: MatrixGame
    labels: Labels
    horizon: int | None
    rng: np.random.Generator  # the subject's own generator; the only source of chance it may use
    door: Door = field(repr=False)
    model: Model | None = None  # the language model, for subjects that are one
    # Unique to the episode and cell within a seed: seeds of single requests derive from it.
    name: str = ""
    base: Path | None = None  # folder that relative paths among the options start from
    episodes: int = 0  # how many are played at once; 0: one, by itself
    # What is told of the partner, in place of a language model's own options.
    said: Mapping[str, str] = field(default_factory=dict)
    # Policies that it can be asked to tell the partner's among; empty: the partner has no table.
    candidates: Sequence[Partner] = ()
    # Makes a generator for a purpose, the same for all subjects in an episode of a task.
    shared: Callable[[str], np.random.Generator] = field(
        default=lambda purpose: np.random.default_rng(0), repr=False
    )
    continuation: float | None = None  # as in the observation


class Subject(ABC):
    """What is measured. A new one is made for every episode, so nothing carries over.

    Subclasses take their options as keyword arguments after the seat. `act` and `predict` may be
    coroutines. `act` is asked first; `predict` is a probe and must not change later answers.
    """

    draws_per_step: ClassVar[int | None] = None
    """Uniform numbers taken from ``seat.rng`` per step, for subjects that also run in batch, see
    `Batched`."""

    looks_ahead: bool = False
    """Whether it asks the door for the partner's next action, which can be done in the subject's
    seat only."""

    needs_table: bool = False
    """Whether it asks the door for the partner's table, which a player does not have."""

    reads_templates: ClassVar[bool] = False
    """Whether it is told things in the words of prompt templates."""

    predicts_first: bool = False
    """Whether a step's prediction is made before its action, and stands whatever comes of that."""

    def __init__(self, seat: Seat) -> None:
        self.seat = seat

    @classmethod
    def options(cls) -> dict[str, Any]:
        """Return the options that an experiment can set, with their defaults."""
        arguments = list(inspect.signature(cls.__init__).parameters.values())[2:]
        return {argument.name: argument.default for argument in arguments}

    @abstractmethod
    def act(self, observation: Observation) -> Answer | Awaitable[Answer]:
        """Choose the own action of this step."""

    @abstractmethod
    def predict(
        self, observation: Observation, own_action: int | None
    ) -> Answer | Awaitable[Answer | None] | None:
        """Predict what the partner plays in this step; `own_action` is None when not yet known.

        None if the subject is not asked.
        """

    def observe(self, joint: Joint) -> Awaitable[None] | None:
        """Learn what was played and earned in this step."""
        return None


class Answers(NamedTuple):
    """One step's answers of E episodes: actions of shape (E,), and what was stated of them.

    Distributions have a row per episode, or one for all; None: all mass lies on the action.
    """

    own: IntArray
    predicted: IntArray
    own_probs: FloatArray | None = None
    predicted_probs: FloatArray | None = None


class Batched(Subject):
    """A subject that can play many episodes at once; alone it is a batch of one.

    A class that is played so names `draws_per_step` itself: one that changes the policy of another
    does not, and is played alone.
    """

    def __init__(self, seat: Seat) -> None:
        super().__init__(seat)
        self.count = max(1, seat.episodes)
        draws = (vars(kind).get("draws_per_step") for kind in type(self).__mro__)
        self._draws = next(count for count in draws if count is not None)  # those of `answer`
        self._prediction: tuple[IntArray, FloatArray | None] | None = None

    @abstractmethod
    def answer(self, t: int, state: IntArray, truth: IntArray, u: FloatArray) -> Answers:
        """Act and predict in step t (from 0), given uniform numbers of shape (draws, E).

        `state` counts through the states of all partners of the set, one table after another.
        """

    def learn(self, own: IntArray, partner: IntArray) -> None:
        """Learn what was played."""

    def act(self, observation: Observation) -> Decision:
        """Act and predict in one."""
        door, unknown = self.seat.door, np.array([-1])
        state = np.array([door.partner()[1]]) if self.needs_table else unknown
        truth = np.array([door.next_action()]) if self.looks_ahead else unknown
        u = self.seat.rng.random((self._draws, 1))
        own, predicted, *probs = self.answer(observation.round - 1, state, truth, u)
        self._prediction = predicted, probs[1]
        return _decision(own, probs[0])

    def predict(self, observation: Observation, own_action: int | None) -> Decision:
        """Return the prediction that was made with the action."""
        assert self._prediction is not None, "it predicts as it acts"
        return _decision(*self._prediction)

    def observe(self, joint: Joint) -> None:
        """Learn what was played."""
        self.learn(np.array([joint.own]), np.array([joint.partner]))


def _decision(actions: IntArray, probs: FloatArray | None) -> Decision:
    """Return an answer of a batch of one; a distribution that is sure of its action is dropped."""
    action = int(actions[0])
    if probs is None or probs[0].max() == 1.0:
        return Decision(action)
    return Decision(action, tuple(map(float, probs[0])))


def choose(options: IntArray | int, u: FloatArray) -> IntArray:
    """Return ``floor(u * options)``, safe against rounding up."""
    chosen: IntArray = np.minimum((u * options).astype(np.int64), np.asarray(options) - 1)
    return chosen


def pick(tied: NDArray[np.bool_], u: FloatArray) -> tuple[IntArray, FloatArray]:
    """Draw one of the tied columns of each row, all equally likely; also return their chances."""
    count = tied.sum(axis=1)
    rank = choose(count, u)
    chosen: IntArray = (tied.cumsum(axis=1) > rank[:, None]).argmax(axis=1)
    return chosen, tied / count[:, None]

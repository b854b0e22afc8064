"""What one game leaves behind: its decisions, what they were worth, its probes, how it ended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tomeval.core.outcomes import COMPLETE, VALID
from tomeval.games.game import Action, ArenaGame, Broken, Probe, Stage, Verdict
from tomeval.games.seats import Answer
from tomeval.games.solver import Values
from tomeval.games.worth import Worth

Mark = int | tuple[int, str, str]
"""What followed a stage: the place of chance among `ArenaGame.outcomes`, or whose decision of which
kind broke the rules for good, and what that cost (see `ArenaGame.struck`)."""


@dataclass
class Probed:
    """A literal question that the subject was asked, and its answer.

    Attributes
    ----------
    truth
        None if it never showed.
    hit : float or None
        From 0 to 1; None without a truth or a valid answer.
    probability : float or None
        What the subject gave to the truth, if labels were scored; None of an answer that is not
        given as probabilities.
    brier : float or None
        The Brier score of its probabilities, from 0 to 2: the sum over outcomes.
    attainable : float or None
        The most that an answer can score in expectation, see `solver.Values.attainable`.
    observer : float or None
        What the exact Bayesian observer gave to the truth.
    observer_brier : float or None
        The Brier score of the observer.
    chance : float or None
        What an answer at random scores in expectation, see `ArenaGame.chance`.
    counted
        Of `ArenaGame.binding` probes what counts: the answer, or what was drawn in its place.
    """

    probe: Probe
    answer: Answer
    truth: Action = None
    hit: float | None = None
    probability: float | None = None
    brier: float | None = None
    attainable: float | None = None
    observer: float | None = None
    observer_brier: float | None = None
    chance: float | None = None
    counted: Action = None


@dataclass
class Decision:
    """One decision of one seat.

    Attributes
    ----------
    number : int
        From 1, in the order of the table.
    stage : int
        In which entry of `PlayedGame.record` it counts, from 0.
    round : int
    seat, slot : int
        Where the player sits, and which player it is; 0 is the subject.
    kind : str
    answer : Answer
    verdict : str
        See `game.Verdict`.
    action
        What counted; None if nothing did.
    at : int or None
        Its place among the stages that were completed, from 0; None if it had no effect.
    told : bool
        Whether the subject learned what its view does not show.
    values : Values or None
        What it could be worth, before it was made; not stored.
    """

    number: int
    stage: int
    round: int
    seat: int
    slot: int
    kind: str
    answer: Answer
    verdict: Verdict = "valid"
    action: Action = None
    at: int | None = None
    worth: Worth | None = None
    probed: list[Probed] = field(default_factory=list)
    told: bool = False
    values: Values | None = None

    @property
    def error(self) -> Broken:
        """What was wrong with the last refused attempt; empty without one."""
        return self.answer.tries[-1] if self.answer.tries else Broken("", "")


@dataclass
class PlayedGame:
    """A game as it goes to the store.

    Attributes
    ----------
    index, deal : int
        The episode, and the number of the deal that it was played on.
    seats : tuple of int
        The seat of every player, the subject first.
    record : list of Mark
        Stage by stage; with deal and actions it replays the game.
    rewards, wins : tuple of float
        By seat; empty for games that are not complete.
    roles : tuple of str
        By seat.
    teams : tuple of tuple of int
    rounds : int
    ending : str
        Empty for games that are not complete.
    best_value, random_value : float or None
        V* before the deal, and the value of playing at random; None: not known exactly.
    calls : list of (decision number, slot, form, record)
    """

    index: int
    deal: int
    seats: tuple[int, ...]
    status: str = COMPLETE
    decisions: list[Decision] = field(default_factory=list)
    record: list[Mark] = field(default_factory=list)
    rewards: tuple[float, ...] = ()
    wins: tuple[float, ...] = ()
    roles: tuple[str, ...] = ()
    teams: tuple[tuple[int, ...], ...] = ()
    rounds: int = 0
    ending: str = ""
    best_value: float | None = None
    random_value: float | None = None
    calls: list[tuple[int, int, str, dict[str, Any]]] = field(default_factory=list)


def frozen(value: Any) -> Action:
    """Return what JSON made of an action as the action: lists are tuples."""
    return tuple(map(frozen, value)) if isinstance(value, list) else value


def judge(
    game: ArenaGame[Any],
    decisions: Iterable[Decision],
    trail: Sequence[Stage[Any]],
    end: Any,
    rng: np.random.Generator,
) -> None:
    """Compare answers to probes with the truth, once a game is over; `rng` draws answers."""
    for decision in decisions:
        if (at := decision.at) is None:
            continue
        view = game.view(trail[at].state, decision.seat)
        for probed in decision.probed:
            truth = game.truth(probed.probe, decision.seat, trail, at, end)
            if truth is not None:
                probed.chance = game.chance(view, probed.probe, truth, rng)
                _judge(game, view, decision.values, probed, truth)


def _judge(
    game: ArenaGame[Any], view: Any, values: Values | None, probed: Probed, truth: Action
) -> None:
    probed.truth = truth
    if values is not None and (seen := values.observer(probed.probe)) is not None:
        probed.observer, probed.observer_brier = scored(seen, truth)
    if probed.answer.outcome == VALID:
        probed.hit = game.hit(probed.probe, probed.answer.action, truth)
        if probed.answer.probs is not None:
            given = _given(game, view, probed, probed.answer.probs)
            probed.probability, probed.brier = scored(given, truth)


def _given(
    game: ArenaGame[Any], view: Any, probed: Probed, probs: Sequence[float]
) -> Mapping[Action, float]:
    """Return the probabilities that were given, by what the labels mean."""
    form = game.form(view, probed.probe)
    given: dict[Action, float] = {}
    for label, p in zip(form.labels, probs, strict=True):
        what = game.read(view, probed.probe, form.items(label))
        given[what] = given.get(what, 0.0) + float(p)
    return given


def scored(given: Mapping[Action, float], truth: Action) -> tuple[float, float]:
    """Return the probability of the truth, and the Brier score of all probabilities."""
    hit = float(given.get(truth, 0.0))
    return hit, 1.0 - 2.0 * hit + sum(float(p) ** 2 for p in given.values())


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


RECORDED = "recorded"
"""The detail of answers that a record gives."""


@dataclass(frozen=True, eq=False)
class Played:
    """Complete games of a cell, or of several that are taken together, as arrays by column.

    Attributes
    ----------
    by_game : mapping of str to ndarray, shape (E,)
    steps : mapping of str to ndarray, shape (N,)
        Of the decisions, or turns, that are measured; ``game`` is which each belongs to, from 0.
    probes : mapping of str to ndarray, shape (P,)
        Of the literal questions, likewise.
    more : mapping of str to callable
        What groups of measures read besides, by name, when it is first called; see
        `tomeval.core.parts.Analysis`.
    """

    by_game: Mapping[str, NDArray[Any]]
    steps: Mapping[str, NDArray[Any]]
    probes: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    more: Mapping[str, Callable[[], Any]] = field(default_factory=dict)

    def __getitem__(self, column: str) -> NDArray[Any]:
        """Return a column of steps."""
        return self.steps[column]

    @property
    def games(self) -> int:
        """Number of games."""
        return len(next(iter(self.by_game.values())))

"""One episode, by the loop of all games. `batch.simulate` plays many at once."""

from __future__ import annotations

import inspect
import json
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tomeval.core.outcomes import VALID, Invalid, Said, run_now
from tomeval.core.streams import Stream
from tomeval.games.game import Ask, Probe
from tomeval.games.matrix.games import Labels, MatrixGame, mirrored, mirrored_labels
from tomeval.games.matrix.partners import Partner, PartnerSet
from tomeval.games.matrix.rules import (
    PARTNER,
    PREDICT,
    REACT,
    SEAT,
    WHICH,
    Joint,
    Observation,
    RepeatedGame,
    RoundView,
    TablePolicy,
)
from tomeval.games.matrix.scene import prompts_of
from tomeval.games.matrix.storing import as_record
from tomeval.games.matrix.subject_specs import PartnerPlayer, nothing_drawn
from tomeval.games.matrix.subjects import LLMSubject, subject_class
from tomeval.games.matrix.subjects.base import Door, Subject
from tomeval.games.matrix.subjects.base import Seat as Place
from tomeval.games.play import Table, play_game
from tomeval.games.played import PlayedGame
from tomeval.games.seats import Answer, Chair, ScriptedSeat, Seat
from tomeval.models.base import Model
from tomeval.models.naming import drawn_with
from tomeval.runs.domain import Player
from tomeval.runs.record import Record


@dataclass(frozen=True, eq=False)
class Setup:
    """All that decides how the episodes of one cell go."""

    # The subject: a kind, see `tomeval.games.matrix.subjects`, and its keyword options.
    kind: str
    options: dict[str, Any] = field(default_factory=dict)
    game: MatrixGame = field(kw_only=True)
    labels: Labels = field(kw_only=True)
    # Tables, of which every episode draws one, or a subject in the partner's seat.
    partners: PartnerSet | PartnerPlayer = field(kw_only=True)
    # Steps per episode; None: after every step it goes on with the probability `continuation`.
    horizon: int | None = field(kw_only=True)
    continuation: float | None = field(kw_only=True, default=None)
    # The run's seed. Which partner an episode draws depends on seed, game, partner set and episode
    # alone, and so does, with the horizon, how it moves, and how long an episode lasts whose length
    # is drawn: all subjects meet the same ones.
    seed: int = field(kw_only=True)
    # {"void", "random"}: what an invalid answer does: end the episode and leave it out of all
    # metrics; or draw a uniformly random legal action in its place. A backend error never becomes
    # an action: the episode has failed, is left out of all metrics, and is played again when the
    # run is resumed. One on a question that no
    # move needs ends nothing: the answer is missing.
    on_invalid: str = field(kw_only=True, default="void")
    # Folder that relative paths among the options start from.
    base: Path | None = field(kw_only=True, default=None)
    # Among what the subject is asked to tell its partner; empty: the partners.
    candidates: tuple[Partner, ...] = field(kw_only=True, default=())

    def stream(self, seat: str) -> Stream:
        """Return a seat's stream.

        Seats: ``partner choice``, ``partner``, ``belief``, ``length``, ``subject``, ``fallback``;
        but for the last two they are the same for all subjects, and so are others (`Seat.shared`).
        Where a subject sits in the partner's seat, its own are ``other`` and ``other fallback``,
        and no stream depends on what players are called.
        """
        if isinstance(self.partners, PartnerPlayer):
            if seat in ("belief", "length"):
                return Stream.of(self.seed, seat, self.game.chance, "player")
            other = _drawing(self.partners.player.kind, self.partners.player.options)
            both = (_drawing(self.kind, self.options), other, self.labels.name, self.lasts)
            return Stream.of(self.seed, seat, self.game.chance, *both)
        purpose = [seat, self.game.chance, self.partners.chance]
        if seat in ("subject", "fallback"):
            subject = _drawing(self.kind, self.options)
            purpose += [subject, self.labels.name, self.lasts]
        return Stream.of(self.seed, *purpose)

    @property
    def lasts(self) -> str:
        """How long episodes last, as tables show it: T, or ``c=`` the probability to go on."""
        return str(self.horizon or f"c={self.continuation}")

    @property
    def usual(self) -> float:
        """How many steps an episode is expected to have."""
        return float(self.horizon or 1 / (1 - (self.continuation or 0.0)))

    def lengths(self, first: int, count: int) -> NDArray[np.int64]:
        """Return how many steps `count` episodes from `first` on have, shape (count,).

        A drawn length exceeds n with probability continuation**n, whoever plays.
        """
        if self.continuation is None:
            return np.full(count, self.horizon)
        u = self.stream("length").block(first, count, 1)[:, 0]
        beyond: NDArray[np.int64] = (np.log1p(-u) / np.log(self.continuation)).astype(np.int64)
        return 1 + beyond

    def generator(self, seat: str, episode: int, draws: int | None) -> np.random.Generator:
        """Return a seat's generator of an episode, which takes `draws` in a step; None: any."""
        if draws is not None and self.horizon is not None:
            return self.stream(seat).episode(episode, draws * self.horizon)
        return self.stream(seat).episode(episode)

    @property
    def tables(self) -> PartnerSet:
        """The partners, which are tables here."""
        assert isinstance(self.partners, PartnerSet), "a player sits in the partner's seat"
        return self.partners

    @cached_property
    def other(self) -> Setup:
        """The same task seen from the partner's seat, where a subject sits in it."""
        assert isinstance(self.partners, PartnerPlayer), "the partner is a table"
        player = self.partners.player
        return replace(
            self,
            kind=player.kind,
            options=player.options,
            game=mirrored(self.game),
            labels=mirrored_labels(self.labels),
            partners=PartnerPlayer("subject", Player("subject", self.kind, self.options)),
        )

    def seat_subject(
        self,
        partner: Partner | None,
        rng: np.random.Generator,
        model: Model | None = None,
        name: str = "",
        episode: int = 0,
        episodes: int = 0,
    ) -> Subject:
        """Make the subject of one episode.

        `partner` is None where the partner is a player; `episodes` as for `Seat`.
        """
        met = self.tables.partners if episodes else (partner,) if partner else ()
        # If a belief is asked for: of so many steps as there are, or of twice as many as were seen.
        draws = cache(lambda steps: self.belief_draws(episode, steps).tolist())
        many = self.horizon
        door = Door(met, self.game.m, lambda at: draws(many or 1 << at.bit_length())[at - 1])
        said = self.tables.said(partner) if partner else {}
        asked = self.candidates or (self.tables.partners if partner else ())

        def shared(purpose: str) -> np.random.Generator:
            return self.stream(purpose).episode(episode)

        where = model, name, self.base, episodes, said, asked, shared, self.continuation
        seat = Place(self.game, self.labels, self.horizon, rng, door, *where)
        return subject_class(self.kind)(seat, **self.options)

    def belief_draws(self, episode: int, steps: int) -> NDArray[np.float64]:
        """Return the chance of an episode's beliefs, (`steps`, 2): the same for all accuracies."""
        return self.generator("belief", episode, 2).random((steps, 2))

    def templates(self) -> str:
        """Return one hash over the prompt templates the subject uses; empty if it uses none."""
        if not subject_class(self.kind).reads_templates:
            return ""
        told = self.tables if isinstance(self.partners, PartnerSet) else None
        said = told.said(told.partners[0]) if told else {}
        return prompts_of({**self.options, **said}, self.base, self.horizon is None).sha256()

    @cached_property
    def enumerated(self) -> int:
        """How many episodes it has, one for each partner, if nothing is drawn; else 0."""
        if not nothing_drawn(self):
            return 0
        return 1 if isinstance(self.partners, PartnerPlayer) else len(self.partners.partners)

    def draw_partners(self, first: int, count: int) -> NDArray[np.int64]:
        """Return which partner each of `count` episodes from `first` on draws, shape (count,)."""
        if isinstance(self.partners, PartnerPlayer):
            return np.zeros(count, dtype=np.int64)
        if self.enumerated:
            return np.arange(first, first + count) % self.enumerated
        u = self.stream("partner choice").block(first, count, 1)
        chosen: NDArray[np.int64] = (u >= self.tables.cumulative()).sum(axis=1)
        return chosen


_ASIDE = ("literal", "draws", "questions")


def _drawing(kind: str, options: Mapping[str, Any]) -> str:
    """Return what of a subject its draws depend on."""
    # Whether a probe is asked must not change what a subject draws when it acts.
    kept = {key: value for key, value in options.items() if key not in _ASIDE}
    if "model" in kept:  # nor must what the model is called, or how it is run
        kept["model"] = drawn_with(kept["model"])
    return json.dumps([kind, kept], sort_keys=True)


def play_episode(setup: Setup, episode: int) -> Record:
    """Play one episode with a subject that answers at once (not a coroutine).

    Returns it complete, or void with the steps up to the invalid answer.
    """
    return run_now(play_episode_async(setup, episode))


class SubjectSeat(Seat):
    """A subject at the table; `setup` is the game as its seat sees it."""

    def __init__(self, setup: Setup, subject: Subject) -> None:
        self.setup, self.subject = setup, subject
        self.past: list[Joint] = []
        self._draws: Mapping[str, Any] = {}

    async def answer(self, view: RoundView, ask: Ask) -> Answer:
        """Act."""
        setup, past = self.setup, tuple(self.past)
        told = setup.horizon, past, setup.continuation
        self._seen = Observation(setup.game, setup.labels, view.round, *told)
        self._draws = {}
        return _answer(await wait(self.subject.act(self._seen)), setup.game.n)

    async def probe(self, view: RoundView, ask: Ask, probe: Probe) -> Answer | None:
        """Answer a literal question; draws are asked for together."""
        subject, seen = self.subject, self._seen
        said, count = None, self.setup.game.m
        if probe.name == PREDICT:
            if (probe.given is None) == subject.predicts_first:
                said = await wait(subject.predict(seen, probe.given))
        elif isinstance(subject, LLMSubject):
            if probe.name == REACT:
                said = await subject.react(seen, probe.given)
            else:
                self._draws = self._draws or await subject.draw(seen)
                said = self._draws.get(probe.name)
                count = len(subject.seat.candidates) if probe.name == WHICH else count
        return None if said is None else _answer(said, count)

    async def observe(self, view: RoundView) -> tuple[dict[str, Any], ...]:
        """Learn what was played."""
        own, theirs = view.last[:: 1 if view.seat == 0 else -1]
        joint = Joint(own, theirs, *self.setup.game.payoffs[own, theirs].tolist())
        self.past.append(joint)
        self.subject.seat.door.follow(own, theirs)
        await wait(self.subject.observe(joint))
        return ()


def _answer(said: Any, count: int) -> Answer:
    """Return an answer of a subject, which is checked."""
    if isinstance(said, Invalid):
        attempts = said.attempts if said.asked else 0
        return Answer(None, (), attempts, said.reason, said.raw, None, said.calls, said.details)
    if not isinstance(said, Said):
        raise TypeError(f"a subject must answer a Decision or Invalid, not {type(said).__name__}")
    action = operator.index(said.value)
    if isinstance(said.value, bool) or not 0 <= action < count:
        raise ValueError(f"action {said.value} is outside 0..{count - 1}")
    return Answer(action, (), said.attempts, VALID, "", said.probs, said.calls, said.details)


def _seated(
    streams: Setup, seat: str, episode: int, partner: Partner | None, model: Model | None
) -> SubjectSeat:
    """Seat a subject; `streams` is the cell's own setup, which all chance comes from."""
    setup = streams if seat == SEAT else streams.other
    purpose = "subject" if seat == SEAT else "other"
    rng = streams.generator(purpose, episode, subject_class(setup.kind).draws_per_step)
    name = f"{streams.stream(purpose).key:032x}-{episode}"
    return SubjectSeat(setup, setup.seat_subject(partner, rng, model, name, episode))


async def play_episode_async(
    setup: Setup,
    episode: int,
    model: Model | None = None,
    on_step: Callable[[], None] = lambda: None,
    *,
    other: Model | None = None,
    played: PlayedGame | None = None,
    length: int = 0,
) -> Record:
    """Play one episode; the subject's methods may be coroutines.

    In every step the partner moves first, out of the subject's sight. Then the subject acts, then
    it predicts if it is asked to, both from the same observation. `on_step` is called after each
    step. What is `played` is the caller's own and holds the steps that were finished if the subject
    breaks the episode off by an exception. A `length` takes the place of the episode's own.

    A player in the partner's seat, whose model is `other`, sees the game from its own side, and
    neither sees the other's move before both have moved. An answer that ends the episode ends it
    for both: who had not been asked in that step is not.
    """
    which = int(setup.draw_partners(episode, 1)[0])
    partner = setup.tables.partners[which] if isinstance(setup.partners, PartnerSet) else None
    mine = _seated(setup, SEAT, episode, partner, model)
    players: list[Seat] = [mine]
    if partner is None:
        players.append(_seated(setup, PARTNER, episode, None, other))
    else:
        chair = Chair(1, setup.generator("partner", episode, 1))
        players.append(ScriptedSeat(chair, TablePolicy(partner)))
    subjects = [one.subject if isinstance(one, SubjectSeat) else None for one in players]
    asides = [one.asides if isinstance(one, LLMSubject) else () for one in subjects]
    table = Table(
        RepeatedGame(setup.game, length or int(setup.lengths(episode, 1)[0]), asides),
        players,
        (0, 1),
        deal=mine.subject.seat.rng,
        chance=mine.subject.seat.rng,
        fallback=setup.stream("fallback").episode(episode),
        on_invalid=setup.on_invalid,
        door=mine.subject.seat.door,
        measured=(0,) if partner else (0, 1),
        on_step=lambda decision: on_step() if decision.seat else None,
        other_fallback=None if partner else setup.stream("other fallback").episode(episode),
    )
    played = played or PlayedGame(episode, which, table.seats)
    await play_game(table, episode, which, played)
    return as_record(setup, played)


async def wait(value: Any) -> Any:
    """Return a value, waited for if it is a coroutine."""
    return await value if inspect.isawaitable(value) else value

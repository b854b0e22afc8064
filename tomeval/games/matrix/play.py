"""One episode: the step loop. `batch` plays the same for many episodes at once."""

from __future__ import annotations

import inspect
import json
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tomeval.core.coroutines import run_now
from tomeval.core.outcomes import (
    COMPLETE,
    FAILED,
    VOID,
    Decision,
    Invalid,
    InvalidAnswerError,
)
from tomeval.core.streams import Stream
from tomeval.games.matrix.games import Labels, MatrixGame, mirrored, mirrored_labels
from tomeval.games.matrix.observation import Joint, Observation
from tomeval.games.matrix.partners import Partner, PartnerSet, Tables
from tomeval.games.matrix.scene import prompts_of
from tomeval.games.matrix.steps import NONE, PARTNER, SEAT, Answer, Episode, Turn
from tomeval.games.matrix.subject_specs import PartnerPlayer, nothing_drawn
from tomeval.games.matrix.subjects import subject_class
from tomeval.games.matrix.subjects.base import Door, Seat, Subject
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
    horizon: int = field(kw_only=True)
    # The run's seed. Which partner an episode draws depends on seed, game, partner set and episode
    # alone, and so does, with the horizon, how it moves: all subjects meet the same ones.
    seed: int = field(kw_only=True)
    # {"void", "random", "stop"}: what an invalid answer does: end the episode and leave it out of
    # all metrics; draw a uniformly random legal action in its place; or stop the run. A backend
    # error never becomes an action: under ``void`` and ``random`` the episode has failed, is left
    # out of all metrics, and is played again when the run is resumed. One on a question that no
    # move needs ends nothing: the answer is missing.
    on_invalid: str = field(kw_only=True, default="void")
    # Folder that relative paths among the options start from.
    base: Path | None = field(kw_only=True, default=None)

    def stream(self, seat: str) -> Stream:
        """Return a seat's stream.

        Seats: ``partner choice``, ``partner``, ``belief``, ``subject``, ``fallback``; the first
        three are the same for all subjects. Where a subject sits in the partner's seat, its own are
        ``other`` and ``other fallback``, and no stream depends on what players are called.
        """
        if isinstance(self.partners, PartnerPlayer):
            if seat == "belief":
                return Stream.of(self.seed, seat, self.game.chance, "player")
            other = _drawing(self.partners.player.kind, self.partners.player.options)
            both = (_drawing(self.kind, self.options), other, self.labels.name, str(self.horizon))
            return Stream.of(self.seed, seat, self.game.chance, *both)
        purpose = [seat, self.game.chance, self.partners.name]
        if seat in ("subject", "fallback"):
            subject = _drawing(self.kind, self.options)
            purpose += [subject, self.labels.name, str(self.horizon)]
        return Stream.of(self.seed, *purpose)

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
    ) -> tuple[Subject, Door]:
        """Make the subject of one episode, and the door that the step loop keeps current.

        `partner` is None where the partner is a player; `episodes` as for `Seat`.
        """
        drawn_from = self.partners if isinstance(self.partners, PartnerSet) else None
        door = Door(partner, drawn_from, self.game.m, partial(self.belief_draws, episode))
        seat = Seat(
            self.game, self.labels, self.horizon, rng, door, model, name, self.base, episodes
        )
        return subject_class(self.kind)(seat, **self.options), door

    def belief_draws(self, episode: int) -> NDArray[np.float64]:
        """Return the chance of an episode's beliefs, shape (T, 2): the same for all accuracies."""
        return self.stream("belief").block(episode, 1, 2 * self.horizon).reshape(-1, 2)

    def templates(self) -> str:
        """Return one hash over the prompt templates the subject uses; empty if it uses none."""
        if not subject_class(self.kind).reads_templates:
            return ""
        return prompts_of(self.options, self.base).sha256()

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


def _drawing(kind: str, options: Mapping[str, Any]) -> str:
    """Return what of a subject its draws depend on."""
    # Whether a probe is asked must not change what a subject draws when it acts, and levels of an
    # option that are compared meet the same chance.
    apart = ("literal", "draws", *subject_class(kind).compared)
    kept = {key: value for key, value in options.items() if key not in apart}
    if "model" in kept:  # nor must what the model is called, or how it is run
        kept["model"] = drawn_with(kept["model"])
    return json.dumps([kind, kept], sort_keys=True)


def play_episode(setup: Setup, episode: int) -> Record:
    """Play one episode with a subject that answers at once (not a coroutine).

    Returns it complete, or void with the steps up to the invalid answer.
    """
    return run_now(play_episode_async(setup, episode))


class _Player(NamedTuple):
    """A subject at the table, with the game as its seat sees it."""

    setup: Setup
    subject: Subject
    door: Door
    fallback: np.random.Generator
    past: list[Joint]
    where: str

    @classmethod
    def of(
        cls, streams: Setup, seat: str, episode: int, partner: Partner | None, model: Model | None
    ) -> _Player:
        """Seat a subject; `streams` is the cell's own setup, which all chance comes from."""
        own, drawn = ("subject", "fallback") if seat == SEAT else ("other", "other fallback")
        setup = streams if seat == SEAT else streams.other
        stream = streams.stream(own)
        rng = generator_of(setup, stream, episode)
        name = f"{stream.key:032x}-{episode}"
        subject, door = setup.seat_subject(partner, rng, model, name, episode)
        where = f"episode {episode}" if seat == SEAT else f"the partner's seat, episode {episode}"
        return cls(setup, subject, door, streams.stream(drawn).episode(episode), [], where)

    async def turn(self, step: int, state: int, known: int | None) -> Turn:
        """Ask all of a step, as far as answers let it go on; `known`: the other's move, if made."""
        setup, subject = self.setup, self.subject
        self.door.set(state, known)
        past = tuple(self.past)
        observation = Observation(setup.game, setup.labels, step, setup.horizon, past)

        def settle(answer: Answer, count: int) -> int | None:
            return _settle(setup, answer, count, self.fallback, f"{self.where}, step {step}")

        answer = _checked(await wait(subject.act(observation)))
        own = settle(answer, setup.game.n)
        prediction: Answer | None = None
        predicted: int | None = None
        if own is not None or subject.predicts_first:
            said = await wait(subject.predict(observation, own))
            prediction = None if said is None else _checked(said)
            if prediction is not None:
                predicted = settle(prediction, setup.game.m)
        if (turn := Turn(answer, own, prediction, predicted)).lost:
            return turn
        reactions: tuple[Answer, ...] | None = await wait(subject.react(observation))
        stated = [settle(said, setup.game.m) for said in reactions or ()]
        asides: Mapping[str, Answer] = {}
        if not (turn := replace(turn, reactions=reactions, stated=stated)).lost:
            asides = await wait(subject.aside(observation))
        for answer in asides.values():
            if isinstance(answer, Invalid) and setup.on_invalid == "stop":
                raise _stopped(setup, answer, f"{self.where}, step {step}")
        return replace(turn, asides=asides)


async def play_episode_async(
    setup: Setup,
    episode: int,
    model: Model | None = None,
    on_step: Callable[[], None] = lambda: None,
    *,
    other: Model | None = None,
    on_seated: Callable[[Subject], None] = lambda subject: None,
    kept: Episode | None = None,
) -> Record:
    """Play one episode; the subject's `act` and `predict` may be coroutines.

    In every step the partner's action is drawn first, out of the subject's sight. Then the subject
    acts, then it predicts if it is asked to, both from the same observation. Where no action comes
    of the step, a prediction is kept if it was made before. `on_step` is called
    after each step, `on_seated` once before the first. What is `kept` by the caller holds the
    steps that were finished if the subject breaks the episode off by an exception.

    A player in the partner's seat, whose model is `other`, sees the game from its own side, and
    neither sees the other's move before both have moved. Who is asked first makes a difference only
    for what is told of the other's move (`Subject.looks_ahead`), and then the other one is. A turn
    that ends the episode ends it for both: who had not been asked in that step is not.
    """
    which = int(setup.draw_partners(episode, 1)[0])
    partner = setup.partners.partners[which] if isinstance(setup.partners, PartnerSet) else None
    table = None if partner is None else Tables([partner])
    place = np.array([NONE]) if table is None else table.start
    moves = setup.stream("partner").episode(episode, setup.horizon)
    mine = _Player.of(setup, SEAT, episode, partner, model)
    on_seated(mine.subject)
    players = {SEAT: mine}
    if table is None:
        players[PARTNER] = _Player.of(setup, PARTNER, episode, None, other)
        if mine.subject.looks_ahead:
            players = dict(reversed(players.items()))
    kept = kept or Episode(setup.game, episode, which)
    for step in range(1, setup.horizon + 1):
        turns: dict[str, Turn] = {}
        drawn = known = None
        if table is not None:
            u = None if table.deterministic else moves.random(1)
            drawn = known = int(table.act(place, u)[0])
        state = int(place[0])
        for seat, player in players.items():
            turns[seat] = turn = await player.turn(step, state, known)
            known = turn.own if table is None else known
            if turn.lost:
                break
        own, reply = turns.get(SEAT), turns.get(PARTNER)
        theirs = drawn if reply is None else reply.own
        kept.add_turn(step, state, theirs, own, mine.door.used)
        if reply is not None:
            kept.add_other(step, reply, players[PARTNER].door.used)
        if own is None or theirs is None or any(turn.lost for turn in turns.values()):
            failed = any(turn.failed for turn in turns.values())
            kept.record.status = FAILED if failed else VOID
            return kept.record
        rewards = setup.game.payoffs[own.moved, theirs].tolist()
        mine.past.append(Joint(own.moved, theirs, *rewards))
        if reply is not None:
            players[PARTNER].past.append(Joint(theirs, own.moved, *rewards[::-1]))
        for player in players.values():
            await wait(player.subject.observe(player.past[-1]))
        if table is not None:
            place = table.next_state[place, own.moved, theirs]
        on_step()
    kept.record.status = COMPLETE
    return kept.record


def generator_of(setup: Setup, stream: Stream, episode: int) -> np.random.Generator:
    """Return the generator of a setup's subject."""
    draws = subject_class(setup.kind).draws_per_step
    return stream.episode(episode, None if draws is None else draws * setup.horizon)


async def wait(value: Any) -> Any:
    """Return a value, waited for if it is a coroutine."""
    return await value if inspect.isawaitable(value) else value


def _checked(answer: Any) -> Answer:
    """Return an answer, whose type is checked."""
    if not isinstance(answer, Decision | Invalid):
        raise TypeError(f"a subject must answer a Decision or Invalid, not {type(answer).__name__}")
    return answer


def _settle(
    setup: Setup, answer: Answer, count: int, fallback: np.random.Generator, where: str
) -> int | None:
    """Return the action that counts, or None if the episode is void."""
    if isinstance(answer, Decision):
        action = operator.index(answer.action)
        if isinstance(answer.action, bool) or not 0 <= action < count:
            raise ValueError(f"{where}: action {answer.action} is outside 0..{count - 1}")
        return action
    if setup.on_invalid == "stop":
        raise _stopped(setup, answer, where)
    if setup.on_invalid == "random" and answer.reason != "backend_error":
        return int(fallback.integers(count))
    return None


def _stopped(setup: Setup, answer: Invalid, where: str) -> InvalidAnswerError:
    return InvalidAnswerError(
        f"stopped at {where} ({setup.kind}, {setup.game.name}, {setup.partners.name}): "
        f"{answer.reason} answer {answer.raw[:200]!r}; finished episodes are kept"
    )

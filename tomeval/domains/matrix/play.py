"""One episode: the step loop. `batch` plays the same for many episodes at once."""

from __future__ import annotations

import inspect
import json
import operator
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import (
    COMPLETE,
    FAILED,
    VOID,
    Decision,
    Invalid,
    InvalidAnswerError,
)
from tomeval.core.streams import Stream
from tomeval.domains.matrix.computing import computing_templates
from tomeval.domains.matrix.games import Labels, MatrixGame
from tomeval.domains.matrix.observation import Joint, Observation, Past
from tomeval.domains.matrix.partners import Partner, PartnerSet
from tomeval.domains.matrix.record import Record
from tomeval.domains.matrix.steps import Steps
from tomeval.domains.matrix.subjects import SUBJECTS, LLMSubject, Person
from tomeval.domains.matrix.subjects.base import Answer, Door, Seat, Subject
from tomeval.models.base import Model
from tomeval.models.naming import unaliased
from tomeval.strategies.options import templates_of
from tomeval.strategies.templates import load_prompts

_Result = TypeVar("_Result")


@dataclass(frozen=True, eq=False)
class Setup:
    """All that decides how the episodes of one cell go."""

    # The subject: a key of `tomeval.domains.matrix.subjects.SUBJECTS` and its keyword options.
    kind: str
    options: dict[str, Any] = field(default_factory=dict)
    game: MatrixGame = field(kw_only=True)
    labels: Labels = field(kw_only=True)
    partners: PartnerSet = field(kw_only=True)
    horizon: int = field(kw_only=True)
    # The run's seed. Which partner an episode draws depends on seed, game, partner set and episode
    # alone, and so does, with the horizon, how it moves: all subjects meet the same ones.
    seed: int = field(kw_only=True)
    # {"void", "random", "stop"}: what an invalid answer does: end the episode and leave it out of
    # all metrics; draw a uniformly random legal action in its place; or stop the run. A backend
    # error never becomes an action: under ``void`` and ``random`` the episode has failed, is left
    # out of all metrics, and is played again when the run is resumed.
    on_invalid: str = field(kw_only=True, default="void")
    # Folder that relative paths among the options start from.
    base: Path | None = field(kw_only=True, default=None)

    def stream(self, seat: str) -> Stream:
        """Return a seat's stream.

        Seats: ``partner choice``, ``partner``, ``belief``, ``subject``, ``fallback``; the first
        three are the same for all subjects.
        """
        purpose = [seat, self.game.name, self.partners.name]
        if seat in ("subject", "fallback"):
            # Whether a probe is asked must not change what a subject draws when it acts, and levels
            # of an option that are compared meet the same chance.
            apart = ("literal", "draws", "computing", *SUBJECTS[self.kind].compared)
            options = {key: value for key, value in self.options.items() if key not in apart}
            if "model" in options:  # nor must what the model is called
                options["model"] = unaliased(options["model"])
            subject = json.dumps([self.kind, options], sort_keys=True)
            purpose += [subject, self.labels.name, str(self.horizon)]
        return Stream.of(self.seed, *purpose)

    @cached_property
    def choice_bounds(self) -> NDArray[np.float64]:
        """Cumulative weights of the partners."""
        return self.partners.cumulative()

    def seat_subject(
        self,
        partner: Partner,
        rng: np.random.Generator,
        model: Model | None = None,
        name: str = "",
        episode: int = 0,
    ) -> tuple[Subject, Door]:
        """Make the subject of one episode, and the door that the step loop keeps current."""
        door = Door(partner, self.partners, partial(self.belief_draws, episode))
        seat = Seat(self.game, self.labels, self.horizon, rng, door, model, name, self.base)
        return SUBJECTS[self.kind](seat, **self.options), door

    def belief_draws(self, episode: int) -> NDArray[np.float64]:
        """Return the chance of an episode's beliefs, shape (T, 2): the same for all accuracies."""
        return self.stream("belief").block(episode, 1, 2 * self.horizon).reshape(-1, 2)

    def templates(self) -> str:
        """Return the hash of the prompt templates the subject uses; empty if it uses none."""
        if not issubclass(SUBJECTS[self.kind], LLMSubject | Person):
            return ""
        more = templates_of(self.options.get("strategy", "QA"), "matrix")
        more += computing_templates(self.options)
        return load_prompts("matrix", self.options.get("prompts", ""), self.base, more).sha256()

    def draw_partners(self, first: int, count: int) -> NDArray[np.int64]:
        """Return which partner each of `count` episodes from `first` on draws, shape (count,)."""
        u = self.stream("partner choice").block(first, count, 1)
        chosen: NDArray[np.int64] = (u >= self.choice_bounds).sum(axis=1)
        return chosen


def play_episode(setup: Setup, episode: int) -> Steps:
    """Play one episode with a subject that answers at once (not a coroutine).

    Returns it complete, or void with the steps up to the invalid answer.
    """
    return run_now(play_episode_async(setup, episode))


def run_now(coroutine: Coroutine[Any, Any, _Result]) -> _Result:
    """Run a coroutine that never has to wait."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        result: _Result = done.value
        return result
    coroutine.close()
    raise TomevalError("this subject waits for something: play it with play_episode_async")


async def play_episode_async(
    setup: Setup,
    episode: int,
    model: Model | None = None,
    on_step: Callable[[], None] = lambda: None,
    *,
    on_seated: Callable[[Subject], None] = lambda subject: None,
    record: Record | None = None,
) -> Steps:
    """Play one episode; the subject's `act` and `predict` may be coroutines.

    In every step the partner's action is drawn first, out of the subject's sight. Then the subject
    acts, then it predicts if it is asked to, both from the same observation. Where no action comes
    of the step, a prediction is kept if it was made before. `on_step` is called
    after each step, `on_seated` once before the first. A `record` of the caller's own holds the
    steps that were finished if the subject breaks the episode off by an exception.
    """
    which = int(setup.draw_partners(episode, 1)[0])
    partner = setup.partners.partners[which]
    draws = SUBJECTS[setup.kind].draws_per_step
    rng = setup.stream("subject").episode(episode, None if draws is None else draws * setup.horizon)
    moves = setup.stream("partner").episode(episode, setup.horizon)
    fallback = setup.stream("fallback").episode(episode)
    name = f"{setup.stream('subject').key:032x}-{episode}"
    subject, door = setup.seat_subject(partner, rng, model, name, episode)
    on_seated(subject)
    cumulative = partner.cumulative()
    record = Record(episode, which) if record is None else record
    played: list[Joint] = []
    state = partner.start
    for step in range(1, setup.horizon + 1):
        u = 0.0 if partner.is_deterministic else moves.random()
        theirs = int((u >= cumulative[state]).sum())
        if partner.is_deterministic:
            theirs = int(partner.emissions[state].argmax())
        door.set(state, theirs)
        observation = Observation(
            setup.game, setup.labels, step, setup.horizon, Past(played, step - 1)
        )
        answer = _checked(await _wait(subject.act(observation)))
        own = _settle(setup, answer, setup.game.n, fallback, f"episode {episode}, step {step}")
        prediction: Answer | None = None
        predicted: int | None = None
        if own is not None or subject.predicts_first:
            said = await _wait(subject.predict(observation, own))
            prediction = None if said is None else _checked(said)
            if prediction is not None:
                predicted = _settle(
                    setup, prediction, setup.game.m, fallback, f"episode {episode}, step {step}"
                )
        lost = own is None or (prediction is not None and predicted is None)
        reactions: tuple[Answer, ...] | None = None
        stated: list[int | None] = []
        asides: Mapping[str, Answer] = {}
        if not lost:
            reactions = await _wait(subject.react(observation))
            stated = [
                _settle(setup, said, setup.game.m, fallback, f"episode {episode}, step {step}")
                for said in reactions or ()
            ]
        if not lost and None not in stated:
            asides = await _wait(subject.aside(observation))
            lost = _failed(*asides.values())
        record.add(step, state, theirs, (answer, own), (prediction, predicted), door.used)
        if reactions is not None:
            record.add_reactions(step, reactions, stated)
        record.add_asides(step, asides)
        _check_asides(setup, asides, f"episode {episode}, step {step}")
        if own is None or lost or None in stated:
            failed = _failed(answer, prediction, *(reactions or ()), *asides.values())
            return record.steps(FAILED if failed else VOID)
        rewards = setup.game.payoffs[own, theirs]
        joint = Joint(own, theirs, float(rewards[0]), float(rewards[1]))
        played.append(joint)
        await _wait(subject.observe(joint))
        state = int(partner.next_state[state, own, theirs])
        on_step()
    return record.steps(COMPLETE)


def _failed(*answers: Answer | None) -> bool:
    """Tell whether the backend, not the subject, is to blame for an episode that ends."""
    reasons = [answer.reason for answer in answers if isinstance(answer, Invalid)]
    return "backend_error" in reasons


async def _wait(value: Any) -> Any:
    """Wait for a value if it is a coroutine."""
    return await value if inspect.isawaitable(value) else value


def _checked(answer: Any) -> Answer:
    """Return an answer, whose type is checked."""
    if not isinstance(answer, Decision | Invalid):
        raise TypeError(f"a subject must answer a Decision or Invalid, not {type(answer).__name__}")
    return answer


def _check_asides(setup: Setup, asides: Mapping[str, Answer], where: str) -> None:
    """Stop at an answer that cannot be read, if the experiment asks for that."""
    for answer in asides.values():
        if isinstance(answer, Invalid) and setup.on_invalid == "stop":
            raise _stopped(setup, answer, where)


def _settle(
    setup: Setup, answer: Answer, count: int, fallback: np.random.Generator, where: str
) -> int | None:
    """Return the action that counts, or None if the episode is void."""
    if isinstance(answer, Decision):
        if isinstance(answer.action, bool) or not 0 <= operator.index(answer.action) < count:
            raise ValueError(f"{where}: action {answer.action} is outside 0..{count - 1}")
        return answer.action
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

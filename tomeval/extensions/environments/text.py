"""The text environment: a question is an observation, the reply to it is the action.

The loop is the one that plays a run. Its model, instead of answering, hands the question out; the
environment sends the reply in.
"""

from __future__ import annotations

import types
from abc import ABC, abstractmethod
from collections.abc import Coroutine, Generator, Iterator, Mapping
from typing import Any

from tomeval.core.errors import TomevalError
from tomeval.models.base import (
    BackendError,
    Capabilities,
    GenerateRequest,
    Model,
    Reply,
    ScoreRequest,
    Scores,
)
from tomeval.strategies.asking import overhearing

MOST_SEED = 2**32 - 1

PLAYING = "playing"
"""The status of an episode that is not over."""


class Outsider(Model):
    """A model whose replies come from outside; `outcomes` has how each was read."""

    name = "environment"
    capabilities = Capabilities(score=False, concurrent=False)

    def __init__(self) -> None:
        self.outcomes: list[str] = []

    async def generate(self, request: GenerateRequest) -> Reply:
        """Hand the question out, and wait for `TextEnvironment.step`."""
        return Reply(await _replied(request))

    async def score(self, request: ScoreRequest) -> Scores:
        """Score nothing."""
        raise BackendError("an environment gives no probabilities of labels")

    def judged(self, outcome: str) -> None:
        """Note how a reply was read."""
        self.outcomes.append(outcome)


@types.coroutine
def _replied(request: GenerateRequest) -> Generator[GenerateRequest, str, str]:
    return (yield request)


class Playing(ABC):
    """An episode under way; its `coroutine` plays it and stops at every question to the model."""

    coroutine: Coroutine[Any, Any, Any]

    @abstractmethod
    def earned(self, over: bool) -> Iterator[tuple[str, float]]:
        """Yield what was earned since the last call, by the name of the reward, unweighted."""

    @abstractmethod
    def status(self, result: Any) -> str:
        """Return what became of the episode, given what the coroutine returned."""


class Task(ABC):
    """What all episodes of an environment share: who plays what, and what each reward counts."""

    name: str
    weights: Mapping[str, float]

    @abstractmethod
    def begin(self, episode: int, model: Model) -> Playing:
        """Begin an episode; equal numbers have equal chance, as in a run of the same seed."""


class TextEnvironment:
    """A game as one player sees it; see `tomeval.environment`.

    Attributes
    ----------
    info : dict
        Of the last observation, JSON-ready: ``episode``; ``status``, ``playing`` or what became of
        the episode (``complete``, ``void``, ``failed``); ``question``, such as ``act`` or
        ``predict``, and ``step``, from 1; ``outcome``, how the last reply was read (``valid``,
        ``unparsable``, ...; empty at first); ``rewards``, by name and unweighted; ``messages``, the
        observation as a conversation.
    """

    def __init__(self, task: Task) -> None:
        self.task = task
        self.info: dict[str, Any] = {}
        self._playing: Playing | None = None
        self._silent: float | None = None  # what an episode without a question has paid
        self._model = Outsider()
        self._next = 0

    def reset(self, seed: int | None = None) -> str:
        """Begin an episode and return its first observation.

        It is empty where the player is asked nothing, such as one who is out of a game before its
        first decision; the first step, whatever its text, then ends the episode. `seed`, 0 to
        2**32 - 1, is which episode: its chance is that of the episode with this number of a run
        with the environment's own seed. Default: the one after the last.
        """
        seed = self._next if seed is None else seed
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed <= MOST_SEED:
            raise TomevalError(f"seed: must be a whole number from 0 to {MOST_SEED}, is {seed!r}")
        self.close()
        self._next = (seed + 1) % (MOST_SEED + 1)
        self._model = Outsider()
        self._playing = self.task.begin(seed, self._model)
        self.info = {"episode": seed, "status": PLAYING, "question": "", "step": 0, "outcome": ""}
        observation, reward, over = self._send(None)
        self._silent = reward if over else None
        return observation

    def step(self, text: str) -> tuple[str, float, bool, dict[str, Any]]:
        """Answer the question that was observed.

        Returns the next question, empty when the episode is over; the reward, what was earned
        since the last step (a round pays when it is over, a prediction together with the move
        before it); whether the episode is over; and `info`. A text that cannot be read is no
        error: the game's own rule decides, ``on_invalid``. An action that is no text is one, and
        so is a step where no episode is under way.
        """
        if not isinstance(text, str):
            raise TomevalError(f"an action is a text, got {type(text).__name__}")
        if self._silent is not None:
            reward, self._silent = self._silent, None
            return "", reward, True, self.info
        if self._playing is None:
            raise TomevalError("no episode is running: call reset first")
        observation, reward, done = self._send(text)
        return observation, reward, done, self.info

    def close(self) -> None:
        """Break off the episode that is under way, if there is one."""
        self._silent = None
        if self._playing is not None:
            self._playing.coroutine.close()
            self._playing = None

    def _send(self, text: str | None) -> tuple[str, float, bool]:
        """Send a reply in, play on to the next question, and pay."""
        playing, weights = self._playing, self.task.weights
        assert playing is not None
        self._model.outcomes.clear()
        request: GenerateRequest | None = None
        result: Any = None
        with overhearing() as heard:
            try:
                request = playing.coroutine.send(text)
            except StopIteration as ended:
                result, self._playing = ended.value, None
            except BaseException:
                self._playing = None
                raise
        over = request is None
        outcomes = self._model.outcomes
        info = {**self.info, "outcome": outcomes[-1] if outcomes else "", "rewards": {}}
        rewards = dict.fromkeys(weights, 0.0)
        for name, amount in playing.earned(over):
            rewards[name] += amount
        if "format" in weights:
            rewards["format"] -= sum(outcome != "valid" for outcome in outcomes)
        info["rewards"] = rewards
        if heard:
            info |= {"question": heard[-1].purpose, "step": heard[-1].step}
        if over:
            info["status"] = playing.status(result)
        asked = () if request is None else request.prompt.messages
        info["messages"] = [{"role": one.role, "content": one.content} for one in asked]
        self.info = info
        observation = "\n\n".join(message["content"] for message in info["messages"])
        return observation, sum(weights[name] * rewards[name] for name in rewards), over

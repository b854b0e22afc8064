"""Games as environments in gymnasium's form: a question is an observation, a reply the action.

The loop is the one that plays a run. Its model, instead of answering, hands the question out; the
environment sends the reply in.
"""

from __future__ import annotations

import types
from collections.abc import Generator, Mapping, Sequence
from typing import Any

from tomeval.core.errors import TomevalError
from tomeval.models.base import Capabilities, GenerateRequest, Model, Reply
from tomeval.strategies import parse_strategy
from tomeval.strategies.recording import overhearing

MOST_SEED = 2**32 - 1
_MODEL = "scripted:environment"  # stands in the experiment for who is trained; it is never opened


class _Outsider(Model):
    """A model whose replies come from outside; `outcomes` has how each was read."""

    name = "environment"
    capabilities = Capabilities(concurrent=False)

    def __init__(self) -> None:
        self.outcomes: list[str] = []

    async def generate(self, request: GenerateRequest) -> Reply:
        """Hand the question out, and wait for `TextEnvironment.step`."""
        return Reply(await _replied(request))

    def judged(self, outcome: str) -> None:
        """Note how a reply was read."""
        self.outcomes.append(outcome)


@types.coroutine
def _replied(request: GenerateRequest) -> Generator[GenerateRequest, str, str]:
    return (yield request)


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

    def __init__(self, task: Any) -> None:
        self.task = task
        self.info: dict[str, Any] = {}
        self._playing: Any = None
        self._silent: float | None = None  # what an episode without a question has paid
        self._model = _Outsider()
        self._next = 0

    def reset(
        self, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Begin an episode; return its first observation, and `info`.

        The observation is empty where the player is asked nothing, such as one who is out of a game
        before its first decision; the first step, whatever its text, then ends the episode. `seed`,
        0 to 2**32 - 1, is which episode: its chance is that of the episode with this number of a
        run with the environment's own seed. Default: the one after the last.
        """
        seed = self._next if seed is None else seed
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed <= MOST_SEED:
            raise TomevalError(f"seed: must be a whole number from 0 to {MOST_SEED}, is {seed!r}")
        self.close()
        self._next = (seed + 1) % (MOST_SEED + 1)
        self._model = _Outsider()
        self._playing = self.task.begin(seed, self._model)
        self.info = {"episode": seed, "status": "playing", "question": "", "step": 0, "outcome": ""}
        observation, reward, over, *_ = self._send(None)
        self._silent = reward if over else None
        return observation, self.info

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Answer the question that was observed.

        Returns the next question, empty when the episode is over; the reward, what was earned
        since the last step (a round pays when it is over, a prediction together with the move
        before it); whether the episode is over; False, as none is cut off; and `info`. A text that
        cannot be read is no error: the game's own rule decides, ``on_invalid``. An action that is
        no text is one, and so is a step where no episode is under way.
        """
        if not isinstance(action, str):
            raise TomevalError(f"an action is a text, got {type(action).__name__}")
        if self._silent is not None:
            reward, self._silent = self._silent, None
            return "", reward, True, False, self.info
        if self._playing is None:
            raise TomevalError("no episode is running: call reset first")
        return self._send(action)

    def close(self) -> None:
        """Break off the episode that is under way, if there is one."""
        self._silent = None
        if self._playing is not None:
            self._playing[0].close()
            self._playing = None

    def _send(self, text: str | None) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Send a reply in, play on to the next question, and pay."""
        (coroutine, earned), weights = self._playing, self.task.weights
        outcomes = self._model.outcomes
        outcomes.clear()
        request: GenerateRequest | None = None
        status, self._playing = "playing", None
        with overhearing() as heard:
            try:
                request = coroutine.send(text)
                self._playing = coroutine, earned
            except StopIteration as ended:
                status = ended.value.status
        rewards = dict.fromkeys(weights, 0.0)
        for name, amount in earned(request is None):
            if name in weights:
                rewards[name] += amount
        if "format" in weights:
            rewards["format"] -= sum(outcome != "valid" for outcome in outcomes)
        asked = () if request is None else request.prompt.messages
        messages = [{"role": one.role, "content": one.content} for one in asked]
        self.info = {**self.info, "status": status, "rewards": rewards, "messages": messages}
        self.info["outcome"] = outcomes[-1] if outcomes else ""
        if heard:
            self.info |= {"question": heard[-1].purpose, "step": heard[-1].step}
        observation = "\n\n".join(message["content"] for message in messages)
        reward = sum(weights[name] * rewards[name] for name in rewards)
        return observation, reward, request is None, False, self.info


def environment(
    game: str,
    partner: str | Mapping[str, Any] | Sequence[str],
    *,
    reward: str | Mapping[str, float] = "regret",
    horizon: int | None = None,
    seed: int = 0,
    strategy: str = "QA",
    labels: str | None = None,
    on_invalid: str = "random",
    rules: Mapping[str, Any] | None = None,
    **options: Any,
) -> TextEnvironment:
    """Return a game against known partners as an environment to train a model in.

    Observations are the prompts that a model with this strategy reads in a run, actions are its
    replies, read by the same rule. Rewards are exact: they come from the tables of the partners.

    Parameters
    ----------
    game : str
        A matrix game (a name or a TOML file), or a game of the arena.
    partner : str, mapping or sequence of str
        In matrix games a partner or a set of partners, as experiments name them, of which every
        episode draws one. In the arena a scripted player, in all other seats, or one for each.
    reward : str or mapping
        A name, or names with weights. ``payoff``; ``regret``, what is lost against the optimum, at
        most 0 in expectation; ``advantage``, in matrix games only: Q* - V* of every decision;
        ``literal``, 1 for a right prediction; ``format``, -1 for every reply that cannot be read.
        In the arena ``regret`` is Q* - V* of every decision, the others are paid at the end.
    horizon, labels : int, str, optional
        Of matrix games: steps of an episode, by default 100, and a label set.
    seed : int
        With the number given to `reset`, what all chance of an episode follows from.
    strategy : str
        How a model is asked, such as ``QA`` or ``CoT``; none that scores labels.
    on_invalid : str
        What follows a reply that cannot be read, as in experiments. ``random``: a random legal
        action counts and earns what it earns. ``void`` would end the losses of a bad episode.
    rules : mapping, optional
        Of a game of the arena its parameters, and ``preset``.
    **options
        Of a language-model player. By default ``max_attempts`` is 1.

    Raises
    ------
    TomevalError
        Bad input, or a reward that has no optimum here.

    Examples
    --------
    >>> env = environment("IPD", "tit_for_tat", reward="advantage", horizon=2)
    >>> print(env.reset(seed=0)[0][:37])
    You are playing a repeated game with
    >>> [env.step("Final answer: Defect")[1:3] for _ in range(2)]
    [(-3.0, False), (0.0, True)]
    """
    from tomeval.extensions.environments.games import task_of

    if parse_strategy(strategy).scored:
        raise TomevalError(
            f"strategy {strategy!r}: scores labels, but environments are played by text; use 'QA' "
            "or 'CoT'"
        )
    player = {"model": _MODEL, "strategy": strategy, "max_attempts": 1, **options}
    keys = {"horizon": horizon, "labels": labels, "rules": rules}
    given = {name: value for name, value in keys.items() if value is not None}
    data = {"seed": seed, "on_invalid": on_invalid}
    weights = {reward: 1.0} if isinstance(reward, str) else dict(reward)
    return TextEnvironment(task_of(game, partner, weights, player, data, given))

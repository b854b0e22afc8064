"""Matrix games as environments in gymnasium's form: questions are observations, replies actions.

The loop is the one that plays a run. Its model, instead of answering, hands the question out; the
environment sends the reply in.
"""

from __future__ import annotations

import math
import types
from collections.abc import Generator, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tomeval.core.errors import TomevalError, unknown
from tomeval.games.matrix.games import MatrixGame
from tomeval.games.matrix.optima import Plan, known_best_response, reference_rewards
from tomeval.games.matrix.partners import Partner, PartnerSet
from tomeval.games.matrix.play import play_episode_async
from tomeval.games.matrix.responses import gains
from tomeval.games.matrix.storing import as_record
from tomeval.games.played import PlayedGame
from tomeval.models.base import Capabilities, GenerateRequest, Model, Reply
from tomeval.runs.experiment import make_experiment
from tomeval.strategies import parse_strategy
from tomeval.strategies.recording import overhearing

REWARDS = ("payoff", "regret", "advantage", "literal", "format")
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

    def judged(self, outcome: str, call: Mapping[str, Any]) -> None:
        """Note how a reply was read."""
        self.outcomes.append(outcome)


@types.coroutine
def _replied(request: GenerateRequest) -> Generator[GenerateRequest, str, str]:
    return (yield request)


class TextEnvironment:
    """A game as one player sees it; see `tomeval.environment`.

    Attributes
    ----------
    game : MatrixGame
    weights : dict
        What each reward counts, by name.
    info : dict
        Of the last observation, JSON-ready: ``episode``; ``status``, ``playing`` or what became of
        the episode (``complete``, ``void``, ``failed``); ``question``, such as ``act`` or
        ``predict``, and ``step``, from 1; ``outcome``, how the last reply was read (``valid``,
        ``unparsable``, ...; empty at first); ``rewards``, by name and unweighted; ``messages``, the
        observation as a conversation.
    """

    def __init__(self, cell: Any, weights: Mapping[str, float]) -> None:
        self.game: MatrixGame = cell.setup.game
        self.weights = dict(weights)
        self.info: dict[str, Any] = {}
        self._setup, self._reference = cell.setup, cell.reference
        self._playing: Any = None
        self._next = 0

    def reset(
        self, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Begin an episode; return its first observation, and `info`.

        `seed`, at least 0, is which episode: its chance is that of the episode with this number of
        a run with the environment's own seed. Default: the one after the last.
        """
        seed = self._next if seed is None else seed
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**32:
            raise TomevalError(f"seed: must be a whole number from 0 to 2^32 - 1, is {seed!r}")
        self.close()
        self._next, self._model = seed + 1, _Outsider()
        which = int(self._setup.draw_partners(seed, 1)[0])
        self._partner: Partner = self._setup.tables.partners[which]
        self._played, self._finished, self._paid = PlayedGame(seed, which, (0, 1)), 0, 0
        self._playing = play_episode_async(
            self._setup, seed, self._model, self._finish, played=self._played
        )
        self.info = {"episode": seed, "status": "playing", "question": "", "step": 0, "outcome": ""}
        return self._send(None)[0], self.info

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
        if self._playing is None:
            raise TomevalError("no episode is running: call reset first")
        return self._send(action)

    def close(self) -> None:
        """Break off the episode that is under way, if there is one."""
        if self._playing is not None:
            self._playing.close()
            self._playing = None

    def _finish(self) -> None:
        self._finished += 1

    def _send(self, text: str | None) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Send a reply in, play on to the next question, and pay."""
        coroutine, outcomes = self._playing, self._model.outcomes
        outcomes.clear()
        request: GenerateRequest | None = None
        status, self._playing = "playing", None
        with overhearing() as heard:
            try:
                request = coroutine.send(text)
                self._playing = coroutine
            except StopIteration as ended:
                status = ended.value.status
        rewards = dict.fromkeys(self.weights, 0.0)
        for name, amount in self._earned():
            if name in rewards:
                rewards[name] += amount
        if "format" in rewards:
            rewards["format"] -= sum(outcome != "valid" for outcome in outcomes)
        asked = () if request is None else request.prompt.messages
        messages = [{"role": one.role, "content": one.content} for one in asked]
        self.info = {**self.info, "status": status, "rewards": rewards, "messages": messages}
        self.info["outcome"] = outcomes[-1] if outcomes else ""
        if heard:
            self.info |= {"question": heard[-1].purpose, "step": heard[-1].step}
        observation = "\n\n".join(message["content"] for message in messages)
        reward = sum(self.weights[name] * rewards[name] for name in rewards)
        return observation, reward, request is None, False, self.info

    def _earned(self) -> Iterator[tuple[str, float]]:
        """Yield what the rounds that are over since the last call pay, by reward."""
        game, partner, on = self.game, self._partner, self._setup.continuation
        length = int(self._setup.lengths(self._played.index, 1)[0])
        names = ("partner_state", "own_action", "partner_action", "predicted_action")
        columns = list(map(as_record(self._setup, self._played).column, names))
        for step in range(self._paid, self._finished):
            state, own, theirs, predicted = (column[step] for column in columns)
            payoff = float(game.own[own, theirs])
            yield "payoff", payoff
            if "regret" in self.weights:
                best = reference_rewards(game, partner, length, self._reference, on)
                yield "regret", payoff - float(best[step])
            if "advantage" in self.weights:
                plan = known_best_response(game, partner, length, on)
                yield "advantage", float(advantages(game, partner, plan, step, state)[own])
            yield "literal", float(predicted == theirs)
        self._paid = self._finished


def advantages(
    game: MatrixGame, partner: Partner, plan: Plan, step: int, state: int
) -> NDArray[np.float64]:
    """Return Q* - V* of every own action, shape (n,), in payoff units, at most 0.

    `plan` is the best response over T steps, `step` counts from 0, `state` is the partner's. The
    sum over an episode has the expectation of what was earned, less the value of the best response.

    Examples
    --------
    One step before the last, defecting on tit for tat wins 2 now and loses 5 then:

    >>> from tomeval.games.matrix.games import get_game
    >>> from tomeval.games.matrix.partner_specs import get_partner
    >>> ipd = get_game("IPD")
    >>> tft = get_partner("tit_for_tat", ipd)
    >>> plan = known_best_response(ipd, tft, 2)
    >>> advantages(ipd, tft, plan, 0, tft.start).tolist()
    [0.0, -3.0]
    """
    chance = partner.emissions[state]
    later = (chance * plan.relative[step + 1][partner.next_state[state]]).sum(axis=1)
    q: NDArray[np.float64] = gains(game) @ chance + later
    lost: NDArray[np.float64] = q - q.max()
    return lost


def environment(
    game: str,
    partner: str | dict[str, Any],
    *,
    reward: str | Mapping[str, float] = "regret",
    horizon: int = 100,
    continuation: float | None = None,
    seed: int = 0,
    strategy: str = "QA",
    labels: str | None = None,
    on_invalid: str = "random",
    **options: Any,
) -> TextEnvironment:
    """Return a game against known partners as an environment to train a model in.

    Observations are the prompts that a model with this strategy reads in a run, actions are its
    replies, read by the same rule. Rewards are exact: they come from the tables of the partners.

    Parameters
    ----------
    game : str
        A matrix game: a name or a TOML file.
    partner : str or dict
        A partner or a set of partners, as experiments name them, of which every episode draws one.
    reward : str or mapping
        A name, or names with weights. ``payoff``; ``regret``, what is lost against the optimum, at
        most 0 in expectation; ``advantage``, Q* - V* of every decision; ``literal``, 1 for a right
        prediction; ``format``, -1 for every reply that cannot be read.
    horizon, labels : int, str, optional
        Steps of an episode, and a label set.
    continuation : float, optional
        In place of a horizon: with what probability the game goes on after every step. How long an
        episode is, is drawn; it is never cut off, and rewards need no discount.
    seed : int
        With the number given to `reset`, what all chance of an episode follows from.
    strategy : str
        How a model is asked, such as ``QA`` or ``CoT``; none that scores labels.
    on_invalid : str
        What follows a reply that cannot be read, as in experiments. ``random``: a random legal
        action counts and earns what it earns. ``void`` would end the losses of a bad episode.
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
    if parse_strategy(strategy).scored:
        raise TomevalError(
            f"strategy {strategy!r}: scores labels, but environments are played by text; use 'QA' "
            "or 'CoT'"
        )
    weights = {reward: 1.0} if isinstance(reward, str) else dict(reward)
    for name, weight in weights.items():
        if name not in REWARDS:
            raise unknown("reward", name, REWARDS)
        if type(weight) not in (int, float) or not math.isfinite(weight):
            raise TomevalError(f"reward: weight of {name!r} must be finite, not {weight!r}")
    player = {"model": _MODEL, "strategy": strategy, "max_attempts": 1, **options}
    subject = {"name": "player", "kind": "llm", "literal": "literal" in weights, **player}
    data = {"games": [game], "partners": [partner], "subjects": [subject]}
    data |= {"horizon": horizon} if continuation is None else {"continuation": continuation}
    data |= {"seed": seed, "on_invalid": on_invalid} | ({"labels": labels} if labels else {})
    cell: Any = make_experiment(data, where="environment").cells[0]
    if not isinstance(cell.setup.partners, PartnerSet):
        raise TomevalError(
            f"partner {cell.setup.partners.name!r}: has no table, so the optimal reward is "
            "unknown; choose a partner of `tomeval list partners`"
        )
    return TextEnvironment(cell, weights)

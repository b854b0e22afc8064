"""Players in seats: where they sit, what they answer; those without a language model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tomeval.core.outcomes import VALID
from tomeval.games.game import Action, Ask, Broken, Probe, View
from tomeval.games.solver import Policy, Values
from tomeval.models.base import Model


class Door:
    """What an oracle may learn beyond its view; the turn loop puts it there, and sees its use."""

    def __init__(self) -> None:
        self._look: Callable[..., Awaitable[Any]] | None = None
        self.used = False

    def set(self, look: Callable[..., Awaitable[Any]]) -> None:
        """Put the coming step behind the door."""
        self._look, self.used = look, False

    async def __call__(self, *asked: Any) -> Any:
        """Open it; what is asked is the game's own."""
        self.used = True
        if self._look is None:
            raise RuntimeError("the oracle's answer is not set yet")
        return await self._look(*asked)


@dataclass(frozen=True)
class Chair:
    """Where a player sits for one game."""

    seat: int
    rng: np.random.Generator  # the player's own generator; the only source of chance it may use
    model: Model | None = None
    name: str = ""  # unique to seed, cell, episode and seat: seeds of requests derive from it
    base: Path | None = None  # folder that relative paths among the options start from
    door: Door = field(default_factory=Door, repr=False)
    # How often the table asks until an answer is legal; 0: as often as the player's options say.
    attempts: int = 0


@dataclass(frozen=True)
class Answer:
    """What a player answered to a decision or a probe."""

    # The legal action, or what a probe's answer says; None: there was no legal answer.
    action: Action | None
    # Refused attempts, oldest first; not empty if there was no legal answer.
    tries: tuple[Broken, ...] = ()
    # How often the question was asked, the legal answer included; 0: never, because what was to
    # precede it failed.
    attempts: int = 1
    outcome: str = VALID  # ``valid``, or one of `tomeval.core.outcomes.INVALID_REASONS`
    raw: str = ""  # the text of the last reply, if there was one
    # The distribution over `Form.labels` that the action was drawn from; None without one.
    probs: tuple[float, ...] | None = None
    # What was sent to and received from a model, for the call log.
    calls: tuple[dict[str, Any], ...] = ()
    details: dict[str, Any] | None = None  # JSON-ready facts on this answer


class Seat(ABC):
    """A player in one game; made anew for each."""

    asked_first: bool = False  # whether literal questions come before a decision, and not beside it

    def begin(self, view: Any) -> None:  # noqa: B027 (most learn it with the first decision)
        """Learn what the seat was dealt."""

    @abstractmethod
    async def answer(self, view: Any, ask: Ask) -> Answer:
        """Decide."""

    async def probe(self, view: Any, ask: Ask, probe: Probe) -> Answer | None:
        """Answer a side question on what is seen before a decision; None: it cannot be asked.

        It is never put back into the transcript and changes no later answer.
        """
        return None

    async def observe(self, view: Any) -> tuple[dict[str, Any], ...]:
        """Learn of a stage that is over; return the model calls that this took."""
        return ()


class ScriptedSeat(Seat):
    """A policy of the game, or without one legal actions at random; attempts may fail by chance.

    Attributes
    ----------
    guesses : bool
        Whether predictions are random where few answers are possible, in place of the policy's own.
    error_rate
        See `players.ArenaPlayer`. The draws for it are the seat's own and made for every attempt
        only if the rate is not 0, so that play is the same without errors.
    """

    def __init__(
        self,
        chair: Chair,
        policy: Policy | None = None,
        guesses: bool = False,
        error_rate: float = 0.0,
    ) -> None:
        self.chair, self.policy, self.guesses = chair, policy, guesses
        self.error_rate, self.memory = error_rate, None

    def begin(self, view: View[Any]) -> None:
        """Start the memory."""
        if self.policy is not None:
            self.memory = self.policy.start(view)

    def decide(self, view: View[Any], ask: Ask) -> Action:
        """Draw what it does, if no attempt fails."""
        if self.policy is None:
            return view.game.random(view, ask, self.chair.rng)
        return self.policy.act(view, ask, self.memory, self.chair.rng)

    async def answer(self, view: View[Any], ask: Ask) -> Answer:
        """Decide; attempts that fail by chance are made again as often as the table allows."""
        if not self.error_rate:
            return Answer(self.decide(view, ask))
        tries: tuple[Broken, ...] = ()
        while len(tries) < max(1, self.chair.attempts):
            if self.chair.rng.random() >= self.error_rate:
                return Answer(self.decide(view, ask), tries, len(tries) + 1)
            tries += (Broken("format", "broken on purpose"),)
        return Answer(None, tries, len(tries), "unparsable")

    async def probe(self, view: View[Any], ask: Ask, probe: Probe) -> Answer | None:
        """Return what the policy predicts, if it does; or draw one of the labels of the probe."""
        if self.guesses:
            form = view.game.form(view, probe)
            if not form.labels:
                return None
            drawn = form.labels[int(self.chair.rng.integers(len(form.labels)))]
            return Answer(view.game.read(view, probe, form.items(drawn)))
        if self.policy is None:
            return None
        said = self.policy.predict(view, ask, probe, self.memory)
        return None if said is None else Answer(said)

    async def observe(self, view: View[Any]) -> tuple[dict[str, Any], ...]:
        """Keep the memory."""
        if self.policy is not None and self.policy.remembers:
            self.memory = self.policy.observe(view, self.memory)
        return ()


class PlannerSeat(ScriptedSeat):
    """Plays what attains V* against the known others, and predicts the likeliest answers.

    Where only bounds are known, it plays what attains the lower one; where nothing is known, at
    random. Of equally likely answers it gives the first in the order of their text.
    """

    values: Values | None = None
    """Of the coming decision: the turn loop puts them here."""

    def decide(self, view: View[Any], ask: Ask) -> Action:
        """Return a best action."""
        best = () if self.values is None else self.values.best_actions()
        return best[0] if best else super().decide(view, ask)

    async def probe(self, view: View[Any], ask: Ask, probe: Probe) -> Answer | None:
        """Return the answer that scores best in expectation."""
        best = None if self.values is None else self.values.answer(probe)
        return None if best is None else Answer(best[0])

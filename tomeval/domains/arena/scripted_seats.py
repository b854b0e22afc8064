"""Seats of players without a language model: policies, the planner, random players."""

from __future__ import annotations

from typing import Any

from tomeval.core.outcomes import BACKEND_ERROR
from tomeval.domains.arena.game import Action, Ask, Probe, View
from tomeval.domains.arena.policy import Memory, Policy
from tomeval.domains.arena.seats import Answer, Seat, Try
from tomeval.domains.arena.solver import Values
from tomeval.domains.seated.seats import Chair

OUTCOME_OF = {
    "format": "unparsable",
    "rule": "illegal",
    "target": "illegal",
    "truncated": "truncated",
    "refusal": "refusal",
    "backend": BACKEND_ERROR,
}
"""What an answer that is refused for good counts as, by the error of the last attempt."""


class ScriptedSeat(Seat):
    """A policy of the game, or without one legal actions at random; attempts may fail by chance.

    Attributes
    ----------
    guesses : bool
        Whether predictions are random where few answers are possible, in place of the policy's own.
    error_rate, error
        See `players.ArenaPlayer`. The draws for it are the seat's own and made for every attempt
        only if the rate is not 0, so that play is the same without errors.
    """

    def __init__(
        self,
        chair: Chair[int],
        policy: Policy | None = None,
        guesses: bool = False,
        error_rate: float = 0.0,
        error: str = "format",
    ) -> None:
        self.chair, self.policy, self.guesses = chair, policy, guesses
        self.error_rate, self.error = error_rate, error
        self.memory: Memory = None

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
        tries: tuple[Try, ...] = ()
        while len(tries) < max(1, self.chair.attempts):
            if self.chair.rng.random() >= self.error_rate:
                return Answer(self.decide(view, ask), tries, len(tries) + 1)
            tries += (Try(self.error, "broken on purpose"),)
        return Answer(None, tries, len(tries), OUTCOME_OF[self.error])

    async def probe(self, view: View[Any], ask: Ask, probe: Probe) -> Answer | None:
        """Say what the policy predicts, if it predicts; or draw one of the labels of the probe."""
        if self.guesses:
            form = view.game.probe_form(view, probe)
            if not form.labels:
                return None
            drawn = form.labels[int(self.chair.rng.integers(len(form.labels)))]
            return Answer(view.game.read_probe(view, probe, form.items(drawn)))
        assert self.policy is not None
        said = self.policy.predict(view, ask, probe, self.memory, self.chair.rng)
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
        said = None if self.values is None else self.values.guess(probe)
        return None if said is None else Answer(said)

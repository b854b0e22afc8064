"""A simulated subject that is given beliefs, and whose use of them is known."""

from __future__ import annotations

import numpy as np

from tomeval.core.errors import TomevalError, did_you_mean
from tomeval.core.outcomes import Decision
from tomeval.domains.matrix.observation import Observation
from tomeval.domains.matrix.responses import best_responses, rational_responses
from tomeval.domains.matrix.subjects.base import Seat, Subject, check_unit, stated

USES = ("matching", "rational")


class Believer(Subject):
    """Told what the partner plays, right with probability `accuracy`; follows it at a known rate.

    Where it follows, it plays a best response to what it was told (ties equally likely). Where it
    does not, it acts as the simulated subject does: it predicts on its own, rightly with
    probability `p`, and plays a best response to that with probability `q`, else any action.

    Parameters
    ----------
    accuracy : float
        How often what it is told is right, 0 to 1.
    use : float or {"matching", "rational"}
        How often it follows, 0 to 1; ``matching``: as often as it is right. ``rational``: it does
        not follow but plays a best response to what the statement makes of a uniform prior.
    p, q : float
        See above, 0 to 1.
    """

    looks_ahead = True

    def __init__(
        self,
        seat: Seat,
        accuracy: float = 0.5,
        use: float | str = 1.0,
        p: float = 0.5,
        q: float = 0.0,
    ) -> None:
        super().__init__(seat)
        self.accuracy = check_unit("believer: accuracy", accuracy)
        if isinstance(use, str):
            if use not in USES:
                raise TomevalError(
                    f"believer: use must be a number from 0 to 1, or one of {', '.join(USES)}, is "
                    f"{use!r}{did_you_mean(use, USES)}"
                )
            self.use = self.accuracy if use == "matching" else 1.0
        else:
            self.use = check_unit("believer: use", use)
        self.p, self.q = check_unit("believer: p", p), check_unit("believer: q", q)
        game = seat.game
        self.best = best_responses(game)
        self.answers = rational_responses(game, self.accuracy) if use == "rational" else self.best
        self.prediction = -1

    def act(self, observation: Observation) -> Decision:
        """Hear the statement; follow it, or act on its own."""
        game = self.seat.game
        said = self.seat.door.statement(self.accuracy)
        truth = self.seat.door.next_action()
        right, which, follows, rational, choice = self.seat.rng.random(5)
        shift = 0 if right < self.p else 1 + min(int(which * (game.m - 1)), game.m - 2)
        self.prediction = (truth + shift) % game.m
        options = np.arange(game.n)
        if follows < self.use:
            options = np.flatnonzero(self.answers[:, said.stated])
        elif rational < self.q:
            options = np.flatnonzero(self.best[:, self.prediction])
        action = int(options[min(int(choice * len(options)), len(options) - 1)])
        return Decision(action, details=stated(said, self.accuracy))

    def predict(self, observation: Observation, own_action: int | None) -> Decision:
        """Say its own prediction, which owes nothing to the statement."""
        return Decision(self.prediction)

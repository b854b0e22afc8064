"""A subject on a rung of the ladder of aids, each of whose links holds with a known probability."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tomeval.core.errors import unknown
from tomeval.core.outcomes import Decision
from tomeval.domains.matrix.batch.subjects import (
    Answers,
    BatchSubject,
    FloatArray,
    IntArray,
    choose,
    pick,
)
from tomeval.domains.matrix.observation import Observation
from tomeval.domains.matrix.planned import informed_best
from tomeval.domains.matrix.play import Setup
from tomeval.domains.matrix.responses import best_responses
from tomeval.domains.matrix.subjects.base import Answer, Seat, Subject, check_unit
from tomeval.strategies.ladder import RUNGS

LINKS = ("compute", "use", "choose", "obey")
"""The links that hold or fail in a step, in the order in which their chance is drawn."""


class Laddered(Subject):
    """A subject of known truth for the ladder of aids.

    In every step it predicts the partner's action, rightly with probability `know`, else one of the
    others, each equally likely. It plays a best response to what it believes, or what it is told is
    best, if every link that no aid of its rung replaces holds; else it draws an action uniformly.
    Whether a link holds is drawn in every step, independently of the others and alike on all rungs.

    Parameters
    ----------
    rung : {"none", "replies", "replies_social", "replies_oracle", "best_reply"}
        Its aids. ``replies`` replaces computing, ``replies_social`` using as well,
        ``replies_oracle`` its belief by the truth, ``best_reply`` choosing by what is best.
    compute, use, know, choose, obey : float
        Probability of each link, 0 to 1.
    """

    batch: ClassVar[str] = "tomeval.extensions.aids.laddered:BatchLaddered"
    draws_per_step: ClassVar[int | None] = 7
    compared: ClassVar[tuple[str, ...]] = ("rung",)
    looks_ahead = True

    def __init__(
        self,
        seat: Seat,
        rung: str = "none",
        compute: float = 1.0,
        use: float = 1.0,
        know: float = 1.0,
        choose: float = 1.0,
        obey: float = 1.0,
    ) -> None:
        super().__init__(seat)
        links = {"compute": compute, "use": use, "know": know, "choose": choose, "obey": obey}
        self.rung, self.links = checked(rung, **links)
        self.needs_table = self.rung == "best_reply"
        self.prediction = -1

    def act(self, observation: Observation) -> Decision:
        """Believe, then follow the links that are left."""
        game, door = self.seat.game, self.seat.door
        right, which, choice, *drawn = self.seat.rng.random(7)
        truth = door.next_action()
        shift = 0 if right < self.links["know"] else 1 + min(int(which * (game.m - 1)), game.m - 2)
        self.prediction = (truth + shift) % game.m
        held = dict(zip(LINKS, drawn, strict=True))
        whole = all(held[name] < self.links[name] for name in links_left(self.rung))
        options = np.flatnonzero(self._wanted(observation, truth)) if whole else np.arange(game.n)
        return Decision(int(options[min(int(choice * len(options)), len(options) - 1)]))

    def _wanted(self, observation: Observation, truth: int) -> NDArray[np.bool_]:
        """Return the actions that it plays if all links hold, shape (n,)."""
        game = self.seat.game
        if self.rung == "best_reply":
            partner, state = self.seat.door.partner()
            return informed_best(game, partner, self.seat.horizon, observation.round, state, truth)
        believed = truth if self.rung == "replies_oracle" else self.prediction
        best: NDArray[np.bool_] = best_responses(game)[:, believed]
        return best

    def predict(self, observation: Observation, own_action: int | None) -> Answer:
        """Say what it believed before it was told anything."""
        return Decision(self.prediction)


def checked(rung: str = "none", **links: float) -> tuple[str, dict[str, float]]:
    """Return the options of `Laddered`, checked: the rung, and the probability of each link."""
    if rung not in RUNGS:
        raise unknown("rung", rung, RUNGS, "laddered")
    every = {name: links.get(name, 1.0) for name in ("know", *LINKS)}
    return rung, {name: check_unit(f"laddered: {name}", p) for name, p in every.items()}


def links_left(rung: str) -> tuple[str, ...]:
    """Return the links that no aid of a rung replaces, knowing apart.

    Examples
    --------
    >>> [links_left(rung) for rung in RUNGS[1:4]]
    [('use', 'choose', 'obey'), ('choose', 'obey'), ('choose', 'obey')]
    """
    replaced = {"none": 0, "replies": 1, "replies_social": 2, "replies_oracle": 2, "best_reply": 3}
    return LINKS[replaced[rung] :]


class BatchLaddered(BatchSubject):
    """A laddered subject over E episodes."""

    tells = True

    def __init__(self, setup: Setup, episodes: int, **options: Any) -> None:
        self.rung, self.links = checked(**options)
        self.setup, self.game = setup, setup.game

    def answer(self, t: int, state: IntArray, truth: IntArray, u: FloatArray) -> Answers:
        """Act and predict."""
        right, which, choice, *drawn = u
        shift = 1 + choose(self.game.m - 1, which)
        shift[right < self.links["know"]] = 0
        predicted = (truth + shift) % self.game.m
        if self.rung == "best_reply":
            best = self._told(t, state, truth, choice)
        else:
            believed = truth if self.rung == "replies_oracle" else predicted
            best, _ = pick(best_responses(self.game).T[believed], choice)
        held = dict(zip(LINKS, drawn, strict=True))
        whole = np.ones(len(truth), dtype=bool)
        for name in links_left(self.rung):
            whole &= held[name] < self.links[name]
        return Answers(np.where(whole, best, choose(self.game.n, choice)), predicted)

    def _told(self, t: int, state: IntArray, truth: IntArray, u: FloatArray) -> IntArray:
        """Return what is best now, given the partner's state and action."""
        game, horizon = self.game, self.setup.horizon
        masks = [
            informed_best(game, partner, horizon, t + 1, s, b)
            for partner in self.setup.tables.partners
            for s in range(len(partner.emissions))
            for b in range(game.m)
        ]
        return pick(np.stack(masks)[state * game.m + truth], u)[0]

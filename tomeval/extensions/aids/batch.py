"""The batch form of the subject on a rung of the ladder of aids."""

from __future__ import annotations

from typing import Any

import numpy as np

from tomeval.domains.matrix.batch.subjects import (
    Answers,
    BatchSubject,
    FloatArray,
    IntArray,
    choose,
    tie_table,
)
from tomeval.domains.matrix.informed import informed_best
from tomeval.domains.matrix.play import Setup
from tomeval.domains.matrix.responses import best_responses
from tomeval.domains.matrix.steps import NONE
from tomeval.extensions.aids.laddered import LINKS, checked, links_left


class BatchLaddered(BatchSubject):
    """A laddered subject over E episodes."""

    tells = True

    def __init__(self, setup: Setup, episodes: int, **options: Any) -> None:
        self.rung, self.links = checked(**options)
        self.setup, self.book = setup, []
        self.game = setup.game
        self.count, self.order, _ = tie_table(best_responses(self.game).T)

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
            best = self.order[believed, choose(self.count[believed], choice)]
        held = dict(zip(LINKS, drawn, strict=True))
        whole = np.ones(len(truth), dtype=bool)
        for name in links_left(self.rung):
            whole &= held[name] < self.links[name]
        return Answers(np.where(whole, best, choose(self.game.n, choice)), NONE, predicted, NONE)

    def _told(self, t: int, state: IntArray, truth: IntArray, u: FloatArray) -> IntArray:
        """Return what is best now, given the partner's state and action."""
        game, horizon = self.game, self.setup.horizon
        masks = [
            informed_best(game, partner, horizon, t + 1, s, b)
            for partner in self.setup.tables.partners
            for s in range(len(partner.emissions))
            for b in range(game.m)
        ]
        count, order, _ = tie_table(np.stack(masks))
        row = state * game.m + truth
        told: IntArray = order[row, choose(count[row], u)]
        return told

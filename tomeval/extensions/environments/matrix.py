"""Matrix games as environments: the step loop of all runs, and what its steps are worth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from tomeval.core.errors import TomevalError
from tomeval.domains.matrix.experiment import MatrixCell
from tomeval.domains.matrix.games import MatrixGame
from tomeval.domains.matrix.optima import Plan, known_best_response, reference_rewards
from tomeval.domains.matrix.partners import Partner, PartnerSet
from tomeval.domains.matrix.play import play_episode_async
from tomeval.domains.matrix.record import Record
from tomeval.domains.matrix.responses import gains, stepwise_regret
from tomeval.domains.matrix.steps import NONE, Steps
from tomeval.extensions.environments.text import Playing, Task
from tomeval.models.base import Model

REWARDS = ("payoff", "regret", "stepwise", "advantage", "literal")


class MatrixTask(Task):
    """A cell of an experiment as an environment."""

    def __init__(self, cell: MatrixCell, weights: Mapping[str, float]) -> None:
        setup = cell.setup
        self.name = f"{setup.game.name}, {setup.partners.name}, T = {setup.horizon}"
        if not isinstance(setup.partners, PartnerSet):
            raise TomevalError(
                f"partner {setup.partners.name!r}: has no table, so the optimal reward is unknown; "
                "choose a partner of `tomeval list partners`"
            )
        self.cell, self.weights = cell, weights

    def begin(self, episode: int, model: Model) -> Playing:
        """Begin an episode."""
        return _Episode(self.cell, self.weights, episode, model)


class _Episode(Playing):
    """An episode under way: rows of its record that are finished and not yet paid are earned."""

    def __init__(
        self, cell: MatrixCell, weights: Mapping[str, float], episode: int, model: Model
    ) -> None:
        setup = cell.setup
        which = int(setup.draw_partners(episode, 1)[0])
        self._cell, self._weights, self._partner = cell, weights, setup.tables.partners[which]
        self._record = Record(episode, which)
        self._finished = self._paid = 0
        self.coroutine = play_episode_async(setup, episode, model, self._step, record=self._record)

    def _step(self) -> None:
        self._finished += 1

    def earned(self, over: bool) -> Iterator[tuple[str, float]]:
        """Yield the rewards of the rounds that are over."""
        for step in range(self._paid, self._finished):
            state, theirs, own, _, _, _, predicted, *_ = self._record.rows[step]
            yield from self._worth(step, state, theirs, own, predicted)
        self._paid = self._finished

    def _worth(
        self, step: int, state: int, theirs: int, own: int, predicted: int
    ) -> Iterator[tuple[str, float]]:
        setup, wanted = self._cell.setup, self._weights
        game, payoff = setup.game, float(setup.game.own[own, theirs])
        if "payoff" in wanted:
            yield "payoff", payoff
        if "regret" in wanted:
            reference = reference_rewards(game, self._partner, setup.horizon, self._cell.reference)
            yield "regret", payoff - float(reference[step])
        if "stepwise" in wanted:
            yield "stepwise", -float(stepwise_regret(game)[own, theirs])
        if "advantage" in wanted:
            plan = known_best_response(game, self._partner, setup.horizon)
            yield "advantage", float(advantages(game, self._partner, plan, step, state)[own])
        if "literal" in wanted and predicted != NONE:
            yield "literal", float(predicted == theirs)

    def status(self, result: Steps) -> str:
        """Return the episode's status."""
        return result.status


def advantages(
    game: MatrixGame, partner: Partner, plan: Plan, step: int, state: int
) -> NDArray[np.float64]:
    """Return Q* - V* of every own action, shape (n,), in payoff units, at most 0.

    `plan` is the best response over T steps, `step` counts from 0, `state` is the partner's. The
    sum over an episode has the expectation of what was earned, less the value of the best response.

    Examples
    --------
    One step before the last, defecting on tit for tat wins 2 now and loses 5 then:

    >>> from tomeval.domains.matrix.games import get_game
    >>> from tomeval.domains.matrix.partner_specs import get_partner
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

"""What could be known of a partner drawn from a known set: the Bayes-optimal prediction."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tomeval.core.errors import TomevalError
from tomeval.domains.matrix.partners import Partner, PartnerSet
from tomeval.domains.matrix.played import FloatArray, IntArray


class Posterior:
    """The probability of every partner of a set, and its state, given an episode's moves so far.

    A partner's state follows from the moves, so what is uncertain is which partner it is: one
    weight each, K of them, at first `weights`. It is kept for several episodes at once, all at the
    same step.
    """

    def __init__(
        self, partners: Sequence[Partner], weights: Sequence[float], episodes: int = 1
    ) -> None:
        self.partners = partners
        # Weights are kept as logarithms: many unlikely steps must not make all of them 0.
        self._logs = np.tile(np.log(np.asarray(weights, dtype=np.float64)), (episodes, 1))
        self._states = np.tile([partner.start for partner in partners], (episodes, 1))

    @property
    def weights(self) -> FloatArray:
        """The probability of each partner, shape (episodes, K)."""
        ends = self._logs.max(axis=1, keepdims=True)
        weights: FloatArray = np.exp(self._logs - ends)
        weights /= weights.sum(axis=1, keepdims=True)
        return weights

    def predict(self) -> FloatArray:
        """Return the probabilities of the partner's next action, shape (episodes, m)."""
        weights = self.weights
        probs = np.zeros((len(weights), self.partners[0].m))
        for k, partner in enumerate(self.partners):
            probs += weights[:, [k]] * partner.emissions[self._states[:, k]]
        probs /= probs.sum(axis=1, keepdims=True)
        return probs

    def observe(self, own: IntArray, theirs: IntArray) -> None:
        """Learn both actions of a step, shape (episodes,) each.

        Raises
        ------
        TomevalError
            No partner of the set could have played so.
        """
        for k, partner in enumerate(self.partners):
            states = self._states[:, k]
            with np.errstate(divide="ignore"):
                self._logs[:, k] += np.log(partner.emissions[states, theirs])
            self._states[:, k] = partner.next_state[states, own, theirs]
        if not np.isfinite(self._logs.max(axis=1)).all():
            raise TomevalError("no partner of the set could have played these moves")


def bayes_predictions(
    partners: PartnerSet, own: IntArray, theirs: IntArray, lengths: IntArray
) -> FloatArray:
    """Return the Bayes-optimal prediction of every step, shape (N, m).

    The probability of each action of the partner given all moves of the episode before the step,
    for one who knows the partner set, with its weights and tables, and nothing else: a forward
    filter over machines and states. No predictor that sees the same moves has a smaller expected
    log loss or Brier score, or is right more often in expectation.

    `own` and `theirs`, shape (N,), are both sides' actions, episode after episode; `lengths`, (E,),
    the steps of each.

    Examples
    --------
    Against one of three partners that always play one action, the first move tells which.

    >>> from tomeval.domains.matrix.games import get_game
    >>> from tomeval.domains.matrix.partner_specs import get_partner_set
    >>> partners = get_partner_set("single_action", get_game("RPS"))
    >>> rocks = np.array([0, 0])
    >>> bayes_predictions(partners, rocks, rocks, np.array([2])).round(3).tolist()
    [[0.333, 0.333, 0.333], [1.0, 0.0, 0.0]]
    """
    starts = np.cumsum(lengths) - lengths
    result = np.zeros((int(lengths.sum()), partners.partners[0].m))
    for length in np.unique(lengths):  # played episodes have one length
        rows = starts[lengths == length]
        posterior = Posterior(partners.partners, partners.weights, len(rows))
        for t in range(int(length)):
            result[rows + t] = posterior.predict()
            posterior.observe(own[rows + t], theirs[rows + t])
    return result

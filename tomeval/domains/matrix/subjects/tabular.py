"""Learners: tabular RMax with a count-based predictor, and fictitious play."""

from __future__ import annotations

from typing import ClassVar

from tomeval.domains.matrix.subjects.base import Batched, Seat


class RMax(Batched):
    """Tabular RMax (Brafman and Tennenholtz 2002) with a frequency-count predictor.

    A state-action pair is known after `m` visits; its model is what those visits showed. An unknown
    pair is worth R_max / (1 - gamma). Acts greedily on converged values. Predicts the partner's
    most frequent action in the current state; ties and unseen states give action 0.

    Parameters
    ----------
    m : int
        Visits after which a pair is known.
    gamma : float
        Discount, in [0, 1).
    ties : {"random", "first"}
        How greedy ties are broken.

    Notes
    -----
    With the defaults it reproduces the tabular rows of Riemer et al. 2025, tables 1, 3, 4 and 10.
    """

    batch: ClassVar[str] = "tomeval.domains.matrix.batch.rmax:BatchRMax"
    draws_per_step: ClassVar[int | None] = 1

    def __init__(self, seat: Seat, m: int = 1, gamma: float = 0.9, ties: str = "random") -> None:
        super().__init__(seat, m=m, gamma=gamma, ties=ties)


class FictitiousPlay(Batched):
    """Fictitious play (Brown 1951): a best response to the partner's empirical frequencies.

    Predicts the most frequent action so far. Ties are broken uniformly at random.

    Parameters
    ----------
    prior : float
        Count that every partner action starts with; positive.
    """

    batch: ClassVar[str] = "tomeval.domains.matrix.batch.subjects:BatchFictitiousPlay"
    draws_per_step: ClassVar[int | None] = 2

    def __init__(self, seat: Seat, prior: float = 1.0) -> None:
        super().__init__(seat, prior=prior)

"""The token draw: truncation and inversion against plain numpy, independence of the batch."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the transformers backend needs torch")

from tomeval.models.base import BackendError, Sampling  # noqa: E402
from tomeval.models.local.tasks import choose  # noqa: E402

P = np.array([0.1, 0.4, 0.05, 0.3, 0.15])


def draw(sampling, points):
    logits = torch.tensor(np.log(P)).float().expand(len(points), -1)
    return choose(logits, [sampling] * len(points), list(points))


def shares(sampling, n=4000):
    """Return each token's share of the unit interval, read off a fine grid."""
    return np.bincount(draw(sampling, (np.arange(n) + 0.5) / n), minlength=5) / n


@pytest.mark.parametrize(
    ("sampling", "weights"),
    [
        (Sampling(), P),
        (Sampling(temperature=0.5), P**2),
        (Sampling(temperature=2.0), P**0.5),
        (Sampling(top_k=2), [0, 0.4, 0, 0.3, 0]),
        # 0.4 + 0.3 is not yet 0.8: the smallest set that reaches it has three tokens.
        (Sampling(top_p=0.8), [0, 0.4, 0, 0.3, 0.15]),
        (Sampling(top_p=1e-6), [0, 1, 0, 0, 0]),
        # 0.3 is three quarters of the likeliest, 0.15 is less than a half.
        (Sampling(min_p=0.5), [0, 0.4, 0, 0.3, 0]),
        # Of the three that top_k leaves, two reach 0.8 of what is left.
        (Sampling(top_k=3, top_p=0.8), [0, 0.4, 0, 0.3, 0]),
        (Sampling(temperature=0.0), [0, 1, 0, 0, 0]),
    ],
)
def test_shares_of_the_unit_interval_are_the_probabilities(sampling, weights):
    weights = np.asarray(weights, dtype=float)
    assert shares(sampling) == pytest.approx(weights / weights.sum(), abs=5e-4)


def test_a_cut_through_a_tie_keeps_the_first_ids():
    drawn = choose(torch.zeros(4, 6), [Sampling(top_k=2)] * 4, [0.0, 0.49, 0.51, 0.999])
    assert drawn == [0, 0, 1, 1]


def test_the_ends_of_the_interval_give_possible_tokens():
    logits = torch.tensor([[-torch.inf, 0.0, 0.0, -torch.inf]] * 2)
    assert choose(logits, [Sampling()] * 2, [0.0, 1 - 2**-53]) == [1, 2]


def test_logits_that_are_not_numbers_are_an_error():
    with pytest.raises(BackendError, match="logits contain NaN"):
        choose(torch.tensor([[0.0, torch.nan]]), [Sampling()], [0.5])

"""Draw tokens so that a draw depends on its own request alone, whatever else is in the batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tomeval.core.errors import TomevalError
from tomeval.models.base import BackendError, Sampling
from tomeval.models.local.load import require


def uniforms(seed: int) -> np.random.Generator:
    """Return the source of a request's uniform numbers, one for each token."""
    return np.random.Generator(np.random.Philox(key=seed))


def check_sampling(sampling: Sampling) -> None:
    """Refuse values that mean nothing, with a `TomevalError`."""
    for name, fine in (
        ("temperature", sampling.temperature >= 0),
        ("top_p", 0 < sampling.top_p <= 1),
        ("top_k", sampling.top_k >= 0),
        ("min_p", 0 <= sampling.min_p <= 1),
        ("max_tokens", sampling.max_tokens >= 1),
        ("stop", all(sampling.stop)),
    ):
        if not fine:
            raise TomevalError(f"sampling: {name} cannot be {getattr(sampling, name)!r}")


def choose(logits: Any, samplings: Sequence[Sampling], draws: Sequence[float]) -> list[int]:
    """Choose one token a row by inverting its cumulative distribution.

    The distribution is summed in the order of the vocabulary, not of the probabilities: different
    rounding in a different batch moves its steps by as little as itself and cannot swap tokens.

    `logits` has the shape (rows, vocabulary). Truncation runs temperature, top_k, top_p (of what
    top_k left), min_p. `draws` holds one uniform number in [0, 1) a row; it is not used at
    temperature 0. Raises `BackendError` if the logits hold NaN.
    """
    torch = require("torch")
    if bool(torch.isnan(logits).any()):
        raise BackendError("the model gave logits that are not numbers")
    if all(sampling.temperature == 0 for sampling in samplings):
        return [int(token) for token in logits.argmax(-1).tolist()]
    if logits.device.type == "mps":  # has no float64
        logits = logits.cpu()

    def column(values: list[float]) -> Any:
        return torch.tensor(values, dtype=torch.float64, device=logits.device)[:, None]

    temperature = column([sampling.temperature or 1.0 for sampling in samplings])
    wide = logits.double()
    probs = torch.softmax((wide - wide.amax(-1, keepdim=True)) / temperature, -1)
    if any(s.top_k or s.top_p < 1 or s.min_p for s in samplings):
        probs = _truncate(torch, probs, samplings, column)
    steps = probs.cumsum(-1)
    total = steps[:, -1:].contiguous()
    drawn = torch.searchsorted(steps, column(list(draws)) * total, right=True)
    # Rounding can put the product on the total; the last token with any probability is meant.
    drawn = torch.minimum(drawn, torch.searchsorted(steps, total))[:, 0]
    greedy = logits.argmax(-1)
    cold = torch.tensor([s.temperature == 0 for s in samplings], device=logits.device)
    return [int(token) for token in torch.where(cold, greedy, drawn).tolist()]


def _truncate(torch: Any, probs: Any, samplings: Sequence[Sampling], column: Any) -> Any:
    """Set the probability of tokens that a row's settings exclude to 0."""
    vocabulary = probs.shape[-1]
    # Equal probabilities keep the order of their ids, so a cut through a tie is defined.
    ordered, order = probs.sort(dim=-1, descending=True, stable=True)
    rank = torch.arange(vocabulary, device=probs.device)[None]
    kept = rank < column([s.top_k or vocabulary for s in samplings])
    ordered = ordered * kept
    ordered = ordered / ordered.sum(-1, keepdim=True)
    before = ordered.cumsum(-1) - ordered
    nucleus = column([s.top_p for s in samplings])
    kept = kept & ((before < nucleus) | (nucleus >= 1) | (rank == 0))
    kept = kept & (ordered >= ordered[:, :1] * column([s.min_p for s in samplings]))
    return probs * torch.zeros_like(kept).scatter(-1, order, kept)

"""What an engine is asked, in tokens: labels to score, texts to write, and how they are drawn."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from tomeval.models.base import BackendError, Sampling
from tomeval.models.local.labels import LabelQuery
from tomeval.models.local.load import require

ALONE = "(alone)"
"""Begins the names of groups that hold one request, and of no others."""


@dataclass
class Scored:
    """Result of a `LabelQuery`."""

    logprobs: list[float]  # log P(sequence | prefix) in nats, one per sequence
    processed: int = 0  # tokens that went through the model for it
    argmax: int = 0  # the most probable token after the prefix
    finished: float = 0.0  # `time.perf_counter` when it was ready


class Path:
    """Tokens to read; the logits behind those from place `first` on are wanted.

    Attributes
    ----------
    rows : list of int
        Where they are, one for each place, among all logits of the last pass.
    start, nodes : int, list of int
        What of it is cached, and the nodes of the others in its `tomeval.models.local.prefix.Tree`.
    fed : int
        How many tokens of it went through the model, those that it shares with others once.
    new : int
        The most tokens that will be written behind it.
    """

    def __init__(self, ids: tuple[int, ...], first: int, group: str, new: int = 0) -> None:
        self.ids, self.first, self.group, self.new = ids, first, group, new
        self.rows: list[int] = []
        self.nodes: list[int] = []
        self.start = self.fed = 0


AnyPath = TypeVar("AnyPath", bound=Path)


class Context(Path):
    """A query's prefix with all but the last token of labels, which are scored behind it."""

    def __init__(self, query: int, asked: LabelQuery, tokens: tuple[int, ...]) -> None:
        group = asked.group or f"{ALONE} {query}"
        super().__init__(asked.prefix + tokens, len(asked.prefix) - 1, group)
        self.query = query  # its number
        self.labels = [
            (label, sequence)
            for label, sequence in enumerate(asked.sequences)
            if sequence[:-1] == tokens
        ]


class Text(Path):
    """A prompt and what is written behind it, one token at a time.

    `ends` are tokens that end it, `context` is the longest sequence of the model. `ended` becomes
    eos, length or context; an end token is not part of the text, but counted in `drawn`.
    """

    def __init__(
        self,
        ids: tuple[int, ...],
        sampling: Sampling,
        seed: int,
        ends: frozenset[int] = frozenset(),
        group: str = "",
        context: int | None = None,
    ) -> None:
        room = math.inf if context is None else context - len(ids)
        group = group or f"{ALONE} {id(self)}"
        super().__init__(ids, len(ids) - 1, group, int(min(sampling.max_tokens, room)))
        self.sampling, self.ends = sampling, ends
        self.uniforms = np.random.Generator(np.random.Philox(key=seed))  # one number a token
        self.prompt, self.drawn = len(ids), 0
        self.full = "length" if sampling.max_tokens <= room else "context"
        self.ended, self.finished = "", 0.0

    @property
    def tokens(self) -> tuple[int, ...]:
        """What is written so far."""
        return self.ids[self.prompt :]

    def take(self, token: int) -> bool:
        """Add a token; return whether the text has ended."""
        self.drawn += 1
        if token in self.ends:
            self.ended = "eos"
        else:
            self.ids += (token,)
            self.first, self.new = self.first + 1, self.new - 1
            self.ended = "" if self.new else self.full
        self.finished = time.perf_counter()
        return bool(self.ended)


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
        raise BackendError("the model's logits contain NaN")
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

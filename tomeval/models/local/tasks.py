"""What an engine is asked, in tokens: labels to score, texts to write, and how they are drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Literal, TypeVar

import numpy as np

from tomeval.core.errors import TomevalError
from tomeval.core.text import common_prefix
from tomeval.models.base import BackendError, Sampling
from tomeval.models.local.load import require

Tails = tuple[tuple[int, ...], ...]

_LEAST = 1e-12  # probability share below which the rest of a label is rounding noise


@dataclass(frozen=True)
class LabelQuery:
    """Token sequences to score after one common prefix."""

    prefix: tuple[int, ...]  # at least one token; what all sequences are conditioned on
    sequences: tuple[tuple[int, ...], ...]  # one per label, not empty, all different
    # How many tokens of the prompt are not in `prefix` because a label changes them.
    backoff: int = 0
    group: str = ""  # the request's group


def split_labels(
    prompt: Sequence[int],
    joint: Sequence[Sequence[int]],
    labels: Sequence[str],
    *,
    group: str = "",
    unknown: int | None = None,
) -> LabelQuery:
    """Split the joint tokenisations of prompt and label where all of them still agree.

    Usually the prompt's own tokens survive and the prefix is the prompt. Where a label merges with
    the prompt's end, every label is scored from the last token on which all agree: the numbers are
    then log P(end of prompt + label | prefix), over one and the same text before the label, so
    they differ from log P(label | prompt) by one constant for all labels.

    `prompt` holds the tokens of the prompt alone, `joint` those of prompt and label together, one
    sequence per label; `labels` is for messages, `unknown` the id of the unknown token. Raises
    `TomevalError` for fewer than two labels, or labels that the tokens cannot tell apart.
    """
    if len(labels) < 2 or len(set(labels)) != len(labels):
        raise TomevalError(f"labels to score must be two or more, all different: {labels!r}")
    cut = min(min(common_prefix(prompt, ids), len(ids) - 1) for ids in joint)
    if cut < 1:
        raise TomevalError(f"the tokenizer leaves nothing of the prompt before labels {labels!r}")
    sequences = tuple(tuple(ids[cut:]) for ids in joint)
    for index, (label, sequence) in enumerate(zip(labels, sequences, strict=True)):
        if unknown is not None and unknown in sequence:
            raise TomevalError(f"label {label!r} has a character that the tokenizer does not know")
        if sequence in sequences[:index] or sequence == tuple(prompt[cut:]):
            raise TomevalError(f"the tokenizer cannot tell label {label!r} apart: {labels!r}")
    return LabelQuery(tuple(prompt[:cut]), sequences, len(prompt) - cut, group)


def exclusive(logprobs: Sequence[float], sequences: Sequence[Sequence[int]]) -> list[float]:
    """Turn P(text begins with label) into P(label is the longest label the text begins with).

    Without it a label whose tokens begin another's would collect the other's probability too.

    Examples
    --------
    >>> values = exclusive([math.log(0.5), math.log(0.2)], [(1,), (1, 2)])
    >>> [round(math.exp(value), 6) for value in values]
    [0.3, 0.2]
    """
    result = [float(value) for value in logprobs]
    # Longest first: subtracting exclusive probabilities never counts a nested label twice.
    for index in sorted(range(len(sequences)), key=lambda i: -len(sequences[i])):
        short, own = sequences[index], result[index]
        longer = [
            result[other]
            for other, long in enumerate(sequences)
            if len(long) > len(short) and tuple(long[: len(short)]) == tuple(short)
        ]
        if longer and math.isfinite(own):
            share = sum(math.exp(value - own) for value in longer)
            result[index] += math.log(max(1.0 - share, _LEAST))
    return result


class Reading:
    """Tokens to read; the logits behind those from place `first` on are wanted, and of `tails`.

    Attributes
    ----------
    tails : tuple of tuples of int
        Token sequences that each go on from `ids`, apart from the others.
    new : int
        The most tokens that will be written behind it.
    start : int
        How many of `ids` are cached.
    fed : int
        How many tokens of it went through the model.
    """

    def __init__(self, ids: tuple[int, ...], group: str, tails: Tails = (), new: int = 0) -> None:
        self.ids, self.group, self.tails, self.new = ids, group, tails, new
        self.first = len(ids) - 1
        self.branch = (group, 0)  # tells readings of a group apart that are asked for at once
        self.start = self.fed = 0

    @property
    def end(self) -> int:
        """How many places its tokens take."""
        return len(self.ids) + sum(map(len, self.tails))

    @property
    def wanted(self) -> int:
        """How many of its last tokens the logits are wanted of."""
        return self.end - self.first


AnyReading = TypeVar("AnyReading", bound=Reading)


class Scored(Reading):
    """The labels of a query, behind its prefix.

    Attributes
    ----------
    logprobs : list of float
        log P(sequence | prefix) in nats, one per sequence.
    argmax : int
        The most probable token after the prefix.
    """

    def __init__(self, query: LabelQuery) -> None:
        # The last token of a label is not read.
        tails = dict.fromkeys(ids[:-1] for ids in query.sequences if len(ids) > 1)
        super().__init__(query.prefix, query.group, tuple(tails))
        begins = dict(zip(tails, accumulate(map(len, tails), initial=1), strict=False))
        self.sequences = query.sequences
        # Where the logits of their tokens are among those that are wanted.
        self.rows = [
            [0, *(begins[ids[:-1]] + n for n in range(len(ids) - 1))] for ids in query.sequences
        ]
        self.logprobs: list[float] = []
        self.argmax = 0


class Text(Reading):
    """A prompt and what is written behind it, one token at a time.

    `ends` are tokens that end it, `context` is the longest sequence of the model. `ended` becomes
    ``stop`` or ``length``; an end token is not part of the text, but counted in `drawn`.
    """

    ended: Literal["", "stop", "length"] = ""

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
        new = int(min(sampling.max_tokens, room))
        super().__init__(ids, group, new=new)
        self.sampling, self.ends = sampling, ends
        self.uniforms = np.random.Generator(np.random.Philox(key=seed))  # one number a token
        self.prompt, self.drawn = len(ids), 0

    @property
    def tokens(self) -> tuple[int, ...]:
        """What is written so far."""
        return self.ids[self.prompt :]

    def take(self, token: int) -> bool:
        """Add a token; return whether the text has ended."""
        self.drawn += 1
        if token in self.ends:
            self.ended = "stop"
        else:
            self.ids += (token,)
            self.first, self.new = self.first + 1, self.new - 1
            self.ended = "" if self.new else "length"
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

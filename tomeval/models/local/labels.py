"""Labels to score, in tokens: where they part from the prompt, and which of them hold others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tomeval.core.errors import TomevalError
from tomeval.core.text import common_prefix

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

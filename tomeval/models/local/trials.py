"""What a model's code can do, found by trying: caches, and prefixes that branches share."""

from __future__ import annotations

import logging
import random
import re
from typing import Any

from tomeval.core.errors import TomevalError
from tomeval.models.local.attention import share_keys
from tomeval.models.local.cache import usual_memory
from tomeval.models.local.engine import Engine, Whole, logprobs
from tomeval.models.local.load import require, text_config
from tomeval.models.local.prefix import Prefixes
from tomeval.models.local.tasks import Reading

logger = logging.getLogger(__name__)

TOLERANCE = 1e-4
"""Largest difference of log-probabilities in float32, in nats."""

SHARE = 0.15
"""Largest difference in narrower types, as a part of the spread of a token's log-probabilities.

Both are standard deviations over the vocabulary, so neither the size of logits nor the largest of
many differences counts. In bfloat16 a model of 135 million parameters differs by 0.05 from float32
and by 0.05 between whole prompts with a cache and without; a token that is hidden or one place off
makes 0.28 and more.
"""

_LONGEST_TRIAL, _WINDOW = 600, re.compile("window(_size)?$")
_FAULTS = (AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
"""What a model's code raises where it is run in a way that it was not written for."""


def settle(engine: Engine, reuse: bool, memory: int | None = None) -> None:
    """Find out how a model's prompts can be read; what it cannot do is one line in the log each.

    With `reuse` prefixes are kept, in at most `memory` bytes, where the model gives what a prompt
    alone gives. Raises `TomevalError` if the model does not even read a prompt alone.
    """
    engine.reader = Whole(engine, cached=False)
    try:
        alone = play(engine)
    except _FAULTS as error:
        raise TomevalError(f"this model does not work on text alone: {_message(error)}") from error
    slow, engine.reader = engine.reader, Whole(engine)
    if reason := fault(engine, alone):
        engine.reader = slow
        logger.warning("text is generated without a cache, which is slow: %s", reason)
    if not reuse:
        return
    kinds, window = attention(engine.model.config)
    whole = engine.reader
    if set(kinds) - {"full_attention", "sliding_attention"}:
        reason = f"its layers keep a state that cannot be rolled back ({', '.join(kinds)})"
    elif "sliding_attention" in kinds and not isinstance(window, int):
        reason = "its sliding window is not stated"
    else:
        most = usual_memory(engine.model) if memory is None else memory
        share_keys(engine.model)
        engine.reader = Prefixes(engine, kinds, window, most)
        reason = fault(engine, alone)
    if reason:
        engine.reader = whole
        logger.warning("prefixes are not reused; every prompt is encoded whole: %s", reason)


def attention(config: Any) -> tuple[list[str], int | None]:
    """Return the kinds of attention layers, and how far sliding ones see."""
    text = text_config(config)
    window = getattr(text, "sliding_window", None)
    kinds = getattr(text, "layer_types", None)
    return sorted(set(kinds or ["sliding_attention" if window else "full_attention"])), window


def fault(engine: Engine, alone: Any) -> str:
    """Return why the engine's reader is not to be used, or an empty text.

    `alone` is what the play gives where every text is read alone, of shape (tokens, vocabulary);
    `TOLERANCE` or `SHARE` says how far the reader may be from it.
    """
    torch = require("torch")
    try:
        apart = play(engine) - alone
    except _FAULTS as error:
        return _message(error)
    if engine.model.dtype in (torch.float32, torch.float64):
        most, limit, unit = float(apart.abs().max()), TOLERANCE, "nats"
    else:
        most, limit, unit = float((apart.std(-1) / alone.std(-1)).max()), SHARE, "of their spread"
    if most <= limit:  # not so where it is no number
        return ""
    return f"log-probabilities differ by {most:.2g} {unit}"


def play(engine: Engine) -> Any:
    """Return log-probabilities in a short made-up play of two episodes, by the engine's reader.

    It has branches, a roll-back and texts, and is longer than the windows that the configuration
    names, if those are short.
    """
    torch, config = require("torch"), text_config(engine.model.config)
    windows = [value for name, value in vars(config).items() if _WINDOW.search(name)]
    length = min(max(w for w in (0, *windows) if isinstance(w, int)) + 16, _LONGEST_TRIAL)
    length = max(4, min(length, (engine.context or length + 24) - 24))
    embedded = engine.model.get_input_embeddings().weight.shape[0]
    count, rng = int(getattr(config, "vocab_size", embedded)), random.Random(0)

    def tokens(more: int) -> tuple[int, ...]:
        return tuple(rng.randrange(count) for _ in range(more))

    chains, found = {"one": tokens(length), "two": tokens(length - 1)}, []
    for _ in range(2):
        tails = tokens(2), tokens(1)
        readings = [
            Reading(chain + tokens(3), group, some, 0 if some else 1)
            for group, chain in chains.items()
            for some in ((), tails)
        ]
        read: dict[int, list[Any]] = {id(one): [] for one in readings}
        written = {id(one): tokens(1) for one in readings}
        with engine.running():
            for batch in engine.reader.batches(readings):
                logits = engine.reader.read(batch)
                for one, own in zip(batch, logits.split([x.wanted for x in batch]), strict=True):
                    read[id(one)].append(own)
                if live := [one for one in batch if one.new]:
                    for one in live:
                        one.ids, one.first = one.ids + written[id(one)], len(one.ids)
                    for one, own in zip(live, engine.reader.step(live), strict=True):
                        read[id(one)].append(own[None])
        found += [part for parts in read.values() for part in parts]
        chains = {group: chain + tokens(3) for group, chain in chains.items()}
    engine.reader.forget(chains)
    return logprobs(torch.cat(found))


def _message(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0][:200]}"

"""What a model's code can do, found by trying: caches, and prefixes that branches share."""

from __future__ import annotations

import logging
import random
import re
from typing import Any

import numpy as np

from tomeval.core.errors import TomevalError
from tomeval.models.local.cache import usual_memory
from tomeval.models.local.engine import Engine, Whole, logprobs
from tomeval.models.local.load import require, text_config
from tomeval.models.local.prefix import Prefixes
from tomeval.models.local.tasks import Reading

logger = logging.getLogger(__name__)

TOLERANCE = 1e-4
"""Largest difference of log-probabilities in float32; narrower types are allowed their rounding."""

_NARROW_CACHE, _NARROW_PREFIXES = 1.0, 0.25
_LONGEST_TRIAL, _WINDOW, _WANTED = 600, re.compile("window(_size)?$"), 3
_FAULTS = (AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
"""What a model's code raises where it is run in a way that it was not written for."""


def settle(engine: Engine, reuse: bool, memory: int | None = None) -> None:
    """Find out how a model's prompts can be read; what it cannot do is one line in the log each.

    With `reuse` prefixes are kept, in at most `memory` bytes, where the model gives what a prompt
    alone gives. Raises `TomevalError` if the model does not even read a prompt alone.
    """
    play = Play(engine)
    try:
        play.alone(play.tokens(3))
    except _FAULTS as error:
        raise TomevalError(f"this model does not work on text alone: {_message(error)}") from error
    whole = Whole(engine)
    engine.reader = whole
    if reason := play.fault(whole, _NARROW_CACHE):
        whole.cached = False
        logger.warning("text is generated without a cache, which is slow: %s", reason)
    if not reuse:
        return
    kinds, window = attention(engine.model.config)
    most = usual_memory(engine.model) if memory is None else memory
    reader = Prefixes(engine, kinds, window, most)
    if set(kinds) - {"full_attention", "sliding_attention"}:
        reason = f"its layers keep a state that cannot be rolled back ({', '.join(kinds)})"
    elif "sliding_attention" in kinds and not isinstance(window, int):
        reason = "its sliding window is not stated"
    else:
        reason = play.fault(reader, _NARROW_PREFIXES)
    if reason:
        logger.warning("prefixes are not reused; every prompt is encoded whole: %s", reason)
        return
    engine.reader = reader


def attention(config: Any) -> tuple[list[str], int | None]:
    """Return the kinds of attention layers, and how far sliding ones see."""
    text = text_config(config)
    window = getattr(text, "sliding_window", None)
    kinds = getattr(text, "layer_types", None)
    return sorted(set(kinds or ["sliding_attention" if window else "full_attention"])), window


class Play:
    """A short made-up play of two episodes, with branches, a roll-back and texts in between.

    It is longer than the windows that the configuration names, if those are short.
    """

    def __init__(self, engine: Engine) -> None:
        config = text_config(engine.model.config)
        embedded = engine.model.get_input_embeddings().weight.shape[0]
        self._engine, self._random = engine, random.Random(0)
        self._vocabulary = int(getattr(config, "vocab_size", embedded))
        windows = [value for name, value in vars(config).items() if _WINDOW.search(name)]
        length = min(max(w for w in (0, *windows) if isinstance(w, int)) + 16, _LONGEST_TRIAL)
        self._length = max(4, min(length, (engine.context or length + 24) - 24))

    def tokens(self, count: int) -> tuple[int, ...]:
        """Return random tokens."""
        return tuple(self._random.randrange(self._vocabulary) for _ in range(count))

    def alone(self, ids: tuple[int, ...]) -> Any:
        """Return log-probabilities behind the last tokens of a text that is read for itself."""
        read = require("torch").tensor([ids], device=self._engine.device)
        with self._engine.running():
            return logprobs(self._engine.run(read, _WANTED, use_cache=False).logits[0, -_WANTED:])

    def fault(self, reader: Whole | Prefixes, narrow: float) -> str:
        """Return why a reader is not to be used, or an empty text."""
        torch = require("torch")
        wide = self._engine.model.dtype in (torch.float32, torch.float64)
        try:
            with self._engine.running():
                apart = self.trial(reader)
        except _FAULTS as error:
            return _message(error)
        if apart <= (TOLERANCE if wide else narrow):  # not so where it is no number
            return ""
        return f"log-probabilities differ by {apart:.2g} nats"

    def trial(self, reader: Whole | Prefixes) -> float:
        """Return the largest difference of log-probabilities between the play and texts alone."""
        apart: list[float] = []

        def compare(logits: Any, batch: list[Reading]) -> None:
            for one, mine in zip(batch, logits.split([x.wanted for x in batch]), strict=True):
                texts = [one.ids, *(one.ids + tail for tail in one.tails)]
                wanted = [len(one.ids) - one.first, *map(len, one.tails)]
                alone = [self.alone(ids)[-n:] for ids, n in zip(texts, wanted, strict=True)]
                apart.append(float((logprobs(mine) - require("torch").cat(alone)).abs().max()))

        chains = {"one": self.tokens(self._length), "two": self.tokens(self._length - 1)}
        for _ in range(2):
            tails = self.tokens(2), self.tokens(1)
            readings = [
                Reading(chain + self.tokens(3), group, some, 0 if some else 1)
                for group, chain in chains.items()
                for some in ((), tails)
            ]
            for one in readings:
                one.first -= _WANTED - 1
            for batch in reader.batches(readings):
                compare(reader.read(batch), batch)
                live = [one for one in batch if one.new]
                for one in live:
                    one.ids, one.first = one.ids + self.tokens(1), len(one.ids)
                if live:
                    compare(reader.step(live), live)
            chains = {group: chain + self.tokens(3) for group, chain in chains.items()}
        reader.forget(chains)
        return float(np.max(apart))  # also of what is no number


def _message(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0][:200]}"

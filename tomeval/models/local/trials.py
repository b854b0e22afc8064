"""What a model's code can do, found by trying: caches, and prefixes that branches share."""

from __future__ import annotations

import logging
import math
import random
import re
from typing import Any

import numpy as np

from tomeval.core.errors import TomevalError
from tomeval.models.base import Sampling
from tomeval.models.local.architecture import attention_kinds, supported, text_config
from tomeval.models.local.forward import PlainEngine
from tomeval.models.local.load import require
from tomeval.models.local.prefix import PrefixEngine
from tomeval.models.local.tasks import Decoding, LabelQuery, Task

logger = logging.getLogger(__name__)

TOLERANCE = 1e-4
"""Largest difference of log-probabilities in float32; narrower types are allowed their rounding."""

_NARROW_TOLERANCE, _NARROW_CACHE = 0.25, 1.0
_LONGEST_TRIAL, _WINDOW = 600, re.compile("window(_size)?$")
_FAULTS = (AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
"""What a model's code raises where it is run in a way that it was not written for."""


def settle(plain: PlainEngine) -> None:
    """Find out whether a model's cache gives what a prompt alone gives; else one line in the log.

    Raises `TomevalError` if the model does not even read a prompt alone.
    """
    try:
        with require("torch").inference_mode():
            _alone(plain, _tokens(plain, random.Random(0), 3))
    except _FAULTS as error:
        raise TomevalError(f"this model does not work on text alone: {_said(error)}") from error
    try:
        reason = _too_far(plain, cache_trial(plain), _NARROW_CACHE)
    except _FAULTS as error:
        reason = _said(error)
    if reason:
        plain.cached = False
        logger.warning("text is generated without a cache, which is slow: %s", reason)


def cache_trial(plain: PlainEngine) -> float:
    """Return the largest difference of log-probabilities between two texts and each alone.

    The second then goes on by a token from the cache, as texts do that are written.
    """
    torch, rng = require("torch"), random.Random(0)
    some = list(_tokens(plain, rng, 16))
    texts = [Decoding(_task(_tokens(plain, rng, 5), 1), None) for _ in range(2)]
    apart = []
    with torch.inference_mode():
        output = None
        for kept in ([0, 1], [1]):
            texts = [texts[number] for number in kept]
            output = plain.next(output, texts, kept)
            together = output.logits[:, -1].float().log_softmax(-1)[:, some]
            alone = torch.stack([_alone(plain, text.ids)[some] for text in texts])
            apart.append(float((together - alone).abs().max()))
            texts[-1].take(*_tokens(plain, rng, 1))
    return float(np.max(apart))  # also of what is no number


def prefix_engine(plain: PlainEngine, memory: int | None = None) -> PlainEngine | PrefixEngine:
    """Return an engine that reuses prefixes, or the plain one and a line in the log that says why.

    `memory` is as for `PrefixEngine`.
    """
    reason = supported(plain.model)
    if not reason:
        try:
            engine = PrefixEngine(plain, memory)
            reason = _too_far(plain, trial(engine, plain), _NARROW_TOLERANCE)
        except _FAULTS as error:
            reason = f"its code does not take branches of one: {_said(error)}"
        if not reason:
            if plain.switch < (plain.context or math.inf):
                logger.warning(
                    "prompts of more than %d tokens are encoded whole, as the model's rotary "
                    "factors change there",
                    plain.switch,
                )
            return engine
    logger.warning("prefixes are not reused; every prompt is encoded whole: %s", reason)
    return plain


def trial(engine: PrefixEngine, plain: PlainEngine) -> float:
    """Return the largest difference of log-probabilities over a short made-up play.

    Two episodes of different length, longer than the windows that the configuration names if those
    are short, with branches, a roll-back and a text in between; the caches are empty afterwards.
    """
    config = plain.model.config
    named = vars(text_config(config)).items()
    windows = [attention_kinds(config)[1], *(v for k, v in named if _WINDOW.search(k))]
    length = min(max(w for w in (0, *windows) if isinstance(w, int)) + 16, _LONGEST_TRIAL)
    if plain.context is not None:
        length = max(1, min(length, plain.context - 24))
    rng = random.Random(0)

    def tokens(count: int) -> tuple[int, ...]:
        return _tokens(plain, rng, count)

    chains = {"one": tokens(length), "two": tokens(max(1, length - 5))}
    apart: list[float] = []
    for _ in range(2):
        queries = [
            LabelQuery(chain + tokens(2), (tokens(1), tokens(2), tokens(3)), group=group)
            for group, chain in chains.items()
            for _ in range(2)
        ]
        for mine, other in zip(engine.score(queries), plain.score(queries), strict=True):
            pairs = zip(mine.logprobs, other.logprobs, strict=True)
            apart += [abs(a - b) for a, b in pairs]
        engine.generate([_task(chain + tokens(1), 2, group) for group, chain in chains.items()])
        chains = {group: chain + tokens(3) for group, chain in chains.items()}
    engine.cache.clear()
    engine.processed = 0
    return float(np.max(apart))  # also of what is no number


def _task(ids: tuple[int, ...], most: int, group: str = "") -> Task:
    return Task(ids, Sampling(max_tokens=most), 1, frozenset(), lambda _: False, group)


def _tokens(plain: PlainEngine, rng: random.Random, count: int) -> tuple[int, ...]:
    embedded = plain.model.get_input_embeddings().weight.shape[0]
    vocabulary = int(getattr(text_config(plain.model.config), "vocab_size", embedded))
    return tuple(rng.randrange(vocabulary) for _ in range(count))


def _alone(plain: PlainEngine, ids: tuple[int, ...]) -> Any:
    return plain.run([ids], use_cache=False).logits[0, -1].float().log_softmax(-1)


def _too_far(plain: PlainEngine, difference: float, narrow: float) -> str:
    wide = plain.model.dtype in (require("torch").float32, require("torch").float64)
    if difference <= (TOLERANCE if wide else narrow):
        return ""
    return f"log-probabilities differ by {difference:.2g} nats"


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0][:200]}"

"""Decide whether a model's prefixes can be reused: by its configuration, then by trying."""

from __future__ import annotations

import logging
import random

from tomeval.models.base import Sampling
from tomeval.models.local.forward import PlainEngine
from tomeval.models.local.labels import LabelQuery
from tomeval.models.local.load import require
from tomeval.models.local.prefix import PrefixEngine
from tomeval.models.local.tasks import Engine, Task
from tomeval.models.local.tree_forward import attention_kinds, supported

logger = logging.getLogger(__name__)

TOLERANCE = 1e-4
"""Largest difference of log-probabilities in float32; narrower types are allowed their rounding."""

_LONGEST_TRIAL = 600
_NARROW_TOLERANCE = 0.25


def prefix_engine(plain: PlainEngine, memory: int | None = None) -> Engine:
    """Return an engine that reuses prefixes, or the plain one and a line in the log that says why.

    `memory` is as for `PrefixEngine`.
    """
    reason = supported(plain.model)
    if not reason:
        engine = PrefixEngine(plain, memory)
        difference = trial(engine, plain)
        wide = plain.model.dtype in (require("torch").float32, require("torch").float64)
        if difference <= (TOLERANCE if wide else _NARROW_TOLERANCE):
            return engine
        reason = f"reused and plain log-probabilities differ by {difference:.2g} nats"
    logger.warning("prefixes are not reused, every prompt is encoded whole: %s", reason)
    return plain


def trial(engine: PrefixEngine, plain: PlainEngine) -> float:
    """Return the largest difference of log-probabilities over a short made-up play.

    Two episodes of different length, longer than the sliding window if that is short, with
    branches, a roll-back and a text in between; the caches are empty afterwards.
    """
    _, window = attention_kinds(plain.model.config)
    length = min((window or 0) + 16, _LONGEST_TRIAL)
    if plain.context is not None:
        length = max(1, min(length, plain.context - 24))
    rng = random.Random(0)
    vocabulary = int(plain.model.config.get_text_config().vocab_size)

    def tokens(count: int) -> tuple[int, ...]:
        return tuple(rng.randrange(vocabulary) for _ in range(count))

    chains = {"one": tokens(length), "two": tokens(max(1, length - 5))}
    worst = 0.0
    for _ in range(2):
        queries = [
            LabelQuery(chain + tokens(2), (tokens(1), tokens(2), tokens(3)), group=group)
            for group, chain in chains.items()
            for _ in range(2)
        ]
        for mine, other in zip(engine.score(queries), plain.score(queries), strict=True):
            pairs = zip(mine.logprobs, other.logprobs, strict=True)
            worst = max(worst, *(abs(a - b) for a, b in pairs))
        sampling = Sampling(temperature=1.0, max_tokens=2)
        engine.generate(
            [
                Task(chain + tokens(1), sampling, 1, frozenset(), lambda _: False, group)
                for group, chain in chains.items()
            ]
        )
        chains = {group: chain + tokens(3) for group, chain in chains.items()}
    engine.cache.clear()
    engine.processed = 0
    return worst

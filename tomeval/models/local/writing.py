"""Write texts token by token, side by side, off the chains that caches hold."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from tomeval.models.local.cache import SlotCache
from tomeval.models.local.tasks import Decoding, choose
from tomeval.models.local.tree import BoolArray, Part, TreeForward

_PACK_BELOW = 0.6  # go on with a copy of the rows that still write, once so few of them do


@dataclass
class Branch:
    """A text that is being written."""

    text: Decoding
    row: int  # index of its group in the batch
    seen: BoolArray  # which places of the row its next token sees, itself not counted


def write(
    forward: TreeForward,
    cache: SlotCache,
    slots: Any,
    lanes: list[list[int]],
    live: list[Branch],
    logits: Any,
    longest: float,
) -> int:
    """Write texts to their ends or beyond a length, without a trace in the chains.

    `lanes` hold the depth of what lies at each place of a row, `logits` those of the texts' first
    tokens, in order of rows. Returns how many tokens were run.
    """
    processed = 0
    while True:
        tokens = choose(
            logits,
            [branch.text.task.sampling for branch in live],
            [float(branch.text.source.random()) for branch in live],
        )
        live = [b for b, token in zip(live, tokens, strict=True) if not b.text.take(token)]
        live = [b for b in live if b.text.length <= longest]
        if not live:
            return processed
        needed = sorted({branch.row for branch in live})
        if len(needed) < _PACK_BELOW * len(lanes):
            cache, slots = cache.packed(slots, needed), slice(0, len(needed))
            lanes = [lanes[row] for row in needed]
            for branch in live:
                branch.row = needed.index(branch.row)
        # A row that has ended is fed padding.
        parts = [Part((), (), np.zeros((0, 1), dtype=bool), (0,)) for _ in lanes]
        for row, some in itertools.groupby(live, lambda branch: branch.row):
            parts[row] = _step(list(some), lanes[row])
        wanted = [(row, at) for row, part in enumerate(parts) for at in range(len(part.tokens))]
        logits = forward.run(cache, slots, parts, wanted)
        processed += len(live)


def _step(mine: list[Branch], lane: list[int]) -> Part:
    """Return the last tokens of the texts of one row."""
    size = len(lane)
    seen = np.zeros((len(mine), size + len(mine)), dtype=bool)
    for at, branch in enumerate(mine):
        seen[at, : len(branch.seen)] = branch.seen
        seen[at, size + at] = True
        branch.seen = seen[at]
    tokens = [branch.text.result.tokens[-1] for branch in mine]
    depths = [branch.text.length - 1 for branch in mine]
    part = Part(tokens, depths, seen, lane[:])
    lane += depths
    return part

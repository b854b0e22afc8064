"""Key-value caches of many prompts side by side, one row of a few buffers for each."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tomeval.models.local.load import require

SHARE_OF_FREE, LEAST, TIMES_MODEL = 0.4, 1 << 29, 8
"""Caches take at most this part of the free memory, and of a small model no more than the larger of
so many bytes and so many times its weights."""

_STEP = 256  # places by which rows grow

Branch = tuple[str, int]
"""A group of requests, and a number for each that is asked at once."""


@dataclass
class Chain:
    """Tokens whose keys and values lie in a row, from its start on."""

    row: int
    tokens: tuple[int, ...] = ()


class Cache:
    """Buffers of shape (rows, heads, places, size) for keys and values of each layer.

    They are made by the first pass and take at most `memory` bytes after it; one row is made even
    if it takes more. The last place of a row holds nothing of value: padding is written there.
    """

    def __init__(self, memory: int) -> None:
        self.memory = memory
        self.chains: dict[Branch, Chain] = {}  # the least recently used first
        self.buffers: dict[tuple[int, str], Any] = {}  # by layer, and keys or values
        self.rows = self.places = 0
        self._each = 0  # bytes of a place, once it is known

    def room(self, places: int) -> int:
        """Return how many rows of `places` fit into memory, at least 1."""
        self._each = self._each or sum(one[0, :, 0].nbytes for one in self.buffers.values())
        return max(1, self.memory // max(1, self._each * max(self.places, _rounded(places))))

    def claim(self, branches: Sequence[Branch], places: int) -> None:
        """Have chains for some branches, with room for `places` tokens each.

        Others are dropped, least recently used first, if memory is short.
        """
        most = self.room(places)
        others = [name for name in self.chains if name not in set(branches)]
        for name in others[: max(0, len(others) + len(branches) - most)]:
            del self.chains[name]
        count = len(self.chains | dict.fromkeys(branches))
        if count > self.rows or places > self.places:
            more = max(count, 2 * self.rows) if count > self.rows else count
            self._grow(min(most, more), max(self.places, _rounded(places)))
        taken = {chain.row for chain in self.chains.values()}
        free = [row for row in reversed(range(self.rows)) if row not in taken]
        for name in branches:
            chain = self.chains.pop(name) if name in self.chains else Chain(free.pop())
            self.chains[name] = chain

    def copy(self, source: Chain, target: Chain, count: int) -> None:
        """Give a chain the first tokens of another, already read."""
        for buffer in self.buffers.values():
            buffer[target.row, :, :count] = buffer[source.row, :, :count]
        target.tokens = source.tokens[:count]

    def write(
        self, layer: int, kind: str, states: Any, rows: Any, places: Any, window: Any, length: int
    ) -> Any:
        """Write new states, (B, heads, tokens, size); return what attention reads.

        That is `length` places of the rows of `window`, a slice or a tensor.
        """
        buffer = self.buffers.get((layer, kind))
        if buffer is None:
            # Zeros, not what memory holds: a masked place must not be NaN.
            shape = (self.rows, states.shape[1], self.places, states.shape[3])
            buffer = self.buffers[layer, kind] = states.new_zeros(shape)
        device = buffer.device
        buffer[rows.to(device), :, places.to(device)] = states.transpose(1, 2)
        return buffer[window, :, :length]

    def _grow(self, rows: int, places: int) -> None:
        """Make larger buffers and move the chains that stay."""
        chains = list(self.chains.values())
        self.rows = max(rows, len(chains))
        for key, old in self.buffers.items():
            new = old.new_zeros(self.rows, old.shape[1], places, old.shape[3])
            moved = require("torch").tensor([chain.row for chain in chains], device=old.device)
            new[: len(chains), :, : self.places] = old[moved.long()]
            self.buffers[key] = new
        for row, chain in enumerate(chains):
            chain.row = row
        self.places = places


def _rounded(places: int) -> int:
    return -(-places // _STEP) * _STEP


def usual_memory(model: Any) -> int:
    """Return the default limit of a model's caches, in bytes."""
    weights = sum(part.nbytes for part in model.parameters())
    device = model.get_input_embeddings().weight.device
    if device.type == "cuda":
        free = int(require("torch").cuda.mem_get_info(device)[0])
    elif hasattr(os, "sysconf") and "SC_AVPHYS_PAGES" in os.sysconf_names:
        free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    else:  # not told, as on macOS
        free = 4 << 30
    return int(min(SHARE_OF_FREE * free, max(LEAST, TIMES_MODEL * weights)))

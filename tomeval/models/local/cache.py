"""Key-value caches of many episodes side by side."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from tomeval.models.local.load import require

SHARE_OF_FREE, LEAST, TIMES_MODEL = 0.4, 1 << 29, 8
"""Caches take at most this part of the free memory, and of a small model no more than the larger of
so many bytes and so many times its weights."""

_LEAST_PLACES = 256


class Entry:
    """One cached chain."""

    def __init__(self, slot: int) -> None:
        self.slot = slot  # row of the buffers
        self.tokens: tuple[int, ...] = ()  # the chain; places beyond it hold nothing of value


class SlotCache:
    """Buffers of shape (slots, heads, places, size) per layer, and which group has which slot.

    `shapes` holds (heads, size, dtype, device) of every buffer: keys and values of each layer in
    turn. They take at most `memory` bytes; one slot is made even if it takes more.
    """

    def __init__(self, shapes: Sequence[tuple[int, int, Any, Any]], memory: int) -> None:
        self.shapes, self.memory = shapes, memory
        self.buffers: list[Any] = []
        self.slots = self.places = 0
        self._entries: dict[str, Entry] = {}  # least recently used first

    def room(self, places: int) -> int:
        """Return how many slots of `places` fit into memory, at least 1."""
        each = sum(heads * size * dtype.itemsize for heads, size, dtype, _ in self.shapes)
        return max(1, int(self.memory // (each * max(self.places, _rounded(places)))))

    def claim(self, groups: Sequence[str], places: int) -> list[Entry]:
        """Return the entries of some groups, with room for `places` tokens each.

        Entries of other groups are dropped, least recently used first, if memory is short.
        """
        most = self.room(places)
        others = [name for name in self._entries if name not in set(groups)]
        for name in others[: max(0, len(others) + len(groups) - most)]:
            del self._entries[name]
        count = len(self._entries | dict.fromkeys(groups))
        if count > self.slots or places > self.places:
            self._grow(min(most, max(count, 2 * self.slots if count > self.slots else 1)), places)
        taken = {entry.slot for entry in self._entries.values()}
        free = [slot for slot in reversed(range(self.slots)) if slot not in taken]
        for name in groups:
            entry = self._entries.pop(name) if name in self._entries else Entry(free.pop())
            self._entries[name] = entry
        return [self._entries[name] for name in groups]

    def get(self, group: str) -> tuple[int, ...]:
        """Return the tokens cached for a group."""
        entry = self._entries.get(group)
        return entry.tokens if entry else ()

    def entries(self) -> list[Entry]:
        """Return the entries of all groups."""
        return list(self._entries.values())

    def copy(self, source: Entry, target: Entry, count: int) -> None:
        """Give an entry the first tokens of another, already read."""
        for buffer in self.buffers:
            buffer[target.slot, :, :count] = buffer[source.slot, :, :count]
        target.tokens = source.tokens[:count]

    def forget(self, group: str) -> None:
        """Free a group's slot."""
        self._entries.pop(group, None)

    def packed(self, slots: Any, rows: Sequence[int]) -> SlotCache:
        """Return a copy that holds some rows of a window and nothing else."""
        torch = require("torch")
        chosen = torch.arange(self.slots)[slots][torch.tensor(rows)]
        copy = SlotCache(self.shapes, self.memory)
        copy.buffers = [buffer[chosen.to(buffer.device)] for buffer in self.buffers]
        copy.slots, copy.places = len(rows), self.places
        return copy

    def clear(self) -> None:
        """Free everything."""
        self._entries.clear()
        self.buffers = []
        self.slots = self.places = 0

    def _grow(self, slots: int, places: int) -> None:
        """Make larger buffers and move the entries that stay."""
        torch, places = require("torch"), max(self.places, _rounded(places))
        entries = self.entries()
        slots = max(slots, len(entries))
        for number, (heads, size, dtype, device) in enumerate(self.shapes):
            # Zeros, not what memory holds: a masked place must not be NaN.
            new = torch.zeros(slots, heads, places, size, dtype=dtype, device=device)
            if self.slots:
                old = self.buffers[number]
                moved = torch.tensor([entry.slot for entry in entries], device=device).long()
                new[: len(entries), :, : self.places] = old[moved]
                self.buffers[number] = new
            else:
                self.buffers.append(new)
        for slot, entry in enumerate(entries):
            entry.slot = slot
        self.slots, self.places = slots, places


def _rounded(places: int) -> int:
    """Round up by a third to a half at a time: fewer, larger steps would leave more unused."""
    step = _LEAST_PLACES
    while step * 3 < places:
        step *= 2
    return -(-places // step) * step


def usual_memory(model: Any) -> int:
    """Return the default limit of a model's caches, in bytes."""
    weights = sum(part.numel() * part.element_size() for part in model.parameters())
    free = free_memory(model.get_input_embeddings().weight.device)
    return int(min(SHARE_OF_FREE * free, max(LEAST, TIMES_MODEL * weights)))


def free_memory(device: Any) -> int:
    """Return the bytes free on a device."""
    torch = require("torch")
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return 4 << 30


class PassCache:
    """What a pass of a transformers model asks of a cache, positions and masks being given."""

    is_compileable = False
    layers = ()

    def get_seq_length(self, layer_idx: int = 0) -> int:
        """Return 0: positions are always given."""
        return 0

    def get_query_offset(self, layer_idx: int = 0) -> int:
        """Return 0, as `get_seq_length`."""
        return 0

    def get_mask_sizes(self, query_length: int, layer_idx: int = 0) -> tuple[int, int]:
        """Return the fed tokens: masks are always given, but for a single token."""
        return query_length, 0


class Probe(PassCache):
    """Keeps the shape of what every layer would write."""

    def __init__(self) -> None:
        self.shapes: dict[int, list[tuple[int, int, Any, Any]]] = {}

    def update(self, keys: Any, values: Any, layer_idx: int, *_: Any, **__: Any) -> tuple[Any, Any]:
        """Return what a layer writes."""
        self.shapes[layer_idx] = [
            (states.shape[1], states.shape[3], states.dtype, states.device)
            for states in (keys, values)
        ]
        return keys, values


class Window(PassCache):
    """Some slots of a cache, which a pass reads and writes.

    `slots` are rows, a slice or a tensor of shape (B,); a slice is read without copying. `places`,
    shape (B, q), are where each fed token's keys and values go. Attention reads `length` places.
    """

    def __init__(self, cache: SlotCache, slots: Any, places: Any, length: int) -> None:
        self._cache, self._slots, self._places, self._length = cache, slots, places, length
        every = require("torch").arange(cache.slots)
        self._rows = every[slots][:, None]

    def update(self, keys: Any, values: Any, layer_idx: int, *_: Any, **__: Any) -> tuple[Any, Any]:
        """Write the new tokens of a layer; return what attention reads."""
        result = []
        for number, states in ((2 * layer_idx, keys), (2 * layer_idx + 1, values)):
            buffer = self._cache.buffers[number]
            rows, places = self._rows.to(buffer.device), self._places.to(buffer.device)
            buffer[rows, :, places] = states.transpose(1, 2)
            result.append(buffer[self._slots, :, : self._length])
        return result[0], result[1]

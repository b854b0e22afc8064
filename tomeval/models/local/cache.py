"""Key-value caches of many episodes side by side: written in place, rolled back by a number."""

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

    `shapes` holds (heads, key size, value size) per layer, `devices` one device per layer. The
    buffers take at most `memory` bytes; one slot is made even if it takes more.
    """

    def __init__(
        self,
        shapes: Sequence[tuple[int, int, int]],
        dtype: Any,
        devices: Sequence[Any],
        memory: int,
    ) -> None:
        self._torch = require("torch")
        self.shapes, self.dtype, self.devices, self.memory = shapes, dtype, devices, memory
        item = self._torch.empty(0, dtype=dtype).element_size()
        self.bytes_per_place = item * sum(h * (k + v) for h, k, v in shapes)
        self.keys: list[Any] = []
        self.values: list[Any] = []
        self.slots = self.places = 0
        self._entries: dict[str, Entry] = {}  # least recently used first

    def room(self, places: int) -> int:
        """Return how many slots of `places` fit into memory, at least 1."""
        places = max(self.places, _rounded(places))
        return max(1, int(self.memory // (self.bytes_per_place * places)))

    def claim(self, groups: Sequence[str], places: int) -> list[Entry]:
        """Return the entries of some groups, with room for `places` tokens each.

        Entries of other groups are dropped, least recently used first, if memory is short.
        """
        wanted = set(groups)
        most = self.room(places)
        others = [name for name in self._entries if name not in wanted]
        drop = len(others) + len(wanted) - most
        for name in others[: max(0, drop)]:
            del self._entries[name]
        count = len(wanted | set(self._entries))
        if count > self.slots or places > self.places:
            self._grow(min(most, max(count, 2 * self.slots if count > self.slots else 1)), places)
        taken = {entry.slot for entry in self._entries.values()}
        free = iter(slot for slot in range(self.slots) if slot not in taken)
        result = []
        for name in groups:
            entry = self._entries.pop(name, None) or Entry(next(free))
            self._entries[name] = entry
            result.append(entry)
        return result

    def get(self, group: str) -> tuple[int, ...]:
        """Return the tokens cached for a group."""
        entry = self._entries.get(group)
        return entry.tokens if entry else ()

    def forget(self, group: str) -> None:
        """Free a group's slot."""
        self._entries.pop(group, None)

    def packed(self, slots: Any, rows: Sequence[int]) -> SlotCache:
        """Return a copy that holds some rows of a window and nothing else."""
        torch = self._torch
        chosen = torch.arange(self.slots)[slots][torch.tensor(rows)]
        copy = SlotCache(self.shapes, self.dtype, self.devices, self.memory)
        copy.keys = [buffer[chosen.to(buffer.device)] for buffer in self.keys]
        copy.values = [buffer[chosen.to(buffer.device)] for buffer in self.values]
        copy.slots, copy.places = len(rows), self.places
        return copy

    def clear(self) -> None:
        """Free everything."""
        self._entries.clear()
        self.keys, self.values = [], []
        self.slots = self.places = 0

    def _grow(self, slots: int, places: int) -> None:
        """Make larger buffers and move the entries that stay."""
        places = max(self.places, _rounded(places))
        entries = list(self._entries.values())
        slots = max(slots, len(entries))
        moved = self._torch.tensor([entry.slot for entry in entries], dtype=self._torch.long)
        for buffers, part in ((self.keys, 1), (self.values, 2)):
            for layer, shape in enumerate(self.shapes):
                device = self.devices[layer]
                # Zeros, not what memory holds: a masked place must not be NaN.
                new = self._torch.zeros(
                    slots, shape[0], places, shape[part], dtype=self.dtype, device=device
                )
                if self.slots:
                    old = buffers[layer]
                    new[: len(entries), :, : self.places] = old[moved.to(device)]
                    buffers[layer] = new
                else:
                    buffers.append(new)
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
    """Return the most bytes of a model's caches, where nobody says otherwise."""
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


def window_cache(cache: SlotCache, slots: Any, places: Any, length: int) -> Any:
    """Return a transformers cache that writes to, and reads from, some slots.

    `slots` are rows, a slice or a tensor of shape (B,); a slice is read without copying. `places`,
    shape (B, q), are where each fed token's keys and values go. Attention reads `length` places.
    """
    torch, utils = require("torch"), require("transformers").cache_utils
    rows = torch.arange(cache.slots)[slots] if isinstance(slots, slice) else slots

    class Layer(utils.CacheLayerMixin):  # type: ignore[misc, name-defined]
        """One layer's window."""

        is_sliding = False
        is_croppable = False

        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number
            self.is_initialized = True

        def lazy_initialization(self, key_states: Any, value_states: Any) -> None:
            """Do nothing: the buffers exist."""

        def update(self, key_states: Any, value_states: Any, *_: Any, **__: Any) -> tuple[Any, Any]:
            """Write the new tokens; return what attention reads."""
            result = []
            for buffers, states in ((cache.keys, key_states), (cache.values, value_states)):
                buffer = buffers[self.number]
                where = rows.to(buffer.device)[:, None], places.to(buffer.device)
                buffer[where[0], :, where[1]] = states.transpose(1, 2)
                part = buffer[slots] if isinstance(slots, slice) else None
                if part is None:
                    part = buffer[:, :, :length].index_select(0, slots.to(buffer.device))
                result.append(part[:, :, :length])
            return result[0], result[1]

        def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
            """Return what attention reads."""
            return length, 0

        def get_seq_length(self) -> int:
            """Return 0: positions are always given."""
            return 0

        def get_max_length(self) -> int:
            """Return -1: no maximum."""
            return -1

    return utils.Cache(layers=[Layer(number) for number in range(len(cache.shapes))])

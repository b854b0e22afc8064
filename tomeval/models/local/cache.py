"""Key-value caches of many episodes side by side, and the attention of passes over them."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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


_NAME = "tomeval_tree"


class TreeAttention:
    """The attention of one model while it runs trees; otherwise what it was. See `tree_attention`.

    `attentions` are modules, the last layer's last; `mlp` is the network behind that one.
    """

    def __init__(self, attentions: Sequence[Any], mlp: Any) -> None:
        self._width = 0  # of the tree; 0 outside of tree passes
        self._columns: Any = None  # those wanted, where they are not all
        self._last = attentions[-1].layer_idx
        registry = require("transformers").AttentionInterface
        registry.register(_NAME, _attend)
        self._usual = registry()["sdpa"]
        config = copy.copy(attentions[-1].config)
        config._attn_implementation = _NAME
        for attention in attentions:
            attention.config, attention.tomeval_tree = config, self
        mlp.register_forward_pre_hook(lambda _, inputs: (self._narrow(inputs[0], 1), *inputs[1:]))
        mlp.register_forward_hook(lambda _, inputs, output: self._widen(output))

    @contextmanager
    def only(self, columns: Sequence[int], width: int) -> Iterator[None]:
        """Compute some of `width` columns in the last layer; it adds nothing to the others."""
        self._width = width
        self._columns = require("torch").tensor(columns) if len(columns) < width else None
        try:
            yield
        finally:
            self._width, self._columns = 0, None

    def attend(
        self, module: Any, query: Any, key: Any, value: Any, mask: Any, options: dict[str, Any]
    ) -> tuple[Any, Any]:
        """Attend as ``sdpa`` does."""
        if not self._width or options.get("position_bias") is not None:
            return self._usual(module, query, key, value, mask, **options)  # type: ignore[no-any-return]
        last = module.layer_idx == self._last
        if last:
            query, mask = self._narrow(query, 2), self._narrow(mask, 2)
        rows, heads, width, _ = query.shape
        groups = heads // key.shape[1]
        attended = require("torch").nn.functional.scaled_dot_product_attention(
            query.reshape(rows, -1, groups * width, query.shape[-1]),
            key,
            value,
            attn_mask=mask.repeat(1, 1, groups, 1) if groups > 1 else mask,
            scale=options.get("scaling"),
        )
        output = attended.reshape(rows, heads, width, -1).transpose(1, 2).contiguous()
        return self._widen(output) if last else output, None

    def _narrow(self, states: Any, dimension: int) -> Any:
        """Return the wanted columns, which lie along `dimension`."""
        if self._columns is None:
            return states
        return states.index_select(dimension, self._columns.to(states.device))

    def _widen(self, states: Any) -> Any:
        """Put wanted columns, which lie along dimension 1, back between zeros."""
        if self._columns is None:
            return states
        wide = states.new_zeros((states.shape[0], self._width, *states.shape[2:]))
        return wide.index_copy_(1, self._columns.to(states.device), states)


def tree_attention(model: Any) -> TreeAttention | None:
    """Return a model's attention for trees, or None if the model is built differently.

    Its layers must hold a ``self_attn`` or ``attn`` that takes ``sdpa`` from transformers'
    registry, the last one also an ``mlp``.
    """
    by_layer = {
        module.layer_idx: (layer, module)
        for layer in model.modules()
        for name, module in layer.named_children()
        if name in ("self_attn", "attn") and isinstance(getattr(module, "layer_idx", None), int)
    }
    if len(by_layer) != model.config.get_text_config().num_hidden_layers:
        return None
    attentions = [module for _, (_, module) in sorted(by_layer.items())]
    configs = {id(getattr(module, "config", None)) for module in attentions}
    config = getattr(attentions[-1], "config", None)
    kind = getattr(config, "_attn_implementation", None)
    if kind == _NAME:  # another engine of the same model has made it
        known: TreeAttention = attentions[-1].tomeval_tree
        return known
    mlp = getattr(by_layer[max(by_layer)][0], "mlp", None)
    # Parts of a composed configuration would be set together with it.
    if mlp is None or kind != "sdpa" or len(configs) > 1 or getattr(config, "sub_configs", None):
        return None
    return TreeAttention(attentions, mlp)


def _attend(
    module: Any, query: Any, key: Any, value: Any, attention_mask: Any, **options: Any
) -> tuple[Any, Any]:
    """Attend as transformers' registry has it."""
    tree: TreeAttention = module.tomeval_tree
    return tree.attend(module, query, key, value, attention_mask, options)

"""Feed trees of tokens to a model: what caches lack of each episode, its questions as branches."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tomeval.core.prefixes import common_prefix
from tomeval.models.local.cache import SlotCache, tree_attention, window_cache
from tomeval.models.local.forward import Threads
from tomeval.models.local.load import require
from tomeval.models.local.tasks import Decoding

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


class Block:
    """The tokens to feed for one group of paths that share a cache.

    Every path is a full token sequence. What the cache holds of it stays; the rest hangs off the
    cached chain as branches, and paths share the nodes on which they agree. The first path that
    reuses most is inserted first, so that it goes on from the cached chain without a gap and
    becomes the new chain.

    `cached` is the chain of tokens in the cache, `paths` what to run, `first_wanted` per path the
    first depth whose logits are wanted: it must be fed even if it is cached.
    """

    def __init__(
        self, cached: tuple[int, ...], paths: Sequence[tuple[int, ...]], first_wanted: Sequence[int]
    ) -> None:
        starts = [
            min(common_prefix(cached, path), wanted)
            for path, wanted in zip(paths, first_wanted, strict=True)
        ]
        self.kept = max(starts)  # cached tokens that stay
        self.tokens: list[int] = []  # nodes to feed; a parent always stands before its children
        self.depths: list[int] = []  # position of each node in its path
        self.bases: list[int] = []  # how many cached tokens each node sees
        self._parents: list[int] = []
        self._starts = starts
        self._nodes: list[list[int]] = [[] for _ in paths]
        # What stands in the tree, by where it leaves the cached chain: tokens and their nodes.
        known: dict[int, list[tuple[tuple[int, ...], list[int]]]] = {}
        main = starts.index(self.kept)
        for number in (main, *(i for i in range(len(paths)) if i != main)):
            start = starts[number]
            tail = paths[number][start:]
            before = known.setdefault(start, [])
            self._nodes[number] = nodes = self._insert(tail, start, before)
            before.append((tail, nodes))
        self.chain = paths[main]  # what the cache holds as a chain afterwards
        self._chain_length = len(self._nodes[main])

    def _insert(
        self, tail: tuple[int, ...], start: int, before: list[tuple[tuple[int, ...], list[int]]]
    ) -> list[int]:
        """Add what a path has from `start` on; return its nodes, those it shares among them."""
        shared, nodes = 0, []
        for other, theirs in before:
            same = common_prefix(tail, other)
            if same > shared:
                shared, nodes = same, theirs[:same]
        first, new = len(self.tokens), len(tail) - shared
        added = range(first, first + new)
        self.tokens += tail[shared:]
        self.depths += range(start + shared, start + len(tail))
        self.bases += [start] * new
        if new:
            self._parents += [nodes[-1] if nodes else -1, *added[:-1]]
        return [*nodes, *added]

    def node(self, path: int, depth: int) -> int:
        """Return the node that holds the token of a path at a depth."""
        return self._nodes[path][depth - self._starts[path]]

    def visible(self) -> BoolArray:
        """Return which nodes each node sees, shape (nodes, nodes): its ancestors and itself."""
        size, chain = len(self.tokens), self._chain_length
        result = np.zeros((size, size), dtype=bool)
        result[:chain, :chain] = np.tri(chain, dtype=bool)
        for node in range(chain, size):
            parent = self._parents[node]
            if parent >= 0:
                result[node, : parent + 1] = result[parent, : parent + 1]
            result[node, node] = True
        return result

    def seen_by(self, path: int, visible: BoolArray) -> BoolArray:
        """Return which of (kept + nodes) cache places the next token of a path sees."""
        last = self._nodes[path][-1]
        cached = np.arange(self.kept) < self.bases[last]
        return np.concatenate([cached, visible[last]])


@dataclass
class Lane:
    """One row of a batch while its texts are written: the depth of the token at each place."""

    depths: list[int]

    @classmethod
    def of(cls, block: Block) -> Lane:
        """Return the lane of a block that has been fed."""
        return cls([*range(block.kept), *block.depths])


@dataclass
class Branch:
    """A text that is being written, off the chain of its group."""

    text: Decoding
    row: int  # index of its group in the batch
    seen: BoolArray  # which places of the row its next token sees, itself not counted
    depth: int  # position of its next token


@dataclass
class Logits:
    """Logits of some nodes of a batch of blocks; `columns` says where those of (row, node) are."""

    values: Any
    columns: dict[tuple[int, int], int]

    def at(self, nodes: Sequence[tuple[int, int]]) -> Any:
        """Return the logits of (row, node) pairs, shape (pairs, vocabulary)."""
        where = [(row, self.columns[row, node]) for row, node in nodes]
        picked = require("torch").tensor(where, device=self.values.device)
        return self.values[picked[:, 0], picked[:, 1]]

    def argmax(self, nodes: Sequence[tuple[int, int]]) -> list[int]:
        """Return the most probable tokens after (row, node) pairs."""
        result: list[int] = self.at(nodes).argmax(-1).tolist()
        return result

    def logprobs(self, wanted: Sequence[tuple[int, int, int]]) -> list[float]:
        """Return log-probabilities of (row, node, token) triples, in nats."""
        torch = require("torch")
        where = [(row, self.columns[row, node], token) for row, node, token in wanted]
        picked = torch.tensor(where, device=self.values.device)
        nodes, back = torch.unique(picked[:, :2], dim=0, return_inverse=True)
        values = self.values[nodes[:, 0], nodes[:, 1]]
        wide = torch.promote_types(values.dtype, torch.float32)
        table = torch.log_softmax(values.to(wide), -1)
        result: list[float] = table[back, picked[:, 2]].tolist()
        return result


class TreeForward:
    """Forward passes over slot caches, of a transformers causal model that `supported` admits."""

    def __init__(self, model: Any, threads: Threads) -> None:
        self._torch = require("torch")
        self._model, self._threads = model, threads
        self._known = set(inspect.signature(model.forward).parameters)
        self._embeddings = model.get_input_embeddings().weight
        self._kinds, self._window = attention_kinds(model.config)
        self._attention = tree_attention(model)

    def shapes(self) -> tuple[list[tuple[int, int, int]], Any, list[Any]]:
        """Return per layer (heads, key size, value size), the dtype, and per layer the device."""
        torch, utils = self._torch, require("transformers").cache_utils
        cache = utils.DynamicCache()
        with torch.inference_mode():
            ids = torch.zeros((1, 1), dtype=torch.long, device=self._embeddings.device)
            self._model(input_ids=ids, past_key_values=cache, use_cache=True)
        layers = [layer for layer in cache.layers if layer.keys is not None]
        shapes = [(x.keys.shape[1], x.keys.shape[3], x.values.shape[3]) for x in layers]
        return shapes, layers[0].keys.dtype, [layer.keys.device for layer in layers]

    def blocks(
        self, cache: SlotCache, slots: Any, blocks: Sequence[Block], wanted: Sequence[Sequence[int]]
    ) -> Logits:
        """Feed one block per slot; return the logits of the wanted nodes.

        Blocks end in the last column, so that few columns hold all wanted logits.
        """
        width = max(len(block.tokens) for block in blocks)
        length = max(block.kept + len(block.tokens) for block in blocks)
        arrays = _Arrays(len(blocks), width, length, cache.places - 1)
        for row, block in enumerate(blocks):
            left, end = width - len(block.tokens), block.kept + len(block.tokens)
            arrays.ids[row, left:] = block.tokens
            arrays.depths[row, left:] = block.depths
            arrays.places[row, left:] = np.arange(block.kept, end)
            cached = np.arange(block.kept)
            arrays.mask[row, left:] = False
            arrays.mask[row, left:, : block.kept] = cached < np.array(block.bases)[:, None]
            arrays.mask[row, left:, block.kept : end] = block.visible()
            arrays.seen[row, : block.kept] = cached
            arrays.seen[row, block.kept : end] = block.depths
        column_of = {
            (row, node): width - len(blocks[row].tokens) + node
            for row, nodes in enumerate(wanted)
            for node in nodes
        }
        columns = sorted(set(column_of.values()))
        values = self._run(cache, slots, arrays, columns)
        index = {column: i for i, column in enumerate(columns)}
        return Logits(values, {key: index[column] for key, column in column_of.items()})

    def step(
        self, cache: SlotCache, slots: Any, live: Sequence[Branch], lanes: Sequence[Lane]
    ) -> Any:
        """Feed the last token of every branch; return their logits, shape (live, vocabulary).

        Rows without a branch are fed a token that nobody reads.
        """
        by_row: dict[int, list[tuple[int, Branch]]] = {}
        for number, branch in enumerate(live):
            by_row.setdefault(branch.row, []).append((number, branch))
        width = max(map(len, by_row.values()))
        length = max(len(lane.depths) for lane in lanes) + width
        arrays = _Arrays(len(lanes), width, length, cache.places - 1)
        picked = np.zeros((len(live), 2), np.int64)
        for row, mine in by_row.items():
            depths = lanes[row].depths
            for column, (number, branch) in enumerate(mine):
                depth = len(depths)
                seen = np.zeros(depth + 1, dtype=bool)
                seen[: len(branch.seen)] = branch.seen
                seen[depth] = True
                branch.seen = seen
                depths.append(branch.depth)
                arrays.ids[row, column] = branch.text.result.tokens[-1]
                arrays.depths[row, column] = branch.depth
                arrays.places[row, column] = depth
                arrays.mask[row, column] = False
                arrays.mask[row, column, : depth + 1] = seen
                picked[number] = row, column
                branch.depth += 1
            if self._window is not None:
                arrays.seen[row, : len(depths)] = depths
        values = self._run(cache, slots, arrays, list(range(width)))
        where = self._torch.from_numpy(picked).to(values.device)
        return values[where[:, 0], where[:, 1]]

    def _run(self, cache: SlotCache, slots: Any, arrays: _Arrays, columns: list[int]) -> Any:
        """Run the model; return the logits of some columns, shape (rows, columns, vocabulary)."""
        torch, device = self._torch, self._embeddings.device
        options: dict[str, Any] = {"use_cache": True}
        keep = torch.tensor(columns, device=device)
        if "logits_to_keep" in self._known:
            options["logits_to_keep"] = keep
        places = torch.from_numpy(arrays.places)
        attention = self._attention
        only = attention.only(columns, arrays.ids.shape[1]) if attention else nullcontext()
        with only, self._threads.taking(arrays.ids.size):
            output = self._model(
                input_ids=torch.from_numpy(arrays.ids).to(device),
                position_ids=torch.from_numpy(arrays.depths).to(device),
                attention_mask=self._mask(arrays, device),
                past_key_values=window_cache(cache, slots, places, arrays.mask.shape[2]),
                **options,
            )
        logits = output.logits
        return logits if "logits_to_keep" in self._known else logits[:, keep.to(logits.device)]

    def _mask(self, arrays: _Arrays, device: Any) -> Any:
        """Return the attention mask, or one per kind of layer, shape (rows, 1, columns, places).

        Masks are additive: a boolean one would be turned into numbers again in every layer.
        """
        masks, dtype = {}, self._embeddings.dtype
        low = self._torch.finfo(dtype).min
        for kind in self._kinds:
            seen = arrays.mask
            if kind == "sliding_attention" and self._window is not None:
                near = arrays.depths[:, :, None] - arrays.seen[:, None, :] < self._window
                seen = seen & near
            hidden = self._torch.from_numpy(~seen)[:, None].to(device)
            mask = self._torch.zeros(hidden.shape, dtype=dtype, device=device)
            masks[kind] = mask.masked_fill_(hidden, low)
        return masks if len(masks) > 1 else next(iter(masks.values()))


class _Arrays:
    """What a forward pass is fed. Padding writes to a place nobody reads, and sees place 0."""

    def __init__(self, rows: int, width: int, length: int, spare: int) -> None:
        self.ids: IntArray = np.zeros((rows, width), np.int64)
        self.depths: IntArray = np.zeros((rows, width), np.int64)
        self.places: IntArray = np.full((rows, width), spare)
        self.mask: BoolArray = np.zeros((rows, width, length), dtype=bool)
        self.mask[:, :, 0] = True  # a token that sees nothing would become NaN
        self.seen: IntArray = np.zeros((rows, length), np.int64)  # depth of what lies at a place


def attention_kinds(config: Any) -> tuple[tuple[str, ...], int | None]:
    """Return the kinds of attention layers and the sliding window.

    Other kinds are returned as they are, see `odd_kinds`.
    """
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    window = getattr(text, "sliding_window", None)
    kinds = getattr(text, "layer_types", None)
    if kinds is None:
        kinds = ["sliding_attention"] if window else ["full_attention"]
    return tuple(sorted(set(kinds))), window


def odd_kinds(config: Any) -> list[str]:
    """Return the kinds of layers that are neither ``full_attention`` nor ``sliding_attention``."""
    kinds, _ = attention_kinds(config)
    return [kind for kind in kinds if kind not in ("full_attention", "sliding_attention")]


def supported(model: Any) -> str:
    """Return why a model's cache cannot be branched and rolled back, or an empty text."""
    kinds, window = attention_kinds(model.config)
    unknown = odd_kinds(model.config)
    if unknown or getattr(model, "_is_stateful", False):
        return f"its layers keep a state that cannot be rolled back ({', '.join(unknown)})"
    if "sliding_attention" in kinds and not isinstance(window, int):
        return "its sliding window is not stated"
    attention = getattr(model.config, "_attn_implementation", None)
    if attention not in ("sdpa", "eager"):
        return f"attention {attention!r} does not support tree masks"
    if "position_ids" not in inspect.signature(model.forward).parameters:
        return "it does not accept position_ids"
    return ""

"""Feed trees of tokens to a model: what caches lack of each episode, its questions as branches."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tomeval.core.prefixes import common_prefix
from tomeval.models.local.architecture import attention_kinds
from tomeval.models.local.cache import Probe, SlotCache, Window
from tomeval.models.local.load import require
from tomeval.models.local.threads import Threads

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


class Part(NamedTuple):
    """What one row of a batch is fed."""

    tokens: Sequence[int]
    depths: Sequence[int]  # position of each token in its path
    seen: BoolArray  # which places each of them sees: those behind and of the part itself
    behind: Sequence[int]  # depth of what lies at each place before the part


class Tree:
    """The tokens to feed for paths that share a cache.

    Every path is a full token sequence. What the cache holds of it stays; the rest hangs off the
    cached chain as branches, and paths share the nodes on which they agree. The first path that
    reuses most stands first: it goes on from the cached chain without a gap and becomes the new
    one.

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
        self.depths: list[int] = []
        self._parents: list[int] = []  # a node, or -1 and less: so many cached tokens less 1
        self._starts = starts
        self._nodes: list[list[int]] = [[] for _ in paths]
        main = starts.index(self.kept)
        self.chain = paths[main]  # what the cache holds as a chain afterwards
        known: dict[tuple[int, int], int] = {}
        for number in (main, *(i for i in range(len(paths)) if i != main)):
            node = -1 - starts[number]
            for depth in range(starts[number], len(paths[number])):
                node = self._child(known, node, paths[number][depth], depth)
                self._nodes[number].append(node)

    def _child(self, known: dict[tuple[int, int], int], parent: int, token: int, depth: int) -> int:
        node = known.setdefault((parent, token), len(self.tokens))
        if node == len(self.tokens):
            self.tokens.append(token)
            self.depths.append(depth)
            self._parents.append(parent)
        return node

    def node(self, path: int, depth: int) -> int:
        """Return the node that holds the token of a path at a depth."""
        return self._nodes[path][depth - self._starts[path]]

    @cached_property
    def part(self) -> Part:
        """What a row is fed: each node sees its ancestors and itself."""
        seen = np.zeros((len(self.tokens), self.kept + len(self.tokens)), dtype=bool)
        for node, parent in enumerate(self._parents):
            if parent < 0:
                seen[node, : -1 - parent] = True
            else:
                seen[node] = seen[parent]
            seen[node, self.kept + node] = True
        return Part(self.tokens, self.depths, seen, range(self.kept))


class TreeForward:
    """Forward passes over slot caches, of a transformers causal model that `supported` admits."""

    def __init__(self, model: Any, threads: Threads) -> None:
        self._model, self._threads = model, threads
        self._keeps = "logits_to_keep" in inspect.signature(model.forward).parameters
        self._embeddings = model.get_input_embeddings().weight
        self._kinds, self._window = attention_kinds(model.config)

    def shapes(self) -> list[tuple[int, int, Any, Any]]:
        """Return (heads, size, dtype, device) of keys and values of each layer."""
        torch, probe = require("torch"), Probe()
        with torch.inference_mode():
            ids = torch.zeros((1, 1), dtype=torch.long, device=self._embeddings.device)
            self._model(
                input_ids=ids, position_ids=ids.clone(), past_key_values=probe, use_cache=True
            )
        if sorted(probe.shapes) != list(range(len(probe.shapes))) or not probe.shapes:
            raise ValueError("not every layer keeps keys and values")
        return [shape for _, layer in sorted(probe.shapes.items()) for shape in layer]

    def run(
        self,
        cache: SlotCache,
        slots: Any,
        parts: Sequence[Part],
        wanted: Sequence[tuple[int, int]],
    ) -> Any:
        """Feed one part per slot; return the logits of (row, node) pairs, (pairs, vocabulary).

        Parts end in the last column, so that few columns hold all wanted logits.
        """
        torch, device = require("torch"), self._embeddings.device
        width = max(len(part.tokens) for part in parts)
        length = max(part.seen.shape[1] for part in parts)
        # Padding writes to a place nobody reads and sees place 0: what sees nothing would be NaN.
        ids, depths = np.zeros((2, len(parts), width), np.int64)
        places = np.full((len(parts), width), cache.places - 1)
        seen = np.zeros((len(parts), width, length), dtype=bool)
        seen[:, :, 0] = True
        lying = np.zeros((len(parts), length), np.int64)
        for row, part in enumerate(parts):
            left, end = width - len(part.tokens), part.seen.shape[1]
            ids[row, left:], depths[row, left:] = part.tokens, part.depths
            places[row, left:] = np.arange(end - len(part.tokens), end)
            seen[row, left:] = False
            seen[row, left:, :end] = part.seen
            if self._window is not None:
                lying[row, :end] = [*part.behind, *part.depths]
        where = [(row, width - len(parts[row].tokens) + node) for row, node in wanted]
        columns = sorted({column for _, column in where})
        keep = torch.tensor(columns, device=device)
        options = {"logits_to_keep": keep} if self._keeps else {}
        with self._threads.taking(ids.size):
            logits = self._model(
                input_ids=torch.from_numpy(ids).to(device),
                position_ids=torch.from_numpy(depths).to(device),
                attention_mask=self._mask(seen, depths, lying),
                past_key_values=Window(cache, slots, torch.from_numpy(places), length),
                use_cache=True,
                **options,
            ).logits
        at = {column: i if self._keeps else column for i, column in enumerate(columns)}
        return logits[[row for row, _ in where], [at[column] for _, column in where]]

    def _mask(self, seen: BoolArray, depths: IntArray, lying: IntArray) -> Any:
        """Return the attention mask, or one per kind of layer, shape (rows, 1, columns, places).

        Masks are additive: a boolean one would be turned into numbers again in every layer.
        """
        torch, weights = require("torch"), self._embeddings
        masks = {}
        for kind in self._kinds:
            sees = seen
            if kind == "sliding_attention" and self._window is not None:
                sees = seen & (depths[:, :, None] - lying[:, None, :] < self._window)
            hidden = torch.from_numpy(~sees)[:, None].to(weights.device)
            mask = torch.zeros(hidden.shape, dtype=weights.dtype, device=weights.device)
            masks[kind] = mask.masked_fill_(hidden, torch.finfo(weights.dtype).min)
        return masks if len(masks) > 1 else next(iter(masks.values()))

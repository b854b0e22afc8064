"""What one forward pass feeds of an episode: the tokens its cache lacks, as a tree of branches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tomeval.core.prefixes import common_prefix

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

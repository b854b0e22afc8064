"""Encode every token once: per episode a cache of what was read, its questions as branches."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tomeval.core.text import common_prefix
from tomeval.models.local.cache import Cache, Chain
from tomeval.models.local.load import require
from tomeval.models.local.tasks import AnyPath, Path, Text

if TYPE_CHECKING:
    from tomeval.models.local.engine import Engine

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

MAX_ROWS = 256
"""Episodes in one forward pass, at most."""

_SHARED = 32  # tokens that episodes must have in common to be worth a copy


class Tree:
    """The tokens to run for paths that share a cached chain, and for texts that go on from them.

    What the cache holds of a path stays; the rest hangs off the chain as branches, and paths share
    the nodes on which they agree. The one that reuses most stands first: it goes on from the chain
    without a gap and becomes the new one. A node lies at the place `kept` plus its number.
    """

    def __init__(self, cached: tuple[int, ...], paths: Sequence[Path]) -> None:
        for path in paths:
            path.start, path.nodes = min(common_prefix(cached, path.ids), path.first), []
        main = max(paths, key=lambda path: path.start)
        self.cached, self.kept = cached, main.start
        self.chain = main.ids  # what the cache holds as a chain afterwards
        self.tokens: list[int] = []
        self.depths: list[int] = [*range(self.kept)]  # of all places
        self._ran = 0  # nodes
        known: dict[tuple[int, int], int] = {}
        for path in (main, *(path for path in paths if path is not main)):
            node = -1 - path.start
            for token in path.ids[path.start :]:
                node = known.setdefault((node, token), len(self.tokens))
                self.add(path, node, token)

    def add(self, path: Path, node: int, token: int) -> None:
        """Hang a token off the end of a path; a known node is shared."""
        if node == len(self.tokens):
            self.tokens.append(token)
            self.depths.append(path.start + len(path.nodes))
        path.nodes.append(node)

    def take(self, paths: Sequence[Path]) -> tuple[int, BoolArray]:
        """Return the first node that was not taken yet, and which places it and later ones see."""
        ran, self._ran = self._ran, len(self.tokens)
        seen = np.zeros((self._ran - ran, len(self.depths)), dtype=bool)
        for path in paths:
            nodes = np.array(path.nodes)
            count = int(np.searchsorted(nodes, ran))  # of those taken before
            new = nodes[count:] - ran
            seen[new, : path.start] = True
            sees = np.tri(len(new), len(nodes), count, dtype=bool)
            seen[np.ix_(new, self.kept + nodes)] |= sees
        return ran, seen


class Pass:
    """What a pass of a transformers model asks of a cache, positions and masks being given."""

    is_compileable = False
    layers = ()

    def __init__(self, cache: Cache, window: Any, places: Any, length: int) -> None:
        rows = require("torch").arange(cache.rows)[window][:, None]
        self._cache, self._where = cache, (rows, places, window, length)

    def update(self, keys: Any, values: Any, layer_idx: int, *_: Any, **__: Any) -> tuple[Any, Any]:
        """Write the new tokens of a layer; return what attention reads."""
        written = (("keys", keys), ("values", values))
        keys, values = (self._cache.write(layer_idx, *one, *self._where) for one in written)
        return keys, values

    def get_seq_length(self, layer_idx: int = 0) -> int:
        """Return 0: positions are always given."""
        return 0

    get_query_offset = get_seq_length

    def get_mask_sizes(self, query_length: int, layer_idx: int = 0) -> tuple[int, int]:
        """Return the fed tokens: masks are always given, but for a single token."""
        return query_length, 0


class Prefixes:
    """Keeps a cache per group and runs only what it lacks; its branches share one forward pass.

    What the prompts of several groups begin with is read by one of them, and copied.

    Parameters
    ----------
    engine : Engine
        Its passes are used, and its most tokens of one.
    kinds : sequence of str
        Of the model's attention layers: ``full_attention``, ``sliding_attention`` or both.
    window : int or None
        How far sliding layers see.
    memory : int
        The most bytes of the caches.
    """

    def __init__(
        self, engine: Engine, kinds: Sequence[str], window: int | None, memory: int
    ) -> None:
        self._engine, self._kinds, self._window = engine, kinds, window
        self.cache = Cache(memory)
        self._trees: dict[str, Tree] = {}

    def batches(self, paths: Iterable[AnyPath]) -> Iterator[list[list[AnyPath]]]:
        """Yield paths by group, trees of similar size together, within tokens and memory."""
        self._trees.clear()
        groups: dict[str, list[AnyPath]] = {}
        for path in paths:
            groups.setdefault(path.group, []).append(path)
        batch: list[list[AnyPath]] = []
        widest = places = 0
        for group in sorted(groups.values(), key=lambda group: -len(self._tree(group).tokens)):
            places = max(places, self._places(group))
            widest = widest or len(self._tree(group).tokens)
            full = len(batch) >= min(MAX_ROWS, self.cache.room(places))
            if batch and (full or widest * (len(batch) + 1) > self._engine.batch_tokens):
                yield batch
                batch, widest, places = [], len(self._tree(group).tokens), self._places(group)
            batch.append(group)
        if batch:
            yield batch

    def read(self, batch: Sequence[Sequence[Path]]) -> Any:
        """Run what the caches lack of some groups; return the logits that their paths want."""
        places = max(map(self._places, batch))
        self.cache.claim([group[0].group for group in batch], places)
        passes: list[Any] = []
        while batch:
            ready, batch = self._split(batch)
            for group in ready:
                chain = self.cache.chains[group[0].group]
                source, count = (None, 0) if chain.tokens else self._nearest(group[0].ids)
                if source is not None and count >= _SHARED:
                    self.cache.copy(source, chain, count)
            for group in ready:
                group[0].fed += len(self._tree(group).tokens)
                self.cache.chains[group[0].group].tokens = ()  # until the new one is in place
            before = sum(map(len, passes))
            passes.append(self._pass(ready))
            for path in itertools.chain(*ready):
                path.rows = [before + row for row in path.rows]
                self.cache.chains[path.group].tokens = self._trees[path.group].chain
        return passes[0] if len(passes) == 1 else require("torch").cat(passes)

    def step(self, texts: Sequence[Text]) -> Any:
        """Run the last tokens of texts that were read; return the logits of the next ones."""
        groups: dict[str, list[Text]] = {}
        for text in texts:
            tree = self._trees[text.group]
            tree.add(text, len(tree.tokens), text.ids[-1])
            groups.setdefault(text.group, []).append(text)
        return self._pass(list(groups.values()))

    def forget(self, groups: Iterable[str]) -> None:
        """Forget what is kept for groups."""
        for group in groups:
            self.cache.chains.pop(group, None)

    def shrink(self) -> None:
        """Free everything, and take half of the memory from now on."""
        self._trees.clear()
        self.cache = Cache(self.cache.memory // 2)

    def slots(self) -> int | None:
        """Return how many groups have room in the caches, at the length that they have now."""
        return self.cache.room(1)

    def _tree(self, group: Sequence[Path]) -> Tree:
        """Return the tree of a group over what the cache holds of it."""
        name = group[0].group
        chain = self.cache.chains.get(name)
        cached = chain.tokens if chain else ()
        if name not in self._trees or self._trees[name].cached is not cached:
            self._trees[name] = Tree(cached, group)
        return self._trees[name]

    def _places(self, group: Sequence[Path]) -> int:
        """Return how many places a group needs, with one for padding."""
        return len(self._tree(group).depths) + sum(path.new for path in group) + 1

    def _split(self, batch: Sequence[Sequence[Path]]) -> tuple[list[Sequence[Path]], ...]:
        """Return the groups to read now, and those that begin like one of them, to copy that."""
        new = [group for group in batch if not self.cache.chains[group[0].group].tokens]
        new.sort(key=lambda group: group[0].ids)
        later = {
            group[0].group
            for before, group in itertools.pairwise(new)
            if common_prefix(before[0].ids, group[0].ids)
            >= self._nearest(group[0].ids)[1] + _SHARED
        }
        ready = [group for group in batch if group[0].group not in later]
        return ready, [group for group in batch if group[0].group in later]

    def _nearest(self, ids: tuple[int, ...]) -> tuple[Chain | None, int]:
        """Return which chain begins most like a path, and for how many tokens."""
        known = [chain for chain in self.cache.chains.values() if chain.tokens]
        lengths = [common_prefix(chain.tokens, ids) for chain in known]
        longest = max(lengths, default=0)
        return (known[lengths.index(longest)] if known else None), longest

    def _pass(self, groups: Sequence[Sequence[Path]]) -> Any:
        """Run what was not run yet of trees; return the logits of the paths' nodes.

        Rows side by side are read without a copy; those between them are fed padding. Parts end in
        the last column, so that few columns hold all wanted logits.
        """
        torch, device = require("torch"), self._engine.device
        chains, parts = self.cache.chains, {}
        for group in groups:
            tree = self._trees[group[0].group]
            parts[chains[group[0].group].row] = (tree, *tree.take(group))
        first, end = min(parts), max(parts) + 1
        dense = 2 * len(parts) > end - first
        order = list(range(first, end)) if dense else sorted(parts)
        window = slice(first, end) if dense else torch.tensor(order)
        width, length = (
            max(sizes) for sizes in zip(*(part[2].shape for part in parts.values()), strict=True)
        )
        # Padding writes to a place nobody reads and sees place 0: what sees nothing would be NaN.
        ids, depths = np.zeros((2, len(order), width), np.int64)
        places = np.full((len(order), width), self.cache.places - 1)
        sees = np.zeros((len(order), width, length), dtype=bool)
        sees[:, :, 0] = True
        lying = np.zeros((len(order), length), np.int64)
        for row, (tree, start, seen) in parts.items():
            at, left, start = order.index(row), width - len(seen), start + tree.kept
            ids[at, left:] = tree.tokens[start - tree.kept :]
            depths[at, left:] = tree.depths[start:]
            places[at, left:] = range(start, len(tree.depths))
            sees[at, left:] = False
            sees[at, left:, : seen.shape[1]] = seen
            lying[at, : len(tree.depths)] = tree.depths
        spots: dict[tuple[int, int], int] = {}  # row and column of wanted logits, in order
        for path in itertools.chain(*groups):
            row = chains[path.group].row
            tree, ran, _ = parts[row]
            at, shift = order.index(row), width - len(tree.tokens)
            wanted = path.nodes[path.first - path.start :]
            columns = [shift + node for node in wanted if node >= ran]
            path.rows = [spots.setdefault((at, column), len(spots)) for column in columns]
        columns = sorted({column for _, column in spots})
        keep = torch.tensor(columns, device=device)
        logits = self._engine.run(
            torch.from_numpy(ids).to(device),
            keep,
            position_ids=torch.from_numpy(depths).to(device),
            attention_mask=self._mask(sees, depths, lying),
            past_key_values=Pass(self.cache, window, torch.from_numpy(places), length),
            use_cache=True,
        ).logits
        if logits.shape[1] != len(columns):  # of a model that gives all
            logits = logits[:, keep]
        return logits[[at for at, _ in spots], [columns.index(column) for _, column in spots]]

    def _mask(self, sees: BoolArray, depths: IntArray, lying: IntArray) -> Any:
        """Return the attention mask, or one per kind of layer, shape (rows, 1, columns, places).

        Masks are additive: a boolean one would be turned into numbers again in every layer.
        """
        torch, masks = require("torch"), {}
        for kind in self._kinds:
            near = sees
            if kind == "sliding_attention" and self._window is not None:
                near = sees & (depths[:, :, None] - lying[:, None, :] < self._window)
            hidden = torch.from_numpy(~near)[:, None].to(self._engine.device)
            mask = torch.zeros(hidden.shape, dtype=self._engine.model.dtype, device=hidden.device)
            masks[kind] = mask.masked_fill_(hidden, torch.finfo(mask.dtype).min)
        return masks if len(masks) > 1 else next(iter(masks.values()))

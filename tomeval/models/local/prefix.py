"""Encode every token once: a cache for each question of an episode that is asked beside others."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tomeval.core.text import common_prefix
from tomeval.models.local.cache import Branch, Cache, Chain
from tomeval.models.local.load import require
from tomeval.models.local.tasks import AnyReading, Reading

if TYPE_CHECKING:
    from tomeval.models.local.engine import Engine

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

MAX_ROWS = 256
"""Readings in one forward pass, at most."""

_SHARED = 32  # tokens that prompts must have in common to be worth a copy
_PASS, _PADDED = 1024, 0.8  # tokens worth a pass, and how short others are that wait for the next


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
    """Keeps what was read, a row for each branch of a group, and runs only what rows lack.

    What prompts begin with that are new is read by one of them, and copied.

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
        self._branches = 1  # of one group, at most

    def batches(self, readings: Sequence[AnyReading]) -> Iterator[list[AnyReading]]:
        """Yield readings that lack a similar number of tokens, within tokens and memory."""
        counts = Counter[str]()
        for one in readings:
            one.branch = one.group, counts[one.group]
            counts[one.group] += 1
            chain = self.cache.chains.get(one.branch)
            one.start = common_prefix(chain.tokens, one.ids) if chain else 0
        self._branches = max(self._branches, *(n for group, n in counts.items() if group), 0)
        batch: list[AnyReading] = []
        widest = places = 0
        for one in sorted(readings, key=lambda one: one.start - one.end):
            places = max(places, _places(one))
            full = len(batch) >= min(MAX_ROWS, self.cache.room(places))
            full |= widest * len(batch) >= _PASS and one.end - one.start < _PADDED * widest
            if batch and (full or widest * (len(batch) + 1) > self._engine.batch_tokens):
                yield batch
                batch, places = [], _places(one)
            if not batch:
                widest = one.end - one.start
            batch.append(one)
        if batch:
            yield batch

    def read(self, batch: Sequence[Reading]) -> Any:
        """Run what the rows of some readings lack; return the logits that they want."""
        self.cache.claim([one.branch for one in batch], max(map(_places, batch)))
        found: dict[Branch, Any] = {}
        waiting = list(batch)
        while waiting:
            ready, waiting = self._split(waiting)
            for one in ready:
                chain = self.cache.chains[one.branch]
                source, count = (chain, 0) if chain.tokens else self._nearest(one.ids)
                if count >= _SHARED:
                    self.cache.copy(source, chain, count)
                one.start = min(common_prefix(chain.tokens, one.ids), one.first)
                one.fed += one.end - one.start
                chain.tokens = one.ids[: one.start]
            found |= self._pass(ready)
        return require("torch").cat([found[one.branch] for one in batch])

    def step(self, batch: Sequence[Reading]) -> Any:
        """Run the last tokens of readings that have grown; return the logits of the next ones."""
        return require("torch").cat([*self._pass(batch).values()])

    def forget(self, groups: Iterable[str]) -> None:
        """Forget what is kept for groups."""
        gone = set(groups)
        for branch in [branch for branch in self.cache.chains if branch[0] in gone]:
            del self.cache.chains[branch]

    def slots(self) -> int | None:
        """Return how many groups have room in the caches, at the length that they have now."""
        return self.cache.room(1) // self._branches

    def _split(self, batch: Sequence[Reading]) -> tuple[list[Reading], list[Reading]]:
        """Return what to read now, and what begins like one of those, to copy that."""
        new = [one for one in batch if not self.cache.chains[one.branch].tokens]
        new.sort(key=lambda one: one.ids)
        later = {
            one.branch
            for before, one in itertools.pairwise(new)
            if common_prefix(before.ids, one.ids) >= self._nearest(one.ids)[1] + _SHARED
        }
        ready = [one for one in batch if one.branch not in later]
        return ready, [one for one in batch if one.branch in later]

    def _nearest(self, ids: tuple[int, ...]) -> tuple[Chain, int]:
        """Return which chain begins most like a prompt, and for how many tokens."""
        known = list(self.cache.chains.values())
        lengths = [common_prefix(chain.tokens, ids) for chain in known]
        return known[lengths.index(max(lengths))], max(lengths)

    def _pass(self, batch: Sequence[Reading]) -> dict[Branch, Any]:
        """Run what is not cached of readings; return the logits that each wants.

        Rows side by side are read without a copy; those between them are fed padding. Tokens end in
        the last column, so that the last columns hold all wanted logits.
        """
        torch, device = require("torch"), self._engine.device
        rows = [self.cache.chains[one.branch].row for one in batch]
        first, end = min(rows), max(rows) + 1
        dense = 2 * len(batch) > end - first
        order = list(range(first, end)) if dense else sorted(rows)
        window = slice(first, end) if dense else torch.tensor(order)
        length = max(one.end for one in batch)
        width = max(one.end - one.start for one in batch)
        # Padding writes to a place nobody reads and sees place 0: what sees nothing would be NaN.
        ids, depths = np.zeros((2, len(order), width), np.int64)
        places = np.full((len(order), width), self.cache.places - 1)
        sees = np.zeros((len(order), width, length), dtype=bool)
        sees[:, :, 0] = True
        lying = np.tile(np.arange(length), (len(order), 1))  # depths of places
        at = [order.index(row) for row in rows]
        for row, one in zip(at, batch, strict=True):
            new, place = slice(width - one.end + one.start, width), len(one.ids)
            ids[row, new] = [*one.ids[one.start :], *itertools.chain(*one.tails)]
            places[row, new] = range(one.start, one.end)
            sees[row, new] = np.tri(one.end - one.start, length, one.start)
            for tail in one.tails:
                behind = place + len(tail)
                lying[row, place:behind] -= place - len(one.ids)
                own = slice(width - one.end + place, width - one.end + behind)
                sees[row, own, len(one.ids) : place] = False
                place = behind
            depths[row, new] = lying[row, one.start : one.end]
        keep = max(one.wanted for one in batch)
        logits = self._engine.run(
            torch.from_numpy(ids).to(device),
            keep,
            position_ids=torch.from_numpy(depths).to(device),
            attention_mask=self._mask(sees, depths, lying),
            past_key_values=Pass(self.cache, window, torch.from_numpy(places), length),
            use_cache=True,
        ).logits
        for one in batch:
            one.start = len(one.ids)
            self.cache.chains[one.branch].tokens = one.ids
        return {one.branch: logits[row, -one.wanted :] for row, one in zip(at, batch, strict=True)}

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


def _places(one: Reading) -> int:
    """Return how many places a reading needs, with one for padding."""
    return one.end + one.new + 1

"""Encode every token once: an engine that keeps, per episode, a cache of what it has read."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tomeval.models.local.cache import SlotCache, usual_memory
from tomeval.models.local.forward import PlainEngine, halving
from tomeval.models.local.load import require
from tomeval.models.local.tasks import (
    Decoding,
    Generated,
    LabelQuery,
    Row,
    Scored,
    Task,
    choose,
    rows,
)
from tomeval.models.local.tree import Block, Branch, Lane, TreeForward

MAX_ROWS = 256
"""Episodes in one forward pass, at most."""

_PACK_BELOW = 0.6  # decode on a copy of the rows that still write, once so few of them do


@dataclass
class Work:
    """What one group has to run: label rows and texts, and the block that holds them all."""

    group: str
    labels: list[Row] = field(default_factory=list)
    tasks: list[tuple[int, Task]] = field(default_factory=list)
    block: Block = field(init=False)  # made anew whenever the cache has changed
    cached: tuple[int, ...] | None = None  # the chain that it was made over

    def make_block(self, cached: tuple[int, ...]) -> Block:
        """Return the block of all paths over a cached chain."""
        if cached is self.cached:
            return self.block
        self.cached = cached
        tasks = [task.ids for _, task in self.tasks]
        paths = [*tasks, *(row.ids for row in self.labels)]
        wanted = [len(ids) - 1 for ids in tasks]
        wanted += [len(row.ids) - row.keep for row in self.labels]
        self.block = Block(cached, paths, wanted)
        return self.block

    def wanted(self) -> list[int]:
        """Return the nodes whose logits are needed, in order."""
        nodes = {self.block.node(i, len(task.ids) - 1) for i, (_, task) in enumerate(self.tasks)}
        for index, row in enumerate(self.labels, len(self.tasks)):
            first = len(row.ids) - row.keep
            nodes |= {self.block.node(index, depth) for depth in range(first, len(row.ids))}
        return sorted(nodes)

    def places(self) -> int:
        """Return how many places of a slot the block, the texts and one spare place take."""
        new = sum(task.sampling.max_tokens for _, task in self.tasks)
        return self.block.kept + len(self.block.tokens) + new + 1


class PrefixEngine:
    """Keeps a cache per group and feeds only what it lacks; branches share one forward pass.

    The limits of `plain` hold, an engine of the same model, which `tree.supported` admits.
    Caches take at most `memory` bytes; default: `usual_memory`.
    """

    def __init__(self, plain: PlainEngine, memory: int | None = None) -> None:
        self._torch = require("torch")
        self.plain = plain
        self._forward = TreeForward(plain.model, plain.threads)
        memory = usual_memory(plain.model) if memory is None else memory
        self.cache = SlotCache(*self._forward.shapes(), memory)
        self._alone = itertools.count()
        self.processed = 0  # tokens run so far

    def score(self, queries: Sequence[LabelQuery]) -> list[Scored]:
        """Score token sequences after prefixes; errors as for `PlainEngine.score`."""
        parts = [row for index, query in enumerate(queries) for row in rows(index, query)]
        self.plain.check([len(row.ids) for row in parts])
        far = sorted({row.query for row in parts if len(row.ids) > self.plain.switch})
        work: dict[str, Work] = {}
        for row in parts:
            if row.query in far:
                continue
            name = queries[row.query].group or f"alone {row.query} {next(self._alone)}"
            work.setdefault(name, Work(name)).labels.append(row)
        results: list[Any] = [None] * len(queries)
        for query, scored in zip(far, self.plain.score([queries[i] for i in far]), strict=True):
            results[query] = scored
        for batch in self._batches(list(work.values())):
            for query, logprobs, processed, argmax in halving(
                batch, self._score, self._shrink, "episode"
            ):
                old = results[query]
                if old is not None:  # rows of one query without a group ran apart
                    logprobs = [a + b for a, b in zip(old.logprobs, logprobs, strict=True)]
                    processed += old.processed
                results[query] = Scored(logprobs, processed, time.perf_counter(), argmax)
        return results

    def generate(self, tasks: Sequence[Task]) -> list[Generated]:
        """Generate texts; errors as for `PlainEngine.generate`."""
        self.plain.check([len(task.ids) + 1 for task in tasks])
        texts = [Decoding(task, self.plain.context) for task in tasks]
        work: dict[str, Work] = {}
        for index, task in enumerate(tasks):
            if len(task.ids) > self.plain.switch:
                continue
            name = task.group or f"alone {next(self._alone)}"
            work.setdefault(name, Work(name)).tasks.append((index, task))
        for batch in self._batches(list(work.values())):
            for index, text in self._halving(batch, self._generate):
                texts[index] = text
        self.plain.finish(texts)  # those that are or become longer than its `switch`
        return [text.result for text in texts]

    def slots(self) -> int:
        """Return how many groups have room in the caches, at the length that they have now."""
        return self.cache.room(1)

    def forget(self, groups: Iterable[str]) -> None:
        """Free the slots of groups that ask no more."""
        for group in groups:
            self.cache.forget(group)

    def _batches(self, work: list[Work]) -> Iterator[list[Work]]:
        """Yield groups with blocks of similar size, within the budgets of tokens and memory."""
        sized = []
        for item in work:
            block = item.make_block(self.cache.get(item.group))
            sized.append((len(block.tokens), item.places(), item))
        sized.sort(key=lambda triple: -triple[0])
        batch: list[Work] = []
        widest = places = 0
        for size, need, item in sized:
            places, widest = max(places, need), max(widest, size)
            full = len(batch) >= min(MAX_ROWS, self.cache.room(places))
            if batch and (full or widest * (len(batch) + 1) > self.plain.batch_tokens):
                yield batch
                batch, widest, places = [], size, need
            batch.append(item)
        if batch:
            yield batch

    def _halving(self, batch: list[Work], run: Callable[[list[Work]], list[Any]]) -> list[Any]:
        return halving(batch, run, self._shrink, "episode")

    def _shrink(self) -> None:
        self.cache.clear()
        self.cache.memory //= 2

    def _feed(self, batch: list[Work]) -> tuple[list[Work], Any, Any]:
        """Feed what the caches lack; return the groups in order of slots, the slots, the logits."""
        blocks = [item.make_block(self.cache.get(item.group)) for item in batch]
        places = max(item.places() for item in batch)
        entries = self.cache.claim([item.group for item in batch], places)
        order = sorted(range(len(batch)), key=lambda i: entries[i].slot)
        batch = [batch[i] for i in order]
        rows = [entries[i].slot for i in order]
        side_by_side = slice(rows[0], rows[-1] + 1)  # which is read without copying
        slots = side_by_side if rows[-1] - rows[0] < len(rows) else self._torch.tensor(rows)
        for entry in entries:
            entry.tokens = ()  # until the new chain is in place
        logits = self._forward.blocks(
            self.cache, slots, [item.block for item in batch], [item.wanted() for item in batch]
        )
        for entry, block in zip(entries, blocks, strict=True):
            entry.tokens = block.chain
            self.processed += len(block.tokens)
        return batch, slots, logits

    def _score(self, batch: list[Work]) -> list[tuple[int, list[float], int, int]]:
        """Return (query, log-probabilities, tokens run, likeliest next token) of a batch."""
        batch, _, logits = self._feed(batch)
        wanted = [
            (number, item.block.node(path, len(row.ids) - row.keep + step), token)
            for number, item in enumerate(batch)
            for path, row in enumerate(item.labels)
            for sequence in row.sequences
            for step, token in enumerate(sequence)
        ]
        values = iter(logits.logprobs(wanted))
        after = [
            (number, item.block.node(path, len(row.ids) - row.keep))
            for number, item in enumerate(batch)
            for path, row in enumerate(item.labels)
        ]
        likeliest = iter(logits.argmax(after))
        result = []
        for item in batch:
            by_query: dict[int, list[float]] = {}
            best: dict[int, int] = {}
            for row in item.labels:
                best[row.query] = next(likeliest)
                of_query = by_query.setdefault(row.query, [0.0] * row.of)
                for label, sequence in zip(row.labels, row.sequences, strict=True):
                    of_query[label] = sum(next(values) for _ in sequence)
            share = len(item.block.tokens)
            for query, logprobs in by_query.items():
                result.append((query, logprobs, share, best[query]))
                share = 0
            self._forget(item)
        return result

    def _generate(self, batch: list[Work]) -> list[tuple[int, Decoding]]:
        """Return (index, text) of a batch; one that passes the switch of `plain` is not ended."""
        batch, slots, logits = self._feed(batch)
        lanes = [Lane.of(item.block) for item in batch]
        branches, nodes, owners = [], [], []
        for number, item in enumerate(batch):
            visible = item.block.visible()
            for path, (index, task) in enumerate(item.tasks):
                text = Decoding(task, self.plain.context)
                seen = item.block.seen_by(path, visible)
                branches.append(Branch(text, number, seen, len(task.ids)))
                nodes.append((number, item.block.node(path, len(task.ids) - 1)))
                owners.append((index, text, item, number))
        self._write(branches, logits.at(nodes), slots, lanes)
        for item in batch:
            self._forget(item)
        result = []
        for index, text, item, _ in owners:
            text.result.processed = len(item.block.tokens) // len(item.tasks)
            result.append((index, text))
        return result

    def _write(self, branches: list[Branch], logits: Any, slots: Any, lanes: list[Lane]) -> None:
        """Write all texts side by side; what they write leaves no trace in the chains."""
        cache, live = self.cache, branches
        while True:
            tokens = choose(
                logits,
                [branch.text.task.sampling for branch in live],
                [float(branch.text.source.random()) for branch in live],
            )
            live = [b for b, token in zip(live, tokens, strict=True) if not b.text.take(token)]
            live = [b for b in live if b.text.length <= self.plain.switch]
            if not live:
                return
            needed = sorted({branch.row for branch in live})
            if len(needed) < _PACK_BELOW * len(lanes):
                cache, slots = cache.packed(slots, needed), slice(0, len(needed))
                lanes = [lanes[row] for row in needed]
                for branch in live:
                    branch.row = needed.index(branch.row)
            logits = self._forward.step(cache, slots, live, lanes)
            self.processed += len(live)

    def _forget(self, item: Work) -> None:
        """Free the slot of a request that belongs to no group."""
        if item.group.startswith("alone "):
            self.cache.forget(item.group)

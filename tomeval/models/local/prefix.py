"""Encode every token once: an engine that keeps, per episode, a cache of what it has read."""

from __future__ import annotations

import itertools
import time
from bisect import bisect
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from tomeval.core.prefixes import common_prefix
from tomeval.models.local.cache import Entry, SlotCache, usual_memory
from tomeval.models.local.forward import PlainEngine, halving, logprobs
from tomeval.models.local.load import require
from tomeval.models.local.tasks import Decoding, Generated, LabelQuery, Scored, Task
from tomeval.models.local.tree import Tree, TreeForward
from tomeval.models.local.writing import Branch, write

MAX_ROWS = 256
"""Episodes in one forward pass, at most."""

_SHARED = 32  # tokens that episodes must have in common to be worth a copy


@dataclass
class Work:
    """What one group has to run: the paths, each with the first depth that is wanted of it."""

    group: str
    asked: list[tuple[int, Any]] = field(default_factory=list)  # index and query or task
    paths: list[tuple[int, ...]] = field(default_factory=list)
    wanted: list[int] = field(default_factory=list)
    new: int = 0  # places that texts take
    read: int = 0  # tokens of it that were run for all
    _tree: tuple[tuple[int, ...], Tree] | None = None  # the last, and the chain it was made over

    def tree(self, cached: tuple[int, ...]) -> Tree:
        """Return the tree of all paths over a cached chain."""
        if self._tree is None or self._tree[0] is not cached:
            self._tree = cached, Tree(cached, self.paths, self.wanted)
        return self._tree[1]


class PrefixEngine:
    """Keeps a cache per group and feeds only what it lacks; branches share one forward pass.

    What the first prompts of several groups have in common is read once and copied.
    The limits of `plain` hold, an engine of the same model, which `supported` admits.
    Caches take at most `memory` bytes; default: `usual_memory`.
    """

    def __init__(self, plain: PlainEngine, memory: int | None = None) -> None:
        self.plain = plain
        self._forward = TreeForward(plain.model, plain.threads)
        memory = usual_memory(plain.model) if memory is None else memory
        self.cache = SlotCache(self._forward.shapes(), memory)
        self._alone = itertools.count()
        self.processed = 0  # tokens run so far

    def score(self, queries: Sequence[LabelQuery]) -> list[Scored]:
        """Score token sequences after prefixes; errors as for `PlainEngine.score`."""
        longest = [len(q.prefix) + max(map(len, q.sequences)) - 1 for q in queries]
        self.plain.check(longest)
        far = [i for i, length in enumerate(longest) if length > self.plain.switch]
        results: list[Any] = [None] * len(queries)
        for index, scored in zip(far, self.plain.score([queries[i] for i in far]), strict=True):
            results[index] = scored
        works: dict[str, Work] = {}
        for index, query in enumerate(queries):
            if results[index] is None:
                work = self._work(works, query.group)
                work.asked.append((index, query))
                work.paths += [query.prefix + sequence[:-1] for sequence in query.sequences]
                work.wanted += [len(query.prefix) - 1] * len(query.sequences)
        for index, scored in self._run(works, self._score):
            results[index] = scored
        return results

    def generate(self, tasks: Sequence[Task]) -> list[Generated]:
        """Generate texts; errors as for `PlainEngine.generate`."""
        self.plain.check([len(task.ids) + 1 for task in tasks])
        texts = [Decoding(task, self.plain.context) for task in tasks]
        works: dict[str, Work] = {}
        for index, task in enumerate(tasks):
            if len(task.ids) <= self.plain.switch:
                work = self._work(works, task.group)
                work.asked.append((index, task))
                work.paths.append(task.ids)
                work.wanted.append(len(task.ids) - 1)
                work.new += task.sampling.max_tokens
        for index, text in self._run(works, self._generate):
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

    def _work(self, works: dict[str, Work], group: str) -> Work:
        name = group or f"alone {next(self._alone)}"
        return works.setdefault(name, Work(name))

    def _run(self, works: dict[str, Work], run: Callable[[list[Work]], list[Any]]) -> Iterator[Any]:
        """Yield the results of batches; free the slots of requests that belong to no group."""
        for batch in self._batches(list(works.values())):
            yield from halving(batch, run, self._shrink, "episode")
            self.forget(work.group for work in batch if work.group.startswith("alone "))

    def _batches(self, works: list[Work]) -> Iterator[list[Work]]:
        """Yield groups with trees of similar size, within the budgets of tokens and memory."""
        sized = []
        for work in works:
            tree = work.tree(self.cache.get(work.group))
            sized.append((len(tree.tokens), tree.kept + len(tree.tokens) + work.new + 1, work))
        sized.sort(key=lambda triple: -triple[0])
        batch: list[Work] = []
        widest = places = 0
        for size, need, work in sized:
            places, widest = max(places, need), max(widest, size)
            full = len(batch) >= min(MAX_ROWS, self.cache.room(places))
            if batch and (full or widest * (len(batch) + 1) > self.plain.batch_tokens):
                yield batch
                batch, widest, places = [], size, need
            batch.append(work)
        if batch:
            yield batch

    def _shrink(self) -> None:
        self.cache.clear()
        self.cache.memory //= 2

    def _feed(
        self, batch: list[Work], wanted: Callable[[Work, Tree], list[int]]
    ) -> tuple[list[Work], list[Tree], Any, Any]:
        """Feed what the caches lack.

        Return the groups in order of slots, their trees, the slots, and the logits of their wanted
        nodes one after another.
        """
        trees = [work.tree(self.cache.get(work.group)) for work in batch]
        places = [
            tree.kept + len(tree.tokens) + work.new + 1
            for tree, work in zip(trees, batch, strict=True)
        ]
        entries = self.cache.claim([work.group for work in batch], max(places))
        self._share(batch, entries)
        rows = sorted(zip(batch, entries, strict=True), key=lambda pair: pair[1].slot)
        batch, entries = [work for work, _ in rows], [entry for _, entry in rows]
        trees = [work.tree(entry.tokens) for work, entry in rows]
        nodes = [wanted(work, tree) for work, tree in zip(batch, trees, strict=True)]
        slots, logits = self._put(entries, trees, nodes)
        return batch, trees, slots, logits

    def _put(self, entries: list[Entry], trees: list[Tree], nodes: list[list[int]]) -> Any:
        """Run trees, one for each entry, in order of slots; return the slots and the logits."""
        rows = [entry.slot for entry in entries]
        side_by_side = slice(rows[0], rows[-1] + 1)  # which is read without copying
        adjoin = rows[-1] - rows[0] < len(rows)
        slots = side_by_side if adjoin else require("torch").tensor(rows)
        for entry in entries:
            entry.tokens = ()  # until the new chain is in place
        pairs = [(row, node) for row, mine in enumerate(nodes) for node in mine]
        logits = self._forward.run(self.cache, slots, [tree.part for tree in trees], pairs)
        for entry, tree in zip(entries, trees, strict=True):
            entry.tokens = tree.chain
            self.processed += len(tree.tokens)
        return slots, logits

    def _share(self, batch: list[Work], entries: list[Entry]) -> None:
        """Give groups without a chain what their prompt has in common with others.

        Of those that begin alike the first in order of tokens reads it, before the others.
        """
        new = [pair for pair in zip(batch, entries, strict=True) if not pair[1].tokens]
        new.sort(key=lambda pair: pair[0].paths[0])
        paths = [work.paths[0] for work, _ in new]
        alike = [0, *(common_prefix(a, b) for a, b in itertools.pairwise(paths)), 0]
        chains = attrgetter("tokens")
        known = sorted((e for e in self.cache.entries() if e.tokens), key=chains)
        heads = []
        for place, (work, entry) in enumerate(new):
            count = alike[place + 1]
            _, held = _nearest(known, work.paths[0])
            if count >= max(alike[place], held) + _SHARED:
                heads.append((entry, Tree((), [work.paths[0][:count]], [count - 1])))
                work.read = count
        if heads:
            heads.sort(key=lambda pair: pair[0].slot)
            readers, trees = [entry for entry, _ in heads], [tree for _, tree in heads]
            self._put(readers, trees, [[len(tree.tokens) - 1] for tree in trees])
            known = sorted((*known, *readers), key=chains)
        for work, entry in new:
            source, held = _nearest(known, work.paths[0])
            if source is not None and not entry.tokens and held >= _SHARED:
                self.cache.copy(source, entry, held)

    def _score(self, batch: list[Work]) -> list[tuple[int, Scored]]:
        """Return (index, scores) of a batch."""
        torch = require("torch")
        spots: list[dict[int, int]] = []  # by node, its place among the wanted

        def wanted(work: Work, tree: Tree) -> list[int]:
            pairs = enumerate(zip(work.paths, work.wanted, strict=True))
            nodes = {
                tree.node(number, depth)
                for number, (path, first) in pairs
                for depth in range(first, len(path))
            }
            before = sum(map(len, spots))
            spots.append({node: before + place for place, node in enumerate(sorted(nodes))})
            return sorted(nodes)

        batch, trees, _, logits = self._feed(batch, wanted)
        table, likeliest = logprobs(logits), logits.argmax(-1).tolist()
        picked: list[tuple[int, int]] = []
        scored = []
        for work, tree, spot in zip(batch, trees, spots, strict=True):
            path, read = 0, work.read + len(tree.tokens)
            for index, query in work.asked:
                first = len(query.prefix) - 1
                argmax = likeliest[spot[tree.node(path, first)]]
                scored.append((index, query, Scored([], read, argmax, time.perf_counter())))
                read = 0
                for sequence in query.sequences:
                    picked += [
                        (spot[tree.node(path, first + step)], token)
                        for step, token in enumerate(sequence)
                    ]
                    path += 1
        where = torch.tensor(picked, device=table.device)
        values = iter(table[where[:, 0], where[:, 1]].tolist())
        for _, query, result in scored:
            result.logprobs = [sum(next(values) for _ in s) for s in query.sequences]
        return [(index, result) for index, _, result in scored]

    def _generate(self, batch: list[Work]) -> list[tuple[int, Decoding]]:
        """Return (index, text) of a batch; one that passes the switch of `plain` is not ended."""

        def wanted(work: Work, tree: Tree) -> list[int]:
            return [tree.node(path, first) for path, first in enumerate(work.wanted)]

        batch, trees, slots, logits = self._feed(batch, wanted)
        lanes, branches, result = [], [], []
        for row, (work, tree) in enumerate(zip(batch, trees, strict=True)):
            lanes.append([*range(tree.kept), *tree.depths])
            for (index, task), node in zip(work.asked, wanted(work, tree), strict=True):
                text = Decoding(task, self.plain.context)
                text.result.processed = (work.read + len(tree.tokens)) // len(work.asked)
                branches.append(Branch(text, row, tree.part.seen[node]))
                result.append((index, text))
        self.processed += write(
            self._forward, self.cache, slots, lanes, branches, logits, self.plain.switch
        )
        return result


def _nearest(known: list[Entry], path: tuple[int, ...]) -> tuple[Entry | None, int]:
    """Return which of some entries, in order of tokens, begins most like a path, and how long."""
    at = bisect(known, path, key=attrgetter("tokens"))
    beside = known[max(0, at - 1) : at + 1]
    lengths = [common_prefix(entry.tokens, path) for entry in beside]
    longest = max(lengths, default=0)
    return (beside[lengths.index(longest)] if beside else None), longest

"""Run a model over whole prompts, those of one length side by side."""

from __future__ import annotations

import inspect
import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from tomeval.models.base import BackendError, ContextExceeded
from tomeval.models.local.architecture import rope_switch
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
from tomeval.models.local.threads import Threads

Item = TypeVar("Item")
Result = TypeVar("Result")


class PlainEngine:
    """Encodes every prompt whole; a batch holds prompts of one length, so that nothing is padded.

    A batch of a transformers causal `model` has at most `batch_tokens` tokens, room for new ones
    counted; the number is halved when a device runs out of memory. `context` is the longest
    sequence that the model takes; `threads` are those of its passes.

    Attributes
    ----------
    cached : bool
        Whether a text goes on from the model's cache; else every token reads all before it.
    switch : float
        The longest sequence that is read with a model's short rotary factors: longer ones are read
        with others from their first token on, so no cache is used across. Mostly infinite.
    """

    def __init__(
        self, model: Any, batch_tokens: int, context: int | None, threads: Threads | None = None
    ) -> None:
        self.model, self.batch_tokens, self.context = model, batch_tokens, context
        self.threads = threads or Threads(model)
        self._asked = inspect.signature(model.forward).parameters
        self.cached = True
        self.switch = rope_switch(model.config)

    def score(self, queries: Sequence[LabelQuery]) -> list[Scored]:
        """Score token sequences after prefixes.

        Raises `ContextExceeded`, before anything is run, if a prompt is longer than the model's
        context, and `BackendError` when out of memory with a single prompt.
        """
        parts = [row for index, query in enumerate(queries) for row in rows(index, query)]
        self.check([len(row.ids) for row in parts])
        scored = [Scored([0.0] * len(query.sequences)) for query in queries]
        for batch in self._batches(parts, lambda row: len(row.ids), lambda row: len(row.ids)):
            values = self._halving(batch, self._score)
            for row, (numbers, likeliest) in zip(batch, values, strict=True):
                of = scored[row.query]
                of.argmax, of.processed = likeliest, of.processed + len(row.ids)
                of.finished = time.perf_counter()
                for label, value in zip(row.labels, numbers, strict=True):
                    of.logprobs[label] = value
        return scored

    def generate(self, tasks: Sequence[Task]) -> list[Generated]:
        """Generate texts, finished ones leaving their batch; errors as for `score`."""
        self.check([len(task.ids) + 1 for task in tasks])
        texts = [Decoding(task, self.context) for task in tasks]
        self.finish(texts)
        return [text.result for text in texts]

    def finish(self, texts: Sequence[Decoding]) -> None:
        """Write texts to their ends, anew from where they pass `switch`."""
        while live := [text for text in texts if not text.result.ended]:
            for batch in self._batches(
                live,
                lambda text: text.length,
                lambda text: len(text.task.ids) + text.task.sampling.max_tokens,
            ):
                self._halving(batch, self._write)

    def slots(self) -> None:
        """Return None: nothing is kept."""

    def forget(self, groups: Iterable[str]) -> None:
        """Do nothing: nothing is kept."""

    def check(self, lengths: Sequence[int]) -> None:
        """Raise if a sequence is longer than the model's context."""
        longest = max(lengths, default=0)
        if self.context is not None and longest > self.context:
            raise ContextExceeded(
                f"a prompt needs {longest:,} tokens; the model's context is {self.context:,}"
            )

    def run(self, ids: Sequence[Sequence[int]], keep: int = 1, length: int = 0, **more: Any) -> Any:
        """Run the model on rows of one length, given only what it needs.

        `length` counts the tokens of a row that a cache holds. Logits end with the `keep` last.
        """
        torch = require("torch")
        read = torch.tensor(ids, device=self.model.get_input_embeddings().weight.device)
        end = length + read.shape[1]
        places = torch.arange(length, end, device=read.device).expand(len(ids), -1)
        required = {
            "attention_mask": read.new_ones(len(ids), end),
            "position_ids": places,
        }
        options = {
            name: value
            for name, value in required.items()
            if name in self._asked and self._asked[name].default is inspect.Parameter.empty
        }
        if "logits_to_keep" in self._asked:
            options["logits_to_keep"] = keep
        with self.threads.taking(read.numel()):
            return self.model(input_ids=read, **options, **more)

    def next(self, output: Any, live: Sequence[Decoding], kept: Sequence[int]) -> Any:
        """Return the model's output after the last token of texts of one length.

        They are the rows `kept` of the last `output`; where it is None, or a cache cannot be gone
        on from, all of them is read.
        """
        cache = getattr(output, "past_key_values", None)
        if cache is None or not self.cached:
            return self.run([text.ids for text in live], use_cache=self.cached)
        cache.reorder_cache(require("torch").tensor(kept, device=output.logits.device))
        last = [text.result.tokens[-1:] for text in live]
        return self.run(last, 1, live[0].length - 1, past_key_values=cache, use_cache=True)

    def _batches(
        self, items: Sequence[Item], length: Callable[[Item], int], cost: Callable[[Item], int]
    ) -> Iterator[list[Item]]:
        """Yield the items in batches of one length within the token budget."""
        for _, same in itertools.groupby(sorted(items, key=length, reverse=True), length):
            batch: list[Item] = []
            for item in same:
                widest = max(map(cost, [*batch, item]))
                if batch and widest * (len(batch) + 1) > self.batch_tokens:
                    yield batch
                    batch = []
                batch.append(item)
            yield batch

    def _halving(
        self, items: list[Item], work: Callable[[list[Item]], list[Result]]
    ) -> list[Result]:
        return halving(items, work, self._shrink, "prompt")

    def _shrink(self) -> None:
        self.batch_tokens = max(1, self.batch_tokens // 2)

    def _score(self, batch: list[Row]) -> list[tuple[list[float], int]]:
        """Return per row the log-probabilities of its labels and the likeliest next token."""
        keep = max(row.keep for row in batch)
        logits = self.run([row.ids for row in batch], keep, use_cache=False).logits
        result = []
        for row, values in zip(batch, logits, strict=True):
            table = logprobs(values[-row.keep :])
            numbers = [
                float(table[range(len(sequence)), list(sequence)].sum())
                for sequence in row.sequences
            ]
            result.append((numbers, int(table[0].argmax())))
        return result

    def _write(self, texts: list[Decoding]) -> list[Decoding]:
        """Write texts of one length until they end or pass `switch`."""
        live = [text for text in texts if not text.result.ended]  # a second try may find some ended
        far = bool(live) and live[0].length > self.switch
        output, kept = None, list(range(len(live)))
        while live and (live[0].length > self.switch) == far:
            output = self.next(output, live, kept)
            tokens = choose(
                output.logits[:, -1],
                [text.task.sampling for text in live],
                [float(text.source.random()) for text in live],
            )
            kept = [i for i, token in enumerate(tokens) if not live[i].take(token)]
            live = [live[i] for i in kept]
        return texts


def logprobs(logits: Any) -> Any:
    """Return log-probabilities, at least in single precision."""
    torch = require("torch")
    return torch.log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32)), -1)


def halving(
    items: list[Item],
    work: Callable[[list[Item]], list[Result]],
    shrink: Callable[[], None],
    what: str,
) -> list[Result]:
    """Do the work, in halves after `shrink` where the device runs out of memory."""
    torch = require("torch")
    try:
        with torch.inference_mode():
            return work(items)
    except torch.OutOfMemoryError as error:
        if len(items) == 1:
            raise BackendError(f"out of memory with a single {what}: {error}") from error
    # Outside the handler, so that the failed attempt's tensors are free.
    shrink()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    middle = len(items) // 2
    first, second = items[:middle], items[middle:]
    return halving(first, work, shrink, what) + halving(second, work, shrink, what)

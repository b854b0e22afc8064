"""Run a model over token sequences in padded batches, every prompt whole."""

from __future__ import annotations

import inspect
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
    """Encodes every prompt whole, in batches sorted by length.

    A batch of a transformers causal `model` has at most `batch_tokens` tokens, padding and room for
    new tokens counted; the number is halved when a device runs out of memory. `context` is the
    longest sequence that the model takes; `threads` are those of its passes.

    Attributes
    ----------
    mixed : bool
        Whether a batch may hold prompts of different lengths, padded on the left.
    cached : bool
        Whether a text goes on from the model's cache; else every token reads all before it.
    switch : float
        The longest sequence that is read with a model's short rotary factors: longer ones are read
        with others from their first token on, so a batch lies on one side, and no cache is used
        across. Infinite for most models.
    """

    def __init__(
        self,
        model: Any,
        batch_tokens: int,
        context: int | None,
        threads: Threads | None = None,
    ) -> None:
        self._torch = require("torch")
        self.model = model
        self.batch_tokens = batch_tokens
        self.context = context
        self.threads = threads or Threads(model)
        self._known = set(inspect.signature(model.forward).parameters)
        # Recurrent state would run through padding: such models get batches of one length.
        self.mixed = not getattr(model, "_is_stateful", False)
        self.cached = True
        self.switch = rope_switch(model.config)

    def score(self, queries: Sequence[LabelQuery]) -> list[Scored]:
        """Score token sequences after prefixes.

        Raises `ContextExceeded`, before anything is run, if a prompt is longer than the model's
        context, and `BackendError` when out of memory with a single prompt.
        """
        parts = [row for index, query in enumerate(queries) for row in rows(index, query)]
        self.check([len(row.ids) for row in parts])
        logprobs = [[0.0] * len(query.sequences) for query in queries]
        processed, finished = [0] * len(queries), [0.0] * len(queries)
        argmax = [0] * len(queries)
        for batch in self._batches(parts, lambda row: len(row.ids), lambda row: len(row.ids)):
            values = self._halving(batch, self._score_batch)
            for row, (numbers, likeliest) in zip(batch, values, strict=True):
                argmax[row.query] = likeliest
                processed[row.query] += len(row.ids)
                finished[row.query] = time.perf_counter()
                for label, value in zip(row.labels, numbers, strict=True):
                    logprobs[row.query][label] = value
        parts_of_each = zip(logprobs, processed, finished, argmax, strict=True)
        return [Scored(*parts) for parts in parts_of_each]

    def generate(self, tasks: Sequence[Task]) -> list[Generated]:
        """Generate texts, finished ones leaving their batch; errors as for `score`."""
        self.check([len(task.ids) + 1 for task in tasks])
        texts = [Decoding(task, self.context) for task in tasks]
        self.finish(texts)
        return [text.result for text in texts]

    def finish(self, texts: Sequence[Decoding]) -> None:
        """Write texts to their ends, in a batch of its own from where one passes `switch`."""
        while live := [text for text in texts if not text.result.ended]:
            for batch in self._batches(
                live,
                lambda text: text.length,
                lambda text: len(text.task.ids) + text.task.sampling.max_tokens,
            ):
                self._halving(batch, self._decode_batch)

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

    def _batches(
        self, items: Sequence[Item], length: Callable[[Item], int], cost: Callable[[Item], int]
    ) -> Iterator[list[Item]]:
        """Yield the items in batches of similar length within the token budget."""
        batch: list[Item] = []
        widest = 0
        for item in sorted(items, key=length, reverse=True):
            wider = max(widest, cost(item))
            apart = batch and (
                (length(item) > self.switch) != (length(batch[0]) > self.switch)
                or (not self.mixed and length(item) != length(batch[0]))
            )
            if batch and (apart or wider * (len(batch) + 1) > self.batch_tokens):
                yield batch
                batch, wider = [], cost(item)
            batch.append(item)
            widest = wider
        if batch:
            yield batch

    def _halving(
        self, items: list[Item], work: Callable[[list[Item]], list[Result]]
    ) -> list[Result]:
        return halving(items, work, self._shrink, "prompt")

    def _shrink(self) -> None:
        self.batch_tokens = max(1, self.batch_tokens // 2)

    def _score_batch(self, batch: list[Row]) -> list[tuple[list[float], int]]:
        """Return per row the log-probabilities of its labels and the likeliest next token."""
        torch = self._torch
        keep = max(row.keep for row in batch)
        ids, mask = self._pad([row.ids for row in batch])
        logits = self._forward(ids, mask, keep, use_cache=False).logits[:, -keep:]
        logprobs = torch.log_softmax(
            logits.to(torch.promote_types(logits.dtype, torch.float32)), -1
        )
        wanted = [
            (index, keep - row.keep + step, token)
            for index, row in enumerate(batch)
            for sequence in row.sequences
            for step, token in enumerate(sequence)
        ]
        where = torch.tensor(wanted, device=logprobs.device)
        values = iter(logprobs[where[:, 0], where[:, 1], where[:, 2]].tolist())
        rows = torch.arange(len(batch), device=logprobs.device)
        after = torch.tensor([keep - row.keep for row in batch], device=logprobs.device)
        likeliest = logprobs[rows, after].argmax(-1).tolist()
        return [
            ([sum(next(values) for _ in sequence) for sequence in row.sequences], best)
            for row, best in zip(batch, likeliest, strict=True)
        ]

    def _decode_batch(self, texts: list[Decoding]) -> list[Decoding]:
        """Write texts until they end or pass `switch`."""
        live = [text for text in texts if not text.result.ended]  # a second try may find some ended
        beyond = min((text.length for text in live), default=0) > self.switch
        live = [text for text in live if beyond or text.length <= self.switch]
        output: Any = None
        mask: Any = None
        if live:
            output, mask = self.begin(live)
        while live:
            tokens = choose(
                output.logits[:, -1],
                [row.task.sampling for row in live],
                [float(row.source.random()) for row in live],
            )
            kept = [i for i, token in enumerate(tokens) if not live[i].take(token)]
            kept = [i for i in kept if beyond or live[i].length <= self.switch]
            index = self._torch.tensor(kept, device=mask.device) if len(kept) < len(live) else None
            live = [live[i] for i in kept]
            if live:
                output, mask = self.next(output, mask, live, index)
        return texts

    def begin(self, texts: Sequence[Decoding]) -> tuple[Any, Any]:
        """Read all of some texts; return the model's output and the mask."""
        ids, mask = self._pad([text.ids for text in texts])
        return self._forward(ids, mask, 1), mask

    def next(self, output: Any, mask: Any, live: Sequence[Decoding], kept: Any) -> tuple[Any, Any]:
        """Run the last token of every live row; `kept`, where given, are the rows that go on."""
        torch = self._torch
        cache = getattr(output, "past_key_values", None)
        if cache is None or not self.cached:
            return self.begin(live)
        if kept is not None:
            cache.reorder_cache(kept)
            mask = mask[kept]
        mask = torch.cat([mask, mask.new_ones(len(live), 1)], -1)
        ids = torch.tensor([row.result.tokens[-1:] for row in live], device=mask.device)
        return self._forward(ids, mask, 1, past_key_values=cache), mask

    def _pad(self, rows: Sequence[Sequence[int]]) -> tuple[Any, Any]:
        """Return ids and mask, shape (rows, longest), padded on the left.

        So the last tokens stand in one column, and few columns of logits are needed.
        """
        torch = self._torch
        width = max(map(len, rows))
        device = self.model.get_input_embeddings().weight.device
        ids = torch.tensor([[0] * (width - len(row)) + list(row) for row in rows], device=device)
        mask = torch.tensor(
            [[0] * (width - len(row)) + [1] * len(row) for row in rows], device=device
        )
        return ids, mask

    def _forward(self, ids: Any, mask: Any, keep: int, **more: Any) -> Any:
        """Run the model on the last columns of the mask; padding has no position of its own."""
        options: dict[str, Any] = {"use_cache": self.cached, **more}
        if (
            "position_ids" in self._known and self.mixed
        ):  # else the model's own, whose first may be 2
            options["position_ids"] = (mask.cumsum(-1) - 1).clamp(min=0)[:, -ids.shape[1] :]
        if "logits_to_keep" in self._known:
            options["logits_to_keep"] = keep
        with self.threads.taking(ids.numel()):
            return self.model(input_ids=ids, attention_mask=mask, **options)


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

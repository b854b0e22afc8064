"""Run a local model: score labels and write texts, by whole prompts or by shared prefixes."""

from __future__ import annotations

import inspect
import itertools
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tomeval.models.base import BackendError, ContextExceeded
from tomeval.models.local.load import require
from tomeval.models.local.prefix import Prefixes
from tomeval.models.local.tasks import (
    ALONE,
    AnyPath,
    Context,
    LabelQuery,
    Path,
    Scored,
    Text,
    choose,
)

SMALL = 10**8
"""Parameters below which a pass on a CPU takes one thread: others mostly wait for the first."""


class Engine:
    """Scores labels and writes texts with a transformers causal model.

    Parameters
    ----------
    model : transformers.PreTrainedModel
        The model, or one with its interface.
    batch_tokens : int
        The most tokens of a pass, where prompts are not read whole.
    context : int, optional
        The longest sequence that the model takes.
    switch : float
        The longest sequence that is read with a model's short rotary factors: longer ones are read
        with others from their first token on, so that no cache holds across it.

    Attributes
    ----------
    whole : Whole
        Reads every prompt whole.
    reader : Whole or Prefixes
        Reads prompts that are no longer than `switch`.
    """

    def __init__(
        self, model: Any, batch_tokens: int, context: int | None, switch: float = math.inf
    ) -> None:
        self.model, self.context, self.switch = model, context, switch
        small = sum(weights.numel() for weights in model.parameters()) < SMALL
        free = model.device.type == "cpu" and "OMP_NUM_THREADS" not in os.environ
        self._threads = 1 if small and free else None
        self._keeps = "logits_to_keep" in inspect.signature(model.forward).parameters
        self.device = model.get_input_embeddings().weight.device
        self.batch_tokens, self.whole = batch_tokens, Whole(self)
        self.reader: Whole | Prefixes = self.whole

    def score(self, queries: Sequence[LabelQuery]) -> list[Scored]:
        """Score token sequences after prefixes.

        Raises `ContextExceeded`, before anything is run, if a prompt is longer than the model's
        context, and `BackendError` when out of memory with a single prompt.
        """
        scored = [Scored([0.0] * len(query.sequences)) for query in queries]
        paths = [
            Context(number, query, tokens)
            for number, query in enumerate(queries)
            for tokens in dict.fromkeys(sequence[:-1] for sequence in query.sequences)
        ]

        def work(reader: Whole | Prefixes, batch: list[list[Context]]) -> None:
            logits = reader.read(batch)
            contexts = list(itertools.chain(*batch))
            pairs = [
                pair
                for path in contexts
                for _, sequence in path.labels
                for pair in zip(path.rows, sequence, strict=True)
            ]
            rows, tokens = map(list, zip(*pairs, strict=True))
            values = iter(logprobs(logits)[rows, tokens].tolist())
            likeliest = logits.argmax(-1).tolist()
            for path in contexts:
                one = scored[path.query]
                one.argmax, one.finished = likeliest[path.rows[0]], time.perf_counter()
                one.processed += path.fed
                for label, sequence in path.labels:
                    one.logprobs[label] = sum(next(values) for _ in sequence)

        self._each(paths, work)
        return scored

    def write(self, texts: Sequence[Text]) -> None:
        """Write texts to their ends; errors as for `score`."""

        def work(reader: Whole | Prefixes, batch: list[list[Text]]) -> None:
            # A second try, after memory ran out, may find some ended.
            groups = [[text for text in group if not text.ended] for group in batch]
            live = list(itertools.chain(*groups))
            logits: Any = reader.read(list(filter(None, groups))) if live else None
            while live:
                tokens = choose(
                    logits[[text.rows[-1] for text in live]],
                    [text.sampling for text in live],
                    [float(text.uniforms.random()) for text in live],
                )
                live = [t for t, token in zip(live, tokens, strict=True) if not t.take(token)]
                logits = reader.step(live) if live else None

        self._each(texts, work, 1)

    def run(self, ids: Any, keep: Any, **options: Any) -> Any:
        """Run the model on rows of one length; logits are kept at the `keep` last, or of some."""
        if self._keeps:
            options["logits_to_keep"] = keep
        return self.model(input_ids=ids, **options)

    def _each(
        self,
        paths: Sequence[AnyPath],
        work: Callable[[Whole | Prefixes, list[list[AnyPath]]], None],
        more: int = 0,
    ) -> None:
        """Do the work on batches of paths, for each of which `more` tokens need room."""
        longest = max((len(path.ids) + more for path in paths), default=0)
        if self.context is not None and longest > self.context:
            raise ContextExceeded(
                f"a prompt needs {longest:,} tokens; the model's context is {self.context:,}"
            )
        far = [path for path in paths if len(path.ids) + path.new > self.switch]
        near = [path for path in paths if len(path.ids) + path.new <= self.switch]
        with self.running():
            for reader, some in ((self.whole, far), (self.reader, near)):
                for batch in reader.batches(some):
                    _halve(reader, batch, work)
                    names = (group[0].group for group in batch)
                    reader.forget(name for name in names if name.startswith(ALONE))

    @contextmanager
    def running(self) -> Iterator[None]:
        """Have torch keep no gradients, and take the threads of this model."""
        torch = require("torch")
        before = torch.get_num_threads()
        torch.set_num_threads(self._threads or before)
        try:
            with torch.inference_mode():
                yield
        finally:
            torch.set_num_threads(before)


def logprobs(logits: Any) -> Any:
    """Return log-probabilities, at least in single precision."""
    torch = require("torch")
    return torch.log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32)), -1)


def _halve(reader: Any, batch: Any, work: Callable[[Any, Any], None]) -> None:
    """Do the work on a batch, in halves where the device runs out of memory."""
    torch = require("torch")
    try:
        return work(reader, batch)
    except torch.OutOfMemoryError as error:
        if len(batch) == 1:
            raise BackendError(f"out of memory with a single prompt: {error}") from error
    # Outside the handler, so that the failed attempt's tensors are free.
    reader.shrink()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    _halve(reader, batch[: len(batch) // 2], work)
    _halve(reader, batch[len(batch) // 2 :], work)


class Whole:
    """Reads every text whole and for itself.

    Attributes
    ----------
    cached : bool
        Whether a text that is written goes on from the model's cache; else every token reads all
        before it.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine, self.cached = engine, True
        self._past: Any = None  # the model's cache of what was run last

    def batches(self, paths: Iterable[AnyPath]) -> Iterator[list[list[AnyPath]]]:
        """Yield one path after the other, each as a group of its own."""
        return ([[path]] for path in paths)

    def read(self, batch: Sequence[Sequence[Path]]) -> Any:
        """Run a path; return the logits that it wants."""
        [[path]] = batch
        length, switch = len(path.ids), self._engine.switch
        # Beyond the switch all tokens turn by other factors: no cache holds across it.
        goes_on = self.cached and path.new > 0 and not length <= switch < length + path.new
        keep = length - path.first
        ids = require("torch").tensor([path.ids], device=self._engine.device)
        output = self._engine.run(ids, keep, use_cache=goes_on)
        self._past = getattr(output, "past_key_values", None) if goes_on else None
        path.fed, path.rows = path.fed or length, [*range(keep)]
        return output.logits[0, -keep:]

    def step(self, texts: Sequence[Text]) -> Any:
        """Run the last token of the text that was read; return the logits of the next one."""
        if self._past is None:
            return self.read([texts])
        [text] = texts
        last = require("torch").tensor([text.ids[-1:]], device=self._engine.device)
        output = self._engine.run(last, 1, past_key_values=self._past, use_cache=True)
        text.rows = [0]
        return output.logits[:, -1]

    def slots(self) -> int | None:
        """Return None: nothing is kept."""
        return None

    def forget(self, groups: Iterable[str]) -> None:
        """Do nothing: nothing is kept."""

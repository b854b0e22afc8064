"""Run a local model: score labels and write texts, by whole prompts or by shared prefixes."""

from __future__ import annotations

import inspect
import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tomeval.core.errors import TomevalError
from tomeval.models.base import ContextExceeded
from tomeval.models.local.load import require
from tomeval.models.local.prefix import Prefixes
from tomeval.models.local.tasks import (
    AnyReading,
    LabelQuery,
    Reading,
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

    Attributes
    ----------
    reader : Whole or Prefixes
        Reads prompts.
    """

    def __init__(self, model: Any, batch_tokens: int, context: int | None) -> None:
        self.model, self.context = model, context
        small = sum(weights.numel() for weights in model.parameters()) < SMALL
        free = model.device.type == "cpu" and "OMP_NUM_THREADS" not in os.environ
        self._threads = 1 if small and free else None
        self._keeps = "logits_to_keep" in inspect.signature(model.forward).parameters
        self.device = model.get_input_embeddings().weight.device
        self.batch_tokens = batch_tokens
        self.reader: Whole | Prefixes = Whole(self)

    def score(self, queries: Sequence[LabelQuery]) -> list[Scored]:
        """Score token sequences after prefixes.

        Raises `ContextExceeded`, before anything is run, if a prompt is longer than the model's
        context, and `TomevalError` when out of memory.
        """
        scored = [Scored(query) for query in queries]

        def work(batch: list[Scored]) -> None:
            logits, at = self.reader.read(batch), 0
            likeliest = logits.argmax(-1).tolist()
            rows: list[int] = []
            for one in batch:
                one.argmax = likeliest[at]
                rows += (at + row for row in itertools.chain(*one.rows))
                at += one.wanted
            tokens = [token for one in batch for token in itertools.chain(*one.sequences)]
            values = iter(logprobs(logits)[rows, tokens].tolist())
            for one in batch:
                one.logprobs = [sum(next(values) for _ in ids) for ids in one.sequences]

        self._each(scored, work)
        return scored

    def write(self, texts: Sequence[Text]) -> None:
        """Write texts to their ends; errors as for `score`."""

        def work(live: list[Text]) -> None:
            logits = self.reader.read(live)
            while live:
                tokens = choose(
                    logits,
                    [text.sampling for text in live],
                    [float(text.uniforms.random()) for text in live],
                )
                live = [t for t, token in zip(live, tokens, strict=True) if not t.take(token)]
                logits = self.reader.step(live) if live else None

        self._each(texts, work)

    def run(self, ids: Any, keep: Any, **options: Any) -> Any:
        """Run the model on rows of one length; logits are kept at the `keep` last, or of some."""
        if self._keeps:
            options["logits_to_keep"] = keep
        return self.model(input_ids=ids, **options)

    def _each(
        self, readings: Sequence[AnyReading], work: Callable[[list[AnyReading]], None]
    ) -> None:
        """Do the work on batches of readings; what comes behind each needs a place at least."""
        longest = max(
            (len(one.ids) + max(map(len, one.tails), default=1) for one in readings), default=0
        )
        if self.context is not None and longest > self.context:
            raise ContextExceeded(
                f"a prompt needs {longest:,} tokens; the model's context is {self.context:,}"
            )
        with self.running():
            for batch in self.reader.batches(readings):
                work(batch)
                self.reader.forget([""])  # what belongs to no episode

    @contextmanager
    def running(self) -> Iterator[None]:
        """Have torch keep no gradients, and take the threads of this model."""
        torch = require("torch")
        before = torch.get_num_threads()
        torch.set_num_threads(self._threads or before)
        try:
            with torch.inference_mode():
                yield
        except torch.OutOfMemoryError as error:
            how = "set a smaller batch_tokens or cache_memory for the model"
            raise TomevalError(f"out of memory, {how}: {error}") from error
        finally:
            torch.set_num_threads(before)


def logprobs(logits: Any) -> Any:
    """Return log-probabilities, at least in single precision."""
    torch = require("torch")
    return torch.log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32)), -1)


class Whole:
    """Reads every text whole and for itself.

    Attributes
    ----------
    cached : bool
        Whether a text that is written goes on from the model's cache; else every token reads all
        before it.
    """

    def __init__(self, engine: Engine, cached: bool = True) -> None:
        self._engine, self.cached = engine, cached
        self._past: Any = None  # the model's cache of what was run last

    def batches(self, readings: Iterable[AnyReading]) -> Iterator[list[AnyReading]]:
        """Yield one reading after the other."""
        return ([one] for one in readings)

    def read(self, batch: Sequence[Reading]) -> Any:
        """Run a reading, and again with each of its tails; return the logits that it wants."""
        [one] = batch
        goes_on = self.cached and one.new > 0
        found: list[Any] = []
        for tail in ((), *one.tails):
            ids = require("torch").tensor([[*one.ids, *tail]], device=self._engine.device)
            keep = len(tail) or len(one.ids) - one.first
            output = self._engine.run(ids, keep, use_cache=goes_on)
            found.append(output.logits[0, -keep:])
        self._past = getattr(output, "past_key_values", None) if goes_on else None
        one.fed = one.fed or one.end
        return require("torch").cat(found)

    def step(self, batch: Sequence[Reading]) -> Any:
        """Run the last token of what was read; return the logits of the next one."""
        if self._past is None:
            return self.read(batch)
        [one] = batch
        last = require("torch").tensor([one.ids[-1:]], device=self._engine.device)
        output = self._engine.run(last, 1, past_key_values=self._past, use_cache=True)
        return output.logits[:, -1]

    def slots(self) -> int | None:
        """Return None: nothing is kept."""
        return None

    def forget(self, groups: Iterable[str]) -> None:
        """Do nothing: nothing is kept."""

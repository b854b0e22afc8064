"""What an engine is asked and answers: labels to score and texts to generate, in tokens."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tomeval.models.base import Sampling
from tomeval.models.local.labels import LabelQuery
from tomeval.models.local.sampling import uniforms


@dataclass(frozen=True)
class Scored:
    """Result of a `LabelQuery`."""

    logprobs: list[float]  # log P(sequence | prefix) in nats, one per sequence
    processed: int  # tokens that went through the model for it
    finished: float  # `time.perf_counter` when it was ready
    argmax: int  # the most probable token after the prefix


@dataclass(frozen=True)
class Task:
    """One text to generate."""

    ids: tuple[int, ...]  # the prompt
    sampling: Sampling
    seed: int
    ends: frozenset[int]  # tokens that end the text
    # From the generated tokens to whether a stop text is complete.
    stopped: Callable[[Sequence[int]], bool]
    group: str = ""


@dataclass
class Generated:
    """Generated tokens without the one that ended them; `ended`: eos, stop, length or context.

    `processed` counts the prompt tokens that were run for it, 0 if that is not counted.
    """

    tokens: list[int] = field(default_factory=list)
    sampled: int = 0
    processed: int = 0
    ended: str = ""
    finished: float = 0.0


class Engine(Protocol):
    """What `TransformersModel` asks of an engine; answers come in the order of the questions."""

    def score(self, queries: Sequence[LabelQuery]) -> list[Scored]:
        """Score token sequences after prefixes."""

    def generate(self, tasks: Sequence[Task]) -> list[Generated]:
        """Generate texts."""

    def slots(self) -> int | None:
        """Return for how many groups it keeps what it has read; None: it keeps nothing."""

    def forget(self, groups: Iterable[str]) -> None:
        """Let go of what it keeps for groups that ask no more."""


@dataclass(frozen=True)
class Row:
    """One sequence to run: the labels of a query whose context it contains."""

    query: int  # index of the query
    ids: tuple[int, ...]
    keep: int  # at how many last positions logits are needed
    labels: tuple[int, ...]  # indices of the labels
    sequences: tuple[tuple[int, ...], ...]  # their tokens
    of: int  # how many labels the query has


def rows(index: int, query: LabelQuery) -> Iterator[Row]:
    """Yield the fewest sequences that contain every label's context.

    The last token of a label is never run. Labels of one token share the run of the prefix.
    """
    contexts = sorted({sequence[:-1] for sequence in query.sequences}, key=len, reverse=True)
    taken: set[int] = set()
    for context in contexts:
        labels = tuple(
            label
            for label, sequence in enumerate(query.sequences)
            if label not in taken and context[: len(sequence) - 1] == sequence[:-1]
        )
        taken.update(labels)
        if labels:
            sequences = tuple(query.sequences[label] for label in labels)
            ids, of = query.prefix + context, len(query.sequences)
            yield Row(index, ids, len(context) + 1, labels, sequences, of)


class Decoding:
    """A text while it is generated."""

    def __init__(self, task: Task, context: int | None) -> None:
        self.task = task
        self.source = uniforms(task.seed)
        self.result = Generated()
        self._room = None if context is None else context - len(task.ids)

    def take(self, token: int) -> bool:
        """Add a token; return whether the text has ended."""
        result = self.result
        result.sampled += 1
        if token in self.task.ends:
            result.ended = "eos"
        else:
            result.tokens.append(token)
            if self.task.sampling.stop and self.task.stopped(result.tokens):
                result.ended = "stop"
            elif len(result.tokens) >= self.task.sampling.max_tokens:
                result.ended = "length"
            elif self._room is not None and len(result.tokens) >= self._room:
                result.ended = "context"
        if result.ended:
            result.finished = time.perf_counter()
        return bool(result.ended)

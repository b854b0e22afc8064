"""Questions as they are asked: what a player wants to know, for whoever listens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tomeval.models.base import Prompt
from tomeval.strategies.readers import Reader

if TYPE_CHECKING:
    from tomeval.strategies.asking import Asking


@dataclass(frozen=True)
class Overheard:
    """A question as an `Asker` was given it.

    `labels` are scored; `reader` reads an answer of at most `most` tokens, which is to hold more
    than the answer if it is `explained`, such as `notes`; without either a text is written.
    """

    how: Asking
    purpose: str
    kind: str
    prompt: Prompt
    step: int
    reader: Reader[Any] | None = None
    most: int = 0
    explained: bool = False
    labels: tuple[str, ...] = ()
    notes: bool = False

    def __str__(self) -> str:
        if self.labels:
            return f"scores {', '.join(self.labels)}"
        return f"writes up to {self.longest} tokens"

    @property
    def form(self) -> str:
        """The question in a word: its purpose, without which of several options it is about."""
        return re.sub(r"_\d+$", "", self.purpose.removeprefix("probe ").partition(" ")[0])

    @property
    def is_text(self) -> bool:
        """Whether a text is written that is no answer: a summary or a lesson."""
        return self.reader is None and not self.labels

    @property
    def is_move(self) -> bool:
        """Whether it is what the seat does, and neither a prediction nor a draft of it."""
        aside = ("predict", "draft", "react", "draw")
        return not self.is_text and not self.purpose.startswith(("probe ", *aside))

    @property
    def longest(self) -> int:
        """The longest reply in tokens."""
        if self.labels:
            return 0
        return self.how.allowance(self.kind) if self.reader is None else self.most

    @property
    def attempts(self) -> int:
        """How often it is asked at most until the answer can be read."""
        return (
            1 if self.reader is None or not self.how.sampling.temperature else self.how.max_attempts
        )


_HEARD: ContextVar[list[Overheard] | None] = ContextVar("heard", default=None)


@contextmanager
def overhearing() -> Iterator[list[Overheard]]:
    """Collect every question that any `Asker` is given inside the block."""
    heard: list[Overheard] = []
    before = _HEARD.set(heard)
    try:
        yield heard
    finally:
        _HEARD.reset(before)


def last_heard() -> Overheard:
    """Return the question that a model is being asked; only inside `overhearing`."""
    heard = _HEARD.get()
    if not heard:
        raise RuntimeError("no question was overheard")
    return heard[-1]


def tell(question: Overheard) -> None:
    """Let whoever is `overhearing` know of a question."""
    if (heard := _HEARD.get()) is not None:
        heard.append(question)

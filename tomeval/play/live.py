"""What is true of a run while it plays, for a display.

The run writes, a display reads, from another thread if it likes. Counts are of all sessions of the
folder, but for the retries of requests, which are of this one.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Literal

from tomeval.core.outcomes import COMPLETE, FAILED, VOID
from tomeval.core.text import excerpt
from tomeval.models import model_name
from tomeval.models.naming import brief_names
from tomeval.models.served import Waiting
from tomeval.runs.record import Spent

LONGEST = 300
"""Characters of what servers and machines said."""

Progress = Callable[[int, int], None]
"""Called with (steps done, steps in all); steps of a stopped cell leave the second number."""


class Live:
    """The state of a run that plays: no prompt, no reply and no address of a server.

    Attributes
    ----------
    progress : callable, optional
        Is told of steps.
    steps, total : int
        Those done, in earlier sessions too, and in all; those of episodes that end early count as
        done.
    ended : Counter
        Episodes by what became of them.
    spent : Spent
        What language models were asked in episodes that are over.
    waiting : dict of str to Waiting
        How the server of each model is waited for, by `engine.spec_key`.
    note : str
        What else is to be shown, such as that the run is to stop.
    replica_line : callable
        Returns what an engine says of its replicas.
    closing : list of str
        What is said at the end, such as of replicas.
    asking : bool
        Whether language models play by now.
    shown : str
        How the run is shown: ``field`` (which is updated), ``lines`` (now and then), or empty.
    """

    def __init__(self) -> None:
        self.progress: Progress | None = None
        self.steps = self.total = 0
        self.ended, self.spent = Counter[str](), Spent()
        self.waiting: dict[str, Waiting] = {}
        self.note = ""
        self.replica_line: Callable[[], str] = str
        self.closing: list[str] = []
        self.asking = False
        self.shown: Literal["", "field", "lines"] = ""
        self._begun, self._before = time.monotonic(), 0

    def begin(self, models: Sequence[str], steps: int, total: int) -> None:
        """Begin with so many steps that are done; models are named by `engine.spec_key`."""
        self._begun, self.steps, self.total, self._before = time.monotonic(), steps, total, steps
        brief = brief_names([model_name(json.loads(key)) for key in models])
        for key, name in zip(models, brief, strict=True):
            self.waiting.setdefault(key, Waiting()).model = name

    def tell_steps(self) -> None:
        """Report how many steps are done to the listener."""
        if self.progress:
            self.progress(self.steps, self.total)

    @property
    def counts(self) -> str:
        """What the run holds so far, in words."""
        said = ", ".join(f"{self.ended[one]:,} {one}" for one in (COMPLETE, VOID, FAILED))
        again = self.spent.again
        return f"{said}; {again:,} {'question' if again == 1 else 'questions'} asked again"

    @property
    def left(self) -> float | None:
        """Seconds left, if a step takes as long as those of this session; None before the first."""
        done = self.steps - self._before
        spent = time.monotonic() - self._begun
        return spent / done * (self.total - self.steps) if done > 0 else None

    @property
    def asked(self) -> str:
        """A line with what language models were asked, without counts that are 0."""
        asked, retries = self.spent, sum(one.retries for one in self.waiting.values())
        tokens = (asked.prompt or 0) + (asked.completion or 0)
        unread = asked.unreadable / asked.answers if asked.answers else 0
        told = {
            f"calls {asked.replies:,}": asked.replies,
            f"tokens {tokens:,}": tokens,
            f"cost {asked.cost or 0:,.2f}": asked.cost is not None,
            f"retries {retries:,}": retries,
            f"unread {100 * unread:.3g} %": unread,
        }
        return ", ".join(words for words, there in told.items() if there)

    @property
    def waits(self) -> list[str]:
        """What servers are waited for, a line each."""
        lines = ((one.model, excerpt(one.line(), LONGEST)) for one in self.waiting.values())
        return [f"{model}: {line}" for model, line in lines if line]

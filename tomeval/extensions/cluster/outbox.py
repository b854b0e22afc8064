"""What a replica has to say, until the driver has committed it."""

from __future__ import annotations

import pickle
import threading
from collections import Counter, deque

from tomeval.extensions.cluster.messages import Counts, Message
from tomeval.models.base import Stopped
from tomeval.runs.jobs import Job

AT_ONCE = 4_000_000
"""Bytes of one answer, unless a single message has more."""

MOST = 32_000_000
"""Bytes that lie uncommitted before a replica waits."""


class Closed(Stopped):
    """The driver has ended the replica."""


class Outbox:
    """Messages in order, and sums; one thread plays and says, another one answers the driver.

    Sums (steps, questions asked again) are told with the next answer and never make one, so that
    quick steps do not become messages; those of an episode are told before its end.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._messages: deque[tuple[Message, int]] = deque()
        self._steps: Counter[Job] = Counter()
        self._told: Counter[Job] = Counter()
        self._again = 0
        self._uncommitted = self._answered = 0
        self._closed = False

    def say(self, *messages: Message) -> None:
        """Say something; wait first while too much is uncommitted.

        Raises
        ------
        Closed
        """
        sized = [(message, len(pickle.dumps(message))) for message in messages]
        with self._changed:
            self._changed.wait_for(lambda: self._uncommitted < MOST or self._closed)
            if self._closed:
                raise Closed("ended by the driver")
            self._messages.extend(sized)
            self._uncommitted += sum(size for _, size in sized)
            self._changed.notify_all()

    def told(self) -> None:
        """Wait until all that was said is committed.

        Raises
        ------
        Closed
        """
        with self._changed:
            self._changed.wait_for(lambda: not self._uncommitted or self._closed)
            if self._closed:
                raise Closed("ended by the driver")

    def stepped(self, job: Job) -> None:
        """Count a step of an episode."""
        with self._changed:
            self._steps[job] += 1

    def asked_again(self) -> None:
        """Count a question that is asked once more."""
        with self._changed:
            self._again += 1

    def ended(self, job: Job) -> int:
        """Tell the last steps of an episode that is about to end; return how many it had."""
        with self._changed:
            last = self._steps.pop(job, 0)
            steps = self._told.pop(job, 0) + last
        if last:
            self.say(Counts(steps={job: last}))
        return steps

    def committed(self) -> None:
        """Forget what the answer before held."""
        with self._changed:
            self._uncommitted -= self._answered
            self._answered = 0
            self._changed.notify_all()

    def answer(self, seconds: float) -> list[Message]:
        """Return what is to be said, once there is something; after so many seconds only sums."""
        found: list[Message] = []
        with self._changed:
            self._changed.wait_for(lambda: self._messages or self._closed, seconds)
            while self._messages and self._answered < AT_ONCE:
                message, size = self._messages.popleft()
                self._answered += size
                found.append(message)
            if self._messages:
                return found  # sums follow what they are of
            steps, self._steps = self._steps, Counter()
            self._told.update(steps)
            again, self._again = self._again, 0
        if steps or again:
            found.append(Counts(steps=dict(steps), again=again))
        return found

    def close(self) -> None:
        """Let whoever says something end."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

"""What a served model answered to its self-test, kept: who goes on with a run is not charged again.

Answers are kept when a test has been passed, and by what the server says of itself: one that failed
or has changed is asked anew.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from typing import Any, Protocol


class KeptAnswers(Protocol):
    """Where a run keeps the answers of self-tests."""

    def kept_answer(self, mark: str) -> Any:
        """Return the answer that is kept under a mark; None if there is none."""

    def keep_answers(self, model: str, answers: dict[str, Any]) -> None:
        """Keep JSON-ready answers by mark; `model` is for people who read the file."""


class SelfTest:
    """One self-test of a model, whose questions come in the same order every time.

    Parameters
    ----------
    kept : KeptAnswers or None
        None: nothing is kept.
    model : str
        As people may read it.
    about : sequence of str
        What decides the answers besides the questions: address and revision.
    """

    def __init__(self, kept: KeptAnswers | None, model: str, *about: str) -> None:
        self._kept, self._model, self._about = kept, model, about
        self._times: Counter[str] = Counter()  # the same is asked twice where chance is looked at
        self._new: dict[str, Any] = {}

    def mark(self, *question: Any) -> str:
        """Return the mark of the next question."""
        asked = json.dumps([self._about, question], sort_keys=True)
        self._times[asked] += 1
        return hashlib.sha256(f"{self._times[asked]} {asked}".encode()).hexdigest()

    def answer(self, mark: str) -> Any:
        """Return what was answered in an earlier session; None if nothing was."""
        return None if self._kept is None else self._kept.kept_answer(mark)

    def note(self, mark: str, answer: Any) -> None:
        """Note a new, JSON-ready answer."""
        self._new[mark] = answer

    def passed(self) -> None:
        """Keep the new answers."""
        if self._kept is not None and self._new:
            self._kept.keep_answers(self._model, self._new)

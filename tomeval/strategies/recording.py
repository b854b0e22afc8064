"""Questions as they are asked, for whoever listens, and a model that notes and answers them."""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tomeval.core.errors import TomevalError
from tomeval.models.base import GenerateRequest, Model, Prompt, Reply, ScoreRequest, Scores
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
    repair: Callable[..., str] | None = None  # as for `Question`

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
        aside = ("predict", "draft", "react", "draw", "which", "ahead")
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
        again = self.how.sampling.temperature or self.repair
        return self.how.max_attempts if self.reader is not None and again else 1


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
    """Pass a question to whoever is `overhearing`."""
    if (heard := _HEARD.get()) is not None:
        heard.append(question)


STAND_INS = {
    "summary": "(the summary that the model wrote)",
    "lesson": "(the lesson that the model wrote)",
    "plan": "Plans: (what the model planned)\nInsights: (what the model had found out)",
    "cot": "(what the model thought)",
}
"""What stands where a model would have written something, by kind of call."""


class Recording(Model):
    """Notes every question of one seat, and gives the answer that the episode is to go on with.

    Parameters
    ----------
    note : str
        What it writes in every summary, lesson or plan, with the question's purpose and step in
        place of ``{step}``; empty: `STAND_INS`.

    Attributes
    ----------
    asked : list of Overheard
        The questions, in order; one that is asked again counts once.
    says : mapping of str to str
        The marked lines of answers, by the purpose of their question; who plays the episode keeps
        them up to date. Else the first of listed answers is given; moves take turns.
    """

    def __init__(self, note: str = "") -> None:
        self.name, self.note = "recording", note
        self.asked: list[Overheard] = []
        self.says: Mapping[str, str] = {}

    async def generate(self, request: GenerateRequest) -> Reply:
        """Note the question, and write the stand-in."""
        question = last_heard()
        if request.attempt == 1:
            self.asked.append(question)
        note = self.note.format(step=f"{question.purpose} {question.step}")
        if question.reader is None:
            return Reply(note or STAND_INS[question.kind])
        choices, answer = question.reader.choices, self.says.get(question.purpose, "")
        if choices and not answer:
            turn = question.step - 1 if question.purpose == "act" else 0
            answer = choices[turn % len(choices)]
        if question.notes:
            return Reply(f"{note or STAND_INS['plan']}\n{answer}")
        return Reply(f"{STAND_INS['cot']}\n{answer}" if question.explained else answer)

    async def score(self, request: ScoreRequest) -> Scores:
        """Note the question; the first label is the likeliest."""
        self.asked.append(last_heard())
        return Scores((-0.1, *[-9.0] * (len(request.labels) - 1)), 1.0, "recording")


def record(
    play: Callable[[Recording], Coroutine[Any, Any, Any]],
    run: Callable[[Coroutine[Any, Any, Any]], Any],
    note: str = "",
) -> list[Overheard]:
    """Return what a seat is asked in an episode that `play` plays with the model in it."""
    model = Recording(note)
    with overhearing():
        run(play(model))
    return model.asked


def turns_of(episode: list[Overheard]) -> list[list[Overheard]]:
    """Return an episode's questions by the step that they belong to.

    A text that is written belongs to the answer that follows it: a look back on a step is read in
    the next one.
    """
    turns: list[list[Overheard]] = []
    waiting: list[Overheard] = []
    for question in episode:
        waiting.append(question)
        if question.is_text:
            continue
        if turns and turns[-1][-1].step == question.step:
            turns[-1] += waiting
        else:
            turns.append(waiting)
        waiting = []
    return turns


def times_asked(episodes: list[list[Overheard]], form: str) -> list[list[Overheard]]:
    """Return every time that a question is asked in the episode that asks it most often.

    Each is the questions of one step up to that one.

    Raises
    ------
    TomevalError
        No episode asks it.
    """
    best: list[list[Overheard]] = []
    for episode in episodes:
        mine = []
        for turn in turns_of(episode):
            last = max((n for n, one in enumerate(turn) if one.form == form), default=-1)
            if last >= 0:
                mine.append(turn[: last + 1])
        best = max(best, mine, key=len)
    if not best:
        raise TomevalError(f"form {form!r}: no step of this cell asks it")
    return best

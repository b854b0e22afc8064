"""A model that notes what it is asked and answers with stand-ins: for plans and previews."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from tomeval.core.errors import TomevalError
from tomeval.models.base import GenerateRequest, Model, Reply, ScoreRequest, Scores
from tomeval.strategies.overhearing import Overheard, last_heard, overhearing

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
        The marked lines of answers that cannot be listed, by the purpose of their question; who
        plays the episode keeps them up to date. Of listed answers the first is given; moves take
        turns.
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
        choices = question.reader.choices
        if choices:
            turn = question.step - 1 if question.purpose == "act" else 0
            answer = choices[turn % len(choices)]
        else:
            answer = self.says.get(question.purpose, "")
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

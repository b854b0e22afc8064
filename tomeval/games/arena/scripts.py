"""A scripted model that plays the arena through the prompts, for tests without a language model.

``scripted:arena`` is a model of known behaviour: the results of its games can be worked out by
hand. It reads the shipped prompts as a language model would, finds what is asked by the form of the
answer, and draws nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from tomeval.models.base import GenerateRequest, ScoreRequest
from tomeval.models.scripted import Said
from tomeval.strategies.readers import MARKER

GREETING = "Good day to all."
SUSPICION = "Player {} is not to be trusted."

CLUES = ("thing", "place", "moment", "person", "idea")

_FORM = re.compile(rf'{MARKER} \{{"(\w+)": \[(.*)\]\}}\Z')
_LABELS = re.compile(r"with one of these in place of the dots: (.*)\.\n")


def play_arena(request: GenerateRequest | ScoreRequest) -> Said:
    """Answer a question of the shipped prompts.

    Where labels are listed or scored, it takes the first one. It greets when it may talk,
    cooperates with everybody, and spreads units evenly, what is left over to the first fields. Its
    clue is the first of `CLUES` that the board allows, for one word; the words that it predicts are
    the first one that is covered. Of players it names the first others, by number. Lessons and
    summaries are one sentence.
    """
    if isinstance(request, ScoreRequest):
        return [-0.1, *[-9.0] * (len(request.labels) - 1)]
    return _written(request, rival=False)


def play_rival(request: GenerateRequest | ScoreRequest) -> Said:
    """Answer as `play_arena` does, but as its rival.

    It takes the last label, speaks against the last other player and names the last ones, defects,
    and puts its units on the fewest fields that are a majority.
    """
    if isinstance(request, ScoreRequest):
        return [*[-9.0] * (len(request.labels) - 1), -0.1]
    return _written(request, rival=True)


def _written(request: GenerateRequest, rival: bool) -> str:
    """Return a reply in words with the marked answer below."""
    question = request.prompt.messages[-1].content
    notes = "Plans: none yet.\nInsights: none yet.\n" if '"Plans:"' in question else ""
    said = answer("\n".join(message.content for message in request.prompt.messages), rival)
    if said is None:
        return notes or "Nothing is certain yet."
    written = json.dumps(said, ensure_ascii=False)
    return f"{notes}This is what I think.\n{MARKER} {written}"


def answer(text: str, rival: bool = False) -> dict[str, list[Any]] | None:
    """Return the object that a prompt asks for; None if it ends in no form of an answer."""
    form = _FORM.search(text)
    if form is None:
        return None
    key, dots = form.groups()
    labels = _LABELS.findall(text[text.rindex("\n\n") :])
    if labels:
        first = re.split(r", | or ", labels[-1])[-1 if rival else 0]
        return {key: [first if '"' in dots else int(first)]}
    own = OWN | RIVAL if rival else OWN
    return {key: own[key](text, dots.count("..."))}


def _evenly(text: str, fields: int) -> list[int]:
    """Spread all units, as the prompt counts them, over the fields."""
    units = int(re.findall(r"(\d+) units", text)[-1])
    return [units // fields + (field < units % fields) for field in range(fields)]


def _clue(text: str, count: int) -> list[str]:
    """Give a clue that has nothing in common with any word of the prompt's board."""
    board = re.findall(r"^(.+) \(\w+\)$", text.casefold(), re.MULTILINE)
    clear = (clue for clue in CLUES if not any(clue in word or word in clue for word in board))
    return [next(clear), "1"]


def _covered(text: str, count: int) -> list[str]:
    """Name the first word that is still covered."""
    return [re.split(r", |\.", re.findall(r"Still covered: (.+)", text)[-1])[0]]


def _players(text: str, count: int) -> list[int]:
    """Name other players than oneself, the first ones by number."""
    me = int(re.findall(r"You are Player (\d+)", text)[0])
    return [seat for seat in range(count + 1) if seat != me][:count]


def _others(text: str) -> list[int]:
    """Return all other players that the prompt names, by number."""
    me = int(re.findall(r"You are Player (\d+)", text)[0])
    return sorted({int(seat) for seat in re.findall(r"Player (\d+)", text)} - {me})


def _stacked(text: str, fields: int) -> list[int]:
    """Spread all units over the fewest fields that are a majority."""
    few = fields // 2 + 1
    return [*_evenly(text, few), *[0] * (fields - few)]


OWN: dict[str, Callable[[str, int], list[Any]]] = {
    "message": lambda text, count: [GREETING],
    "moves": lambda text, count: ["cooperate"] * count,
    "allocation": _evenly,
    "clue": _clue,
    "takes": _covered,
    "meant": _covered,
    "mafia": _players,
}
"""Answers without a list of labels by key, given the whole prompt and the number of items."""

RIVAL: dict[str, Callable[[str, int], list[Any]]] = {
    "message": lambda text, count: [SUSPICION.format(_others(text)[-1])],
    "moves": lambda text, count: ["defect"] * count,
    "allocation": lambda text, fields: _stacked(text, fields),
    "mafia": lambda text, count: _others(text)[-count:],
}
"""What the rival answers in another way."""

"""A person in a seat: sees what a model sees, is asked until the answer is legal."""

from __future__ import annotations

import re
from typing import Any

from tomeval.core.printing import Console
from tomeval.core.text import ascii_signs
from tomeval.games.game import Action, Ask, Broken, Form
from tomeval.games.llm.scene import SeatScene
from tomeval.games.seats import Answer, Seat

_WHOLE = re.compile(r"-?\d{1,9}")
_PLAYER = re.compile(r"player\s+(?=-?\d+$)", re.IGNORECASE)
_BETWEEN = re.compile(r"[,;\s]+")
_DIGITS = re.compile(r"\d(?:-?\d)+")
_COMMAS = re.compile(r"\s*[,;]\s*")


class HumanSeat(Seat):
    """A person: rules, events and questions are the words that language models get."""

    def __init__(self, scene: SeatScene, console: Console) -> None:
        self.scene, self.console, self._told = scene, console, 0

    def begin(self, view: Any) -> None:
        """Tell the rules and what the seat was dealt."""
        self.scene.see(view)
        self.console.say(f"\n{self.scene.rules_text}\n")
        self.tell(view)

    def tell(self, view: Any) -> None:
        """Tell what is new."""
        self.scene.see(view)
        for line in self.scene.lines[self._told :]:
            self.console.say(f"  {line}")
        self._told = len(self.scene.lines)

    async def observe(self, view: Any) -> tuple[dict[str, Any], ...]:
        """Tell of the stage that is over."""
        self.tell(view)
        return ()

    async def answer(self, view: Any, ask: Ask) -> Answer:
        """Ask until the game takes the answer."""
        form = view.game.form(view, ask)

        def parse(line: str) -> tuple[Action] | str:
            items = typed(line, form)
            read = items if isinstance(items, Broken) else view.game.read(view, ask, items)
            if isinstance(read, Broken):
                return read.text[:1].upper() + read.text[1:]
            return (read,)

        self.console.say(f"\n{self.scene.render(f'ask/{ask.kind}', view=view, ask=ask, given='')}")
        text = form.kind is str and form.size == 1 and not form.labels
        help_ = f"  {how_to_type(form)}\n  {_WORDS}"
        pages = {"?": help_, "help": help_, "history": self.scene.past}
        pages["rules"] = self.scene.rules_text
        (action,) = self.console.question("> ", parse, pages, may_be_empty=text)
        return Answer(action)


_WORDS = "history: all that you have seen; rules: the rules again; quit: stop"


def how_to_type(form: Form) -> str:
    """Return how a person writes an answer.

    Examples
    --------
    >>> how_to_type(Form("vote", str, labels=("Ann", "Bob")))
    'Type one of: Ann, Bob'
    >>> how_to_type(Form("allocation", int, 3))
    'Type 3 whole numbers, such as: 1, 2, 3'
    """
    if form.labels and form.size == 1:
        return f"Type one of: {', '.join(form.labels)}"
    what = "text" if form.kind is str else "whole number"
    if form.size == 1:
        return f"Type a {what}"
    example = ["one", "two", "three"] if form.kind is str else ["1", "2", "3"]
    count = f"{form.size} {what}s" if form.size else f"{what}s, as many as are asked for"
    return f"Type {count}, such as: {', '.join(example[: form.size or 2])}"


def typed(line: str, form: Form) -> list[Any] | Broken:
    """Return the items that a person typed, or what is wrong with them.

    A text alone is the whole line; several are separated by commas, or else by spaces; numbers by
    either, digits also by nothing or a dash. The case of labels does not matter, nor the word
    "Player" before a number.

    Examples
    --------
    >>> typed("5 10,5", Form("allocation", int, 3)), typed("ann", Form("vote", str, 1, ("Ann",)))
    ([5, 10, 5], ['Ann'])
    >>> typed("5 ten 5", Form("allocation", int, 3))
    Broken(error='format', text="'ten' is not a whole number")
    """
    if form.labels:
        said = {ascii_signs(label).casefold(): label for label in form.labels}.get(
            ascii_signs(line).casefold()
        )
        if said is not None:
            return form.items(said)
    if form.kind is str and form.size == 1:
        return [line]
    inner = _PLAYER.sub("", line.strip("[](){} \t"))
    if form.kind is int and form.size > 1 and _DIGITS.fullmatch(inner):
        inner = " ".join(inner.replace("-", ""))
    parts: list[str] = (_COMMAS if form.kind is str and "," in inner else _BETWEEN).split(inner)
    if form.size and len(parts) != form.size:
        return Broken("format", f"{form.size} were expected, {len(parts)} were typed")
    if form.kind is int:
        bad = [part for part in parts if not _WHOLE.fullmatch(part)]
        return Broken("format", f"{bad[0]!r} is not a whole number") if bad else [*map(int, parts)]
    return list(parts)

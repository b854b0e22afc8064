"""A person in a matrix game at a terminal: told what models are told, asked until legal."""

from __future__ import annotations

from collections.abc import Mapping

from tomeval.core.console import Console
from tomeval.core.outcomes import Decision
from tomeval.domains.matrix.observation import Observation
from tomeval.extensions.people.match import Match
from tomeval.extensions.people.person import Asked

_WORDS = "history: all rounds so far; rules: the rules again; quit: stop (what was played is kept)"


class Keyboard:
    """Where a person's answers come from: tells what is new, then asks."""

    def __init__(self, console: Console, match: Match) -> None:
        self._console, self._match = console, match
        self._told = -1

    def answer(self, asked: Asked, observation: Observation) -> Decision:
        """Ask until a line names an option."""
        person, past = self._match.person, observation.past
        lines = [person.told(number, joint) for number, joint in enumerate(past, 1)]
        if self._told < 0:
            self._console.say(f"\n{person.rules()}")
            if lines:
                self._console.say("\n" + "\n".join(lines))
        elif self._told < len(lines):
            self._console.say("\n" + "\n".join(lines[self._told :]))
        self._told = len(lines)
        attempts = 0

        def parse(line: str) -> tuple[int] | str:
            nonlocal attempts
            attempts += 1
            return chosen(line, asked.options)

        help_ = f"  {how_to_type(asked.options)}\n  {_WORDS}"
        history = "\n".join(f"  {line}" for line in lines) or "  nothing has happened yet"
        pages = {"?": help_, "help": help_, "history": history, "rules": person.rules()}
        labels = {label.casefold() for label in asked.options.values()}
        pages = {word: page for word, page in pages.items() if word not in labels}
        self._console.say(f"\n{asked.text}")
        (action,) = self._console.question("> ", parse, pages)
        return Decision(action, attempts=attempts)


def how_to_type(options: Mapping[int, str]) -> str:
    """Return how a person writes an answer.

    Examples
    --------
    >>> how_to_type({0: "Rock", 2: "Scissors"})
    'Type one of: Rock, Scissors; or its place in this list, from 1'
    """
    return f"Type one of: {', '.join(options.values())}; or its place in this list, from 1"


def chosen(line: str, options: Mapping[int, str]) -> tuple[int] | str:
    """Return the action that a person named, or what is wrong with the line.

    An option is its label, or its place in the list; the case does not matter. A label goes first.

    Examples
    --------
    >>> options = {1: "Defect", 0: "Cooperate"}
    >>> chosen("defect", options), chosen("2", options)
    ((1,), (0,))
    >>> chosen("d", options)
    "'d' is none of: Defect, Cooperate"
    """
    for action, label in options.items():
        if line.casefold() == label.casefold():
            return (action,)
    places = [str(place) for place, _ in enumerate(options, 1)]
    if line in places:
        return ([*options][places.index(line)],)
    return f"{line!r} is none of: {', '.join(options.values())}"

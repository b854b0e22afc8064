"""A matrix game of one person at the terminal, kept in a run folder step by step.

The person is told what models are told, and asked until the answer is legal.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tomeval.core.console import Console, QuitGame
from tomeval.core.outcomes import UNFINISHED, Decision
from tomeval.core.text import ascii_signs
from tomeval.domains.matrix.experiment import MatrixCell
from tomeval.domains.matrix.observation import Observation
from tomeval.extensions.people.match import Match, stored
from tomeval.extensions.people.person import PERSON, Asked
from tomeval.runs.domain import get_domain
from tomeval.runs.experiment import Experiment, make_experiment
from tomeval.runs.folder import add_session, begin_or_resume, locked, make_folder
from tomeval.runs.store import Store

_WORDS = "history: all rounds so far; rules: the rules again; quit: stop (what was played is kept)"


def session(
    game: str,
    partners: str,
    *,
    name: str = PERSON,
    horizon: int = 100,
    labels: str | None = None,
    seed: int = 0,
    options: Mapping[str, Any] | None = None,
) -> Experiment:
    """Return what is played at the terminal as an experiment of one cell.

    Parameters
    ----------
    game, partners
        As an experiment names them.
    name : str
        What the person is called in tables.
    options : mapping, optional
        Of the subject, see `tomeval.extensions.people.person.Person`.
    """
    data = {
        "name": "play",
        "games": [{"game": game} | ({"labels": labels} if labels else {})],
        "partners": [partners],
        "subjects": [{**(options or {}), "kind": PERSON, "name": name}],
        "horizon": horizon,
        "seed": seed,
        "episodes": 1,
    }
    return make_experiment(data, base=Path(), where="play")


def play_session(experiment: Experiment, console: Console, folder: Path) -> bool:
    """Play one episode, or the rest of one that was left, into a run folder.

    Every finished step is on disk before the next one is asked. The same experiment can be played
    again and again: each time is an episode.

    Returns
    -------
    bool
        Whether the episode is complete.

    Raises
    ------
    TomevalError
        The folder holds another experiment or other files, is in use or cannot be written.
    """
    [cell] = experiment.cells
    assert isinstance(cell, MatrixCell)
    make_folder(folder)
    with locked(folder):
        store = Store(folder, get_domain("matrix"))
        try:
            episode, before = _place(store)
            begin_or_resume(store, folder, experiment.identity(), episode + 1)
            add_session(folder, 0)
            return _play(store, cell, episode, before, console)
        finally:
            store.close()


def _place(store: Store) -> tuple[int, bool]:
    """Return the episode to play, and whether it was begun before."""
    episodes = store.statuses(0)
    left = [episode for episode, status in episodes.items() if status == UNFINISHED]
    return (min(left), True) if left else (len(episodes), False)


def _play(store: Store, cell: MatrixCell, episode: int, before: bool, console: Console) -> bool:
    match = Match(cell, episode)
    given = stored(store, 0, episode).given
    console.say("Type ? for help at any time.")
    if before:
        console.say(f"You continue after round {len(given)} of {cell.length}.")
    try:
        match.play(given, Keyboard(console, match), lambda: store.add(0, match.block()))
    except (QuitGame, KeyboardInterrupt):
        console.say()
    store.add(0, match.block())
    for line in _ending(match):
        console.say(line)
    return match.over


def _ending(match: Match) -> list[str]:
    """Return how the game ended."""
    done, length = len(match.past), match.length
    if not match.over:
        return [
            f"\nYou stopped after {done} of {length} rounds, which are kept: the same command "
            "continues the game."
        ]
    total = sum(joint.own_reward for joint in match.past)
    right = match.right
    said = "" if right is None else f"; {right} of your {length} predictions were right"
    return [
        f"\n{match.told[-1]}",
        f"\nThe game is over. Your rewards add up to {total:g}{said}.",
    ]


def folder_name(experiment: Experiment) -> str:
    """Return a name for the folder of what `session` describes, in characters of file names."""
    cell = experiment.cells[0]
    assert isinstance(cell, MatrixCell)
    words = ("play", cell.setup.game.name, cell.setup.partners.name, cell.subject)
    return re.sub(r"[^\w.-]+", "-", "_".join(words)).strip("-.")


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
    'Type one of: Rock, Scissors; or its number in this list, from 1'
    """
    return f"Type one of: {', '.join(options.values())}; or its number in this list, from 1"


def chosen(line: str, options: Mapping[int, str]) -> tuple[int] | str:
    """Return the action that a person named, or what is wrong with the line.

    An option is its label, or its place in the list; the case does not matter. A label goes first.

    Examples
    --------
    >>> options = {1: "Defect", 0: "Cooperate"}
    >>> chosen("defect", options), chosen("2", options)
    ((1,), (0,))
    >>> chosen("d", options)
    "'d' is not one of: Defect, Cooperate"
    """
    said = ascii_signs(line).casefold()
    for action, label in options.items():
        if said == ascii_signs(label).casefold():
            return (action,)
    places = [str(place) for place, _ in enumerate(options, 1)]
    if line in places:
        return ([*options][places.index(line)],)
    return f"{line!r} is not one of: {', '.join(options.values())}"

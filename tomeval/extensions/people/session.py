"""A matrix game of one person at the terminal, kept in a run folder step by step."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tomeval.core.console import Console, QuitGame
from tomeval.core.outcomes import UNFINISHED
from tomeval.domains.matrix.experiment import MatrixCell
from tomeval.extensions.people.match import Match, stored
from tomeval.extensions.people.person import PERSON
from tomeval.extensions.people.terminal import Keyboard
from tomeval.runs.domain import get_domain
from tomeval.runs.experiment import Experiment, make_experiment
from tomeval.runs.folder import add_session, begin_or_resume, locked, make_folder
from tomeval.runs.origins import here
from tomeval.runs.store import Store


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
    given, origin = stored(store, 0, episode).given, store.origin(*here())
    console.say("Type ? for help at any time.")
    if before:
        console.say(f"You go on after round {len(given)} of {cell.length}.")
    try:
        match.play(given, Keyboard(console, match), lambda: store.add(0, match.block(), origin))
    except (QuitGame, KeyboardInterrupt):
        console.say()
    store.add(0, match.block(), origin)
    for line in _ending(match):
        console.say(line)
    return match.over


def _ending(match: Match) -> list[str]:
    """Return how the game ended."""
    done, length = len(match.past), match.length
    if not match.over:
        return [
            f"\nThe game was left after {done} of {length} rounds, which are kept: the same "
            "command goes on."
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
